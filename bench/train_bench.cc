// Training on a Cora-sized graph: milliseconds an epoch (training and evaluation), and the sparse product against LibTorch's own
// in the same run. Prints figures; fails on none. Target on the reference machine: a GCN epoch in at most 3 ms.
#include <torch/torch.h>

#include <chrono>
#include <cstdio>

#include "aggregator_server/train/sparse_matrix.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/dataset.h"

namespace blink {
namespace {

template <typename F>
double MeanMicroseconds(F f) {
  constexpr int kRuns = 200;
  for (int i = 0; i < 20; ++i) f();
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; ++i) f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - started).count() / kRuns;
}

void Epochs(const Dataset& data, Model model, const char* name) {
  TrainOptions options;
  options.model = model;
  options.device = "cpu";
  const auto result = Train(LinkWeights::Unweighted(data.graph), data.attributes, options);
  if (result.ok()) std::printf("%s: %.2f ms an epoch\n", name, result->epoch_ms_mean);
}

void Product(SparseMatrix matrix, const char* name) {
  const torch::Tensor dense = torch::rand({matrix.cols, 16});
  torch::Tensor out = torch::empty({matrix.rows, 16});
  const torch::Tensor csr = torch::sparse_csr_tensor(
      torch::from_blob(matrix.offsets.data(), {matrix.rows + 1}, torch::kInt64),
      torch::from_blob(matrix.columns.data(), {static_cast<int64_t>(matrix.columns.size())}, torch::kInt32).to(torch::kInt64),
      torch::from_blob(matrix.values.data(), {static_cast<int64_t>(matrix.values.size())}, torch::kFloat32),
      {matrix.rows, matrix.cols}, torch::kFloat32);
  const double ours = MeanMicroseconds(
      [&] { MultiplySparse(matrix, dense.const_data_ptr<float>(), 16, 1, out.mutable_data_ptr<float>()); });
  const double theirs = MeanMicroseconds([&] { out = torch::mm(csr, dense); });
  std::printf("%s times [., 16]: %.0f us; LibTorch's %.0f us; ratio %.2f\n", name, ours, theirs, ours / theirs);
}

int Main() {
  const auto data = GenerateDataset({});
  if (!data.ok()) return 1;
  torch::set_num_threads(1);
  Product(SparseFeatures(NormalizeFeatures(data->attributes.features)), "features");
  Product(Transpose(SparseFeatures(NormalizeFeatures(data->attributes.features))), "features, transposed");
  Product(NormalizedAdjacency(data->graph), "adjacency");
  Epochs(*data, Model::kGcn, "GCN");
  Epochs(*data, Model::kMlp, "MLP");
  return 0;
}

}  // namespace
}  // namespace blink

int main() { return blink::Main(); }
