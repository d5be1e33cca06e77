#include "aggregator_server/train/network.h"

#include <torch/torch.h>

#include <cmath>

namespace blink {
namespace {

torch::Tensor Uniform(at::IntArrayRef shape, double bound, torch::Generator& generator) {
  return torch::empty(shape, torch::kFloat32).uniform_(-bound, bound, generator);
}

std::pair<torch::Tensor, torch::Tensor> InitialLayer(Model model, int64_t in, int64_t out, torch::Generator& generator,
                                                     torch::Device device) {
  torch::Tensor weight, bias;
  if (model == Model::kGcn) {
    weight = Uniform({in, out}, std::sqrt(6.0 / static_cast<double>(in + out)), generator);
    bias = torch::zeros({out}, torch::kFloat32);
  } else {  // kaiming_uniform_(a = sqrt(5)) and the bias have the same bound
    const double bound = 1.0 / std::sqrt(static_cast<double>(in));
    weight = Uniform({in, out}, bound, generator);
    bias = Uniform({out}, bound, generator);
  }
  return {weight.to(device).set_requires_grad(true), bias.to(device).set_requires_grad(true)};
}

}  // namespace

NetworkInput MakeInput(const CsrGraph& graph, const FeatureMatrix& features, Model model, torch::Device device,
                       int threads) {
  NetworkInput input;
  input.features = features.cols;
  FeatureMatrix normalized = NormalizeFeatures(features);
  if (normalized.sparse) {
    input.sparse = SparseOperator::Create(SparseFeatures(std::move(normalized)), /*symmetric=*/false, device, threads);
  } else {
    input.dense = torch::from_blob(normalized.values.data(), {normalized.rows, normalized.cols}, torch::kFloat32)
                      .to(device, torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
  }
  if (model == Model::kGcn) {
    input.propagation = SparseOperator::Create(NormalizedAdjacency(graph), /*symmetric=*/true, device, threads);
  }
  return input;
}

Network::Network(NetworkInput input, Model model, int64_t hidden, int64_t classes, torch::Generator& cpu_generator,
                 torch::Device device)
    : input_(std::move(input)) {
  std::tie(weight1_, bias1_) = InitialLayer(model, input_.features, hidden, cpu_generator, device);
  std::tie(weight2_, bias2_) = InitialLayer(model, hidden, classes, cpu_generator, device);
}

torch::Tensor Network::FirstLayer() const {
  torch::Tensor x = input_.sparse ? Multiply(input_.sparse, weight1_) : torch::mm(input_.dense, weight1_);
  if (input_.propagation) x = Multiply(input_.propagation, x);
  return torch::relu(x + bias1_);
}

torch::Tensor Network::SecondLayer(const torch::Tensor& hidden) const {
  torch::Tensor x = torch::mm(hidden, weight2_);
  if (input_.propagation) x = Multiply(input_.propagation, x);
  return x + bias2_;
}

std::vector<torch::Tensor> Network::CopyParameters() const {
  std::vector<torch::Tensor> copies;
  for (const torch::Tensor& parameter : parameters()) copies.push_back(parameter.detach().clone());
  return copies;
}

std::vector<std::pair<std::string, torch::Tensor>> Network::StateDict(Model model,
                                                                      const std::vector<torch::Tensor>& parameters) {
  const bool gcn = model == Model::kGcn;
  std::vector<std::pair<std::string, torch::Tensor>> state;
  for (int layer = 1; layer <= 2; ++layer) {
    const std::string prefix = (gcn ? "conv" : "lin") + std::to_string(layer);
    const torch::Tensor weight = parameters[2 * (layer - 1)].detach().to(torch::kCPU).t().contiguous();
    const torch::Tensor bias = parameters[2 * (layer - 1) + 1].detach().to(torch::kCPU);
    state.emplace_back(prefix + (gcn ? ".lin.weight" : ".weight"), weight);
    state.emplace_back(prefix + ".bias", bias);
  }
  return state;
}

}  // namespace blink
