#include "aggregator_server/train/influence.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/train/device.h"
#include "aggregator_server/train/failure.h"
#include "aggregator_server/train/network.h"
#include "aggregator_server/train/node_features.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// The inverse of Network::StateDict.
std::vector<torch::Tensor> ParametersOf(const std::vector<NamedValues>& state) {
  std::vector<torch::Tensor> parameters;
  for (const NamedValues& named : state) {
    const torch::Tensor value = torch::tensor(named.values, torch::kFloat32).view(named.shape);
    parameters.push_back(value.dim() == 2 ? value.t().contiguous() : value.reshape({-1}));
  }
  return parameters;
}

FeatureMatrix WithScaledRow(const FeatureMatrix& features, NodeIndex node, double factor) {
  FeatureMatrix scaled = features;
  const int64_t begin = features.sparse ? features.row_offsets[node] : int64_t{node} * features.cols;
  const int64_t end = features.sparse ? features.row_offsets[node + 1] : begin + features.cols;
  for (int64_t k = begin; k < end; ++k) scaled.values[k] = static_cast<float>(scaled.values[k] * factor);
  return scaled;
}

// A trained network that is asked about other features.
class Probe {
 public:
  // `features`: as the first layer gets them.
  Probe(const LinkWeights& weights, FeatureMatrix features, const NetworkShape& shape,
        std::vector<torch::Tensor> parameters, torch::Device device, int threads)
      : features_(std::move(features)),
        shape_(shape),
        parameters_(std::move(parameters)),
        device_(device),
        threads_(threads),
        input_(MakeInput(weights, features_, shape.model, device, threads, OperatorPath::kAuto, /*normalize=*/false)),
        logits_(Logits(input_)) {}

  // [n]
  torch::Tensor InfluenceOf(NodeIndex node) const {
    const torch::Tensor changed = Logits(WithInput(WithScaledRow(features_, node, 1 + kInfluenceChange)));
    return ((changed - logits_) / kInfluenceChange).norm(2, 1).to(torch::kCPU).contiguous();
  }

 private:
  // What is made of the links is kept.
  NetworkInput WithInput(const FeatureMatrix& features) const {
    NetworkInput input = input_;
    NetworkInput changed = MakeInput({}, features, Model::kMlp, device_, threads_, OperatorPath::kAuto, false);
    input.sparse = std::move(changed.sparse);
    input.dense = std::move(changed.dense);
    if (input.propagated.defined()) input.propagated = Propagate(input.links, input.propagation, input.dense);
    return input;
  }

  torch::Tensor Logits(const NetworkInput& input) const {
    torch::Generator generator = MakeGenerator(torch::kCPU, 1);  // of what is then overwritten
    Network network(input, shape_, generator, device_);
    network.LoadParameters(parameters_);
    return network.Rest(network.First());
  }

  const FeatureMatrix features_;
  const NetworkShape shape_;
  const std::vector<torch::Tensor> parameters_;
  const torch::Device device_;
  const int threads_;
  const NetworkInput input_;
  const torch::Tensor logits_;
};

absl::StatusOr<std::vector<float>> MeasureOrThrow(const LinkWeights& weights, const NodeAttributes& attributes,
                                                  const TrainOptions& options, const std::vector<NamedValues>& state,
                                                  absl::Span<const NodeIndex> nodes,
                                                  const std::function<void(double)>& progress) {
  if (!IsNetwork(options.model)) {
    return absl::InvalidArgumentError(absl::StrCat("the model ", ModelName(options.model),
                                                   " is no network: influence is measured of gcn, graphsage and gat"));
  }
  for (const NodeIndex node : nodes) {
    if (node < attributes.node_count) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("node ", node, " is none of the ", attributes.node_count, " nodes of the graph"));
  }
  BLINK_ASSIGN_OR_RETURN(const TrainDevice device, ChooseDevice(options.device));
  const int threads = ThreadsOrCores(options.threads);
  at::set_num_threads(1);  // as in Train: only this folder's kernels use more
  BLINK_ASSIGN_OR_RETURN(FeatureMatrix features,
                         MakeNodeFeatures(weights, attributes, options.node_features, options.model, threads));
  if (!options.features_as_they_are) features = NormalizeFeatures(features);
  const torch::NoGradGuard no_gradients;
  const NetworkShape shape{.model = options.model,
                           .layers = options.layers,
                           .hidden = options.hidden,
                           .classes = static_cast<int64_t>(attributes.class_count)};
  try {
    const Probe probe(weights, std::move(features), shape, ParametersOf(state), device.device, threads);
    std::vector<float> influence;
    influence.reserve(nodes.size() * attributes.node_count);
    for (size_t k = 0; k < nodes.size(); ++k) {
      const torch::Tensor row = probe.InfluenceOf(nodes[k]);
      influence.insert(influence.end(), row.const_data_ptr<float>(), row.const_data_ptr<float>() + row.numel());
      if (progress) progress(static_cast<double>(k + 1) / static_cast<double>(nodes.size()));
    }
    return influence;
  } catch (...) {
    return StatusFromCurrentException(device);
  }
}

}  // namespace

absl::StatusOr<std::vector<float>> MeasureInfluence(const LinkWeights& weights, const NodeAttributes& attributes,
                                                    const TrainOptions& options, const std::vector<NamedValues>& state,
                                                    absl::Span<const NodeIndex> nodes,
                                                    const std::function<void(double)>& progress) {
  try {
    return MeasureOrThrow(weights, attributes, options, state, nodes, progress);
  } catch (...) {
    return StatusFromCurrentException(TrainDevice{});
  }
}

}  // namespace blink
