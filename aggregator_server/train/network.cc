#include "aggregator_server/train/network.h"

#include <torch/torch.h>

#include <cmath>

namespace blink {
namespace {

torch::Tensor Uniform(at::IntArrayRef shape, double bound, torch::Generator& generator) {
  return torch::empty(shape, torch::kFloat32).uniform_(-bound, bound, generator);
}

// PyG's glorot().
torch::Tensor Glorot(at::IntArrayRef shape, double fans, torch::Generator& generator) {
  return Uniform(shape, std::sqrt(6.0 / fans), generator);
}

// A layer's parameters in the order of ParameterNames.
std::vector<torch::Tensor> InitialLayer(Model model, int64_t in, int64_t out, torch::Generator& generator) {
  // torch.nn.Linear's default: kaiming_uniform_(a = sqrt(5)) and the bias have this bound.
  const double linear = 1.0 / std::sqrt(static_cast<double>(in));
  const double fans = static_cast<double>(in + out), attention_fans = static_cast<double>(1 + out);
  std::vector<torch::Tensor> result;
  switch (model) {
    case Model::kMlp:
      result.push_back(Uniform({in, out}, linear, generator));
      result.push_back(Uniform({out}, linear, generator));
      break;
    case Model::kGcn:
      result.push_back(Glorot({in, out}, fans, generator));
      result.push_back(torch::zeros({out}));
      break;
    case Model::kGraphSage:
      result.push_back(Uniform({in, out}, linear, generator));
      result.push_back(Uniform({out}, linear, generator));
      result.push_back(Uniform({in, out}, linear, generator));
      break;
    case Model::kGat:
      result.push_back(Glorot({in, out}, fans, generator));
      result.push_back(Glorot({out}, attention_fans, generator));
      result.push_back(Glorot({out}, attention_fans, generator));
      result.push_back(torch::zeros({out}));
      break;
    default:  // no network
      break;
  }
  return result;
}

// Without the layer's prefix "conv1." or "lin1.".
const std::vector<std::string>& ParameterNames(Model model) {
  static const std::vector<std::string> kMlp = {"weight", "bias"}, kGcn = {"lin.weight", "bias"},
                                        kSage = {"lin_l.weight", "lin_l.bias", "lin_r.weight"},
                                        kGat = {"lin.weight", "att_src", "att_dst", "bias"};
  switch (model) {
    case Model::kMlp:
      return kMlp;
    case Model::kGcn:
      return kGcn;
    case Model::kGraphSage:
      return kSage;
    case Model::kGat:
      return kGat;
    default:
      return kMlp;
  }
}

}  // namespace

NetworkInput FeatureInput(FeatureMatrix features, torch::Device device, int threads, bool for_gradient) {
  NetworkInput input;
  input.features = features.cols;
  if (features.sparse) {
    input.sparse = SparseOperator::Create(SparseFeatures(std::move(features)), device, threads, for_gradient);
  } else {
    input.dense = torch::from_blob(features.values.data(), {features.rows, features.cols}, torch::kFloat32)
                      .to(device, torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
  }
  return input;
}

NetworkInput MakeInput(const LinkWeights& weights, const FeatureMatrix& features, Model model, torch::Device device,
                       int threads, OperatorPath path, bool normalize) {
  NetworkInput input =
      FeatureInput(normalize ? NormalizeFeatures(features) : features, device, threads, /*for_gradient=*/true);
  if (model == Model::kMlp) return input;
  input.links = MakeGraphOperator(weights, device, threads, path);
  if (model == Model::kGat) return input;
  input.propagation = MakePropagation(input.links->RowSums(), model);
  if (input.dense.defined()) {
    const torch::NoGradGuard no_gradients;
    input.propagated = Propagate(input.links, input.propagation, input.dense);
  }
  return input;
}

Network::Network(NetworkInput input, const NetworkShape& shape, torch::Generator& cpu_generator, torch::Device device)
    : input_(std::move(input)), shape_(shape) {
  for (int layer = 0; layer < shape_.layers; ++layer) {
    const int64_t in = layer == 0 ? input_.features : shape_.hidden;
    const int64_t out = layer + 1 == shape_.layers ? shape_.classes : shape_.hidden;
    for (const torch::Tensor& parameter : InitialLayer(shape_.model, in, out, cpu_generator)) {
      parameters_.push_back(parameter.to(device).set_requires_grad(true));
    }
  }
}

const torch::Tensor& Network::Parameter(int layer, int index) const {
  return parameters_[layer * ParameterNames(shape_.model).size() + index];
}

torch::Tensor Network::Transform(const NetworkInput& in, const torch::Tensor& weight) {
  return in.sparse ? Multiply(in.sparse, weight) : torch::mm(in.dense, weight);
}

Network::Transformed Network::TransformOf(int layer, const NetworkInput& in) const {
  Transformed rows{.for_others = Transform(in, Parameter(layer, 0))};
  if (shape_.model == Model::kGraphSage) rows.own = Transform(in, Parameter(layer, 2));
  return rows;
}

torch::Tensor Network::Combine(int layer, const NetworkInput& in, const Transformed& rows) const {
  const torch::Tensor& x = rows.for_others;
  torch::Tensor out;
  int bias = 1;
  switch (shape_.model) {
    case Model::kMlp:
      out = x;
      break;
    case Model::kGat:
      out = Attend(in.links, x, torch::mv(x, Parameter(layer, 1)), torch::mv(x, Parameter(layer, 2)));
      bias = 3;
      break;
    default:
      out = Propagate(in.links, in.propagation, x);
  }
  if (rows.own.defined()) out = out.narrow(0, 0, rows.own.size(0)) + rows.own;
  return out + Parameter(layer, bias);
}

torch::Tensor Network::Layer(int layer, const NetworkInput& in) const {
  const bool propagates = shape_.model == Model::kGcn || shape_.model == Model::kGraphSage;
  const torch::Tensor& weight = Parameter(layer, 0);
  // Where it is cheaper the links come first, or have already.
  const bool links_first = layer > 0 && weight.size(0) < weight.size(1);
  if (!propagates || (!in.propagated.defined() && !links_first)) return Combine(layer, in, TransformOf(layer, in));
  torch::Tensor out =
      torch::mm(in.propagated.defined() ? in.propagated : Propagate(in.links, in.propagation, in.dense), weight);
  if (shape_.model == Model::kGraphSage) out = out + Transform(in, Parameter(layer, 2));
  return out + Parameter(layer, 1);
}

torch::Tensor Network::First() const {
  const torch::Tensor out = Layer(0, input_);
  return shape_.layers == 1 ? out : torch::relu(out);
}

torch::Tensor Network::Rest(const torch::Tensor& first, const Dropout& dropout) const {
  torch::Tensor x = first;
  for (int layer = 1; layer < shape_.layers; ++layer) {
    x = Layer(layer, {.dense = dropout ? dropout(x) : x, .links = input_.links, .propagation = input_.propagation});
    if (layer + 1 < shape_.layers) x = torch::relu(x);
  }
  return x;
}

torch::Tensor Network::OnSample(const NetworkInput& features, const std::vector<SampledLinks>& layers,
                                const Dropout& dropout) const {
  NetworkInput in = features;
  torch::Tensor x;
  for (int layer = 0; layer < shape_.layers; ++layer) {
    const SampledLinks& sampled = layers[layer];
    in.links = sampled.links;
    in.propagation = sampled.propagation;
    x = Layer(layer, in).narrow(0, 0, sampled.rows);
    if (layer + 1 == shape_.layers) break;
    x = torch::relu(x);
    in = {.dense = dropout ? dropout(x) : x};
  }
  return x;
}

std::vector<torch::Tensor> Network::CopyParameters() const {
  std::vector<torch::Tensor> copies;
  for (const torch::Tensor& parameter : parameters_) copies.push_back(parameter.detach().clone());
  return copies;
}

void Network::LoadParameters(const std::vector<torch::Tensor>& values) {
  const torch::NoGradGuard no_gradients;
  TORCH_CHECK(values.size() == parameters_.size(), "parameters of another network: ", values.size(),
              " tensors instead of ", parameters_.size());
  for (size_t k = 0; k < values.size(); ++k) {
    TORCH_CHECK(values[k].sizes() == parameters_[k].sizes(), "parameters of another network: tensor ", k,
                " has another shape");
  }
  for (size_t k = 0; k < values.size(); ++k) parameters_[k].copy_(values[k]);
}

std::vector<std::pair<std::string, torch::Tensor>> Network::StateDict(const std::vector<torch::Tensor>& values) const {
  const std::vector<std::string>& names = ParameterNames(shape_.model);
  std::vector<std::pair<std::string, torch::Tensor>> state;
  for (size_t k = 0; k < values.size(); ++k) {
    const std::string& name = names[k % names.size()];
    torch::Tensor value = values[k].detach().to(torch::kCPU);
    if (value.dim() == 2) value = value.t().contiguous();
    if (name == "att_src" || name == "att_dst") value = value.view({1, 1, -1});
    state.emplace_back(
        (shape_.model == Model::kMlp ? "lin" : "conv") + std::to_string(k / names.size() + 1) + "." + name, value);
  }
  return state;
}

}  // namespace blink
