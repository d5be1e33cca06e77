// Training: milliseconds an epoch (training and evaluation, warm) of every model over every variant, from drawn
// reports. Prints figures, and this project's sparse product against LibTorch's own in the same run; fails on none.
//
//   train_bench                                         a generated graph of Cora's size
//   BLINK_DATASETS=... train_bench --datasets cora,facebook --epsilon 1,8 --models gcn,gat --variants hard,soft --json
//
// --json prints one line per measurement:
// {"dataset","model","variant","epsilon","epoch_ms","epoch_cpu_ms","threads","device"}. Targets on the reference
// machine (two cores): Cora, Hard, GCN 3 ms; Facebook, Hard, GCN 30, GraphSAGE 40, GAT 60.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "aggregator_server/profiles/sparse_matrix.h"
#include "aggregator_server/train/kernels/link_kernels.h"
#include "aggregator_server/train/trainer.h"
#include "common/base/status_macros.h"
#include "common/graph/dataset.h"
#include "common/privacy/privatizer.h"

namespace blink {
namespace {

struct BenchOptions {
  std::vector<std::string> datasets = {"generated"};
  std::vector<double> epsilons = {8};
  std::vector<std::string> models = {"mlp", "gcn", "graphsage", "gat"};
  std::vector<std::string> variants = {"hard", "hybrid", "soft"};
  std::string device = "cpu";
  int threads = 2;
  double seconds = 2;  // of each measurement, about
  uint32_t nodes = 2708;
  double mean_degree = 3.9;
  bool json = false, products = true;
};

// --- The sparse product against LibTorch's.

template <typename F>
double MeanMicroseconds(F f) {
  constexpr int kRuns = 50;
  for (int i = 0; i < 5; ++i) f();
  const auto started = std::chrono::steady_clock::now();
  for (int i = 0; i < kRuns; ++i) f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - started).count() / kRuns;
}

template <typename Ours>
void CompareProducts(const BenchOptions& options, const std::string& name, const SparseMatrix& matrix,
                     const Ours& ours) {
  const torch::Tensor dense = torch::rand({matrix.cols, 16});
  torch::Tensor out = torch::empty({matrix.rows, 16}), other;
  const torch::Tensor csr = torch::sparse_csr_tensor(
      torch::tensor(matrix.offsets, torch::kInt64), torch::tensor(matrix.columns, torch::kInt32).to(torch::kInt64),
      torch::tensor(matrix.values), {matrix.rows, matrix.cols}, torch::kFloat32);
  torch::set_num_threads(options.threads);
  const double theirs = MeanMicroseconds([&] { other = torch::mm(csr, dense); });
  const double mine = MeanMicroseconds([&] { ours(dense.const_data_ptr<float>(), out.mutable_data_ptr<float>()); });
  std::printf("%s times [., 16]: %.0f us; LibTorch's %.0f us; ratio %.2f; largest difference %.1e\n", name.c_str(),
              mine, theirs, mine / theirs, (out - other).abs().max().item<double>());
}

SparseMatrix MatrixOf(const LinkWeights& weights) {
  SparseMatrix matrix{.rows = weights.node_count, .cols = weights.node_count};
  matrix.offsets.assign(weights.links.offsets().begin(), weights.links.offsets().end());
  matrix.columns.assign(weights.links.neighbours().begin(), weights.links.neighbours().end());
  matrix.values = weights.values.empty() ? std::vector<float>(matrix.columns.size(), 1.0f) : weights.values;
  return matrix;
}

void Products(const BenchOptions& options, const std::string& name, const Dataset& data) {
  const LinkWeights graph = LinkWeights::Unweighted(data.graph);
  CompareProducts(options, name + ", links", MatrixOf(graph),
                  [&](const float* x, float* y) { MultiplyLinks(graph, x, 16, nullptr, 0, options.threads, y); });
  const FeatureMatrix features = NormalizeFeatures(data.attributes.features);
  if (!features.sparse) return;
  const SparseMatrix matrix = SparseFeatures(features);
  CompareProducts(options, name + ", features", matrix,
                  [&](const float* x, float* y) { MultiplySparse(matrix, x, 16, options.threads, y); });
  const SparseMatrix transpose = Transpose(matrix);
  CompareProducts(options, name + ", features transposed", transpose,
                  [&](const float* x, float* y) { MultiplySparse(transpose, x, 16, options.threads, y); });
}

// --- Epochs.

absl::StatusOr<Dataset> DatasetOf(const BenchOptions& options, const std::string& name) {
  if (name == "generated") return GenerateDataset({.nodes = options.nodes, .mean_degree = options.mean_degree});
  const char* folder = std::getenv("BLINK_DATASETS");
  if (folder == nullptr) return absl::FailedPreconditionError("set BLINK_DATASETS to the folder that holds " + name);
  return ReadDataset(absl::StrCat(folder, "/", name));
}

absl::StatusOr<LinkEstimate> Estimate(const BenchOptions& options, const CsrGraph& graph, double epsilon) {
  const uint32_t n = graph.node_count();
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                         PrivacyParameters::Create(static_cast<uint64_t>(epsilon * 1e6), 100'000, n));
  ReportSet reports(parameters);
  for (NodeIndex i = 0; i < n; ++i) {
    BLINK_ASSIGN_OR_RETURN(auto noise, DrawNoise(parameters, i, SecureRandom()));
    BLINK_ASSIGN_OR_RETURN(auto report, ApplyNoise(parameters, i, std::move(noise), graph.NeighboursOf(i)));
    BLINK_RETURN_IF_ERROR(reports.Add(i, std::move(report)));
  }
  BLINK_RETURN_IF_ERROR(reports.Complete(options.threads));
  const auto wants = [&](const char* variant) {
    return std::find(options.variants.begin(), options.variants.end(), variant) != options.variants.end();
  };
  return EstimateLinks(reports, {.soft = wants("soft"), .hybrid = wants("hybrid"), .threads = options.threads});
}

// Milliseconds an epoch: on the clock, and of processor time of all threads, which a busy machine distorts less.
struct EpochTime {
  double wall_ms, cpu_ms;
};
absl::StatusOr<EpochTime> TimeOfEpoch(const BenchOptions& options, Model model, const LinkWeights& weights,
                                      const NodeAttributes& attributes) {
  TrainOptions train;
  train.model = model;
  train.device = options.device;
  train.threads = options.threads;
  train.epochs = 3;
  BLINK_ASSIGN_OR_RETURN(const TrainResult warm, Train(weights, attributes, train));
  train.epochs = std::clamp(static_cast<int>(options.seconds * 1000 / warm.epoch_ms_mean), 3, 500);
  const std::clock_t began = std::clock();
  BLINK_ASSIGN_OR_RETURN(const TrainResult result, Train(weights, attributes, train));
  return EpochTime{result.epoch_ms_mean,
                   1000.0 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC / train.epochs};
}

void Measure(const BenchOptions& options, const std::string& dataset, Model model, const char* variant, double epsilon,
             const LinkWeights& weights, const NodeAttributes& attributes) {
  const auto epoch = TimeOfEpoch(options, model, weights, attributes);
  if (!epoch.ok()) {
    std::fprintf(stderr, "%s, %s, %s: %s\n", dataset.c_str(), ModelName(model), variant,
                 epoch.status().ToString().c_str());
  } else if (options.json) {
    std::printf(R"({"dataset":"%s","model":"%s","variant":"%s","epsilon":%g,"epoch_ms":%.3f,"epoch_cpu_ms":%.3f,)"
                R"("threads":%d,"device":"%s"})"
                "\n",
                dataset.c_str(), ModelName(model), variant, epsilon, epoch->wall_ms, epoch->cpu_ms, options.threads,
                options.device.c_str());
  } else {
    std::printf("%s, epsilon %g, %s, %s: %.2f ms an epoch (%.2f ms of processor time)\n", dataset.c_str(), epsilon,
                variant, ModelName(model), epoch->wall_ms, epoch->cpu_ms);
  }
  std::fflush(stdout);
}

absl::Status MeasureDataset(const BenchOptions& options, const std::string& name) {
  BLINK_ASSIGN_OR_RETURN(const Dataset data, DatasetOf(options, name));
  if (options.products && !options.json) Products(options, name, data);
  for (const double epsilon : options.epsilons) {
    BLINK_ASSIGN_OR_RETURN(const LinkEstimate estimate, Estimate(options, data.graph, epsilon));
    for (const Variant variant : {Variant::kHard, Variant::kHybrid, Variant::kSoft}) {
      if (std::count(options.variants.begin(), options.variants.end(), VariantName(variant)) == 0) continue;
      for (const Model model : {Model::kMlp, Model::kGcn, Model::kGraphSage, Model::kGat}) {
        if (std::count(options.models.begin(), options.models.end(), ModelName(model)) == 0) continue;
        Measure(options, name, model, VariantName(variant), epsilon, *estimate.Of(variant), data.attributes);
      }
    }
    if (std::count(options.variants.begin(), options.variants.end(), "true") == 0) continue;
    for (const Model model : {Model::kGcn, Model::kGraphSage, Model::kGat}) {
      if (std::count(options.models.begin(), options.models.end(), ModelName(model)) == 0) continue;
      Measure(options, name, model, "true", epsilon, LinkWeights::Unweighted(data.graph), data.attributes);
    }
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  BenchOptions options;
  CLI::App app("Milliseconds an epoch of every model over every variant");
  app.add_option("--datasets", options.datasets, "folders of BLINK_DATASETS, or \"generated\"")->delimiter(',');
  app.add_option("--epsilon", options.epsilons, "budgets of a report")->delimiter(',');
  app.add_option("--models", options.models, "mlp, gcn, graphsage, gat")->delimiter(',');
  app.add_option("--variants", options.variants, "hard, hybrid, soft, true")->delimiter(',');
  app.add_option("--device", options.device, "cpu, cuda:<index> or auto");
  app.add_option("--threads", options.threads)->check(CLI::Range(1, 1024));
  app.add_option("--seconds", options.seconds, "of each measurement, about");
  app.add_option("--nodes", options.nodes, "of the generated graph");
  app.add_option("--mean-degree", options.mean_degree, "of the generated graph");
  app.add_flag("--json", options.json, "one line of JSON per measurement");
  app.add_flag("!--no-products", options.products, "leave out the sparse products");
  CLI11_PARSE(app, argc, argv);
  for (const std::string& name : options.datasets) {
    const absl::Status status = MeasureDataset(options, name);
    if (status.ok()) continue;
    std::fprintf(stderr, "%s: %s\n", name.c_str(), status.ToString().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) { return blink::Main(argc, argv); }
