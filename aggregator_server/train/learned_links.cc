#include "aggregator_server/train/learned_links.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/train/device.h"
#include "aggregator_server/train/failure.h"
#include "aggregator_server/train/labelled_nodes.h"
#include "aggregator_server/train/log_probabilities.h"
#include "aggregator_server/train/network.h"
#include "aggregator_server/train/node_features.h"
#include "aggregator_server/train/split_tensors.h"
#include "aggregator_server/train/state_dict.h"
#include "common/base/status_macros.h"
#include "common/base/stop_request.h"

namespace blink {
namespace {

torch::Tensor DenseLinks(const LinkWeights& weights) {
  const int64_t n = weights.node_count;
  torch::Tensor dense = torch::zeros({n, n});
  float* const out = dense.mutable_data_ptr<float>();
  for (NodeIndex i = 0; i < weights.node_count; ++i) FillRow(weights, i, out + static_cast<int64_t>(i) * n);
  return dense;
}

class Learner {
 public:
  Learner(const LinkWeights& reported, const FeatureMatrix& features, const NodeAttributes& attributes,
          const TrainOptions& options, const LearnedLinksOptions& links)
      : attributes_(attributes),
        options_(options),
        links_(links),
        input_(MakeInput(reported, features, Model::kMlp, torch::kCPU, /*threads=*/1)),
        generator_(MakeGenerator(torch::kCPU, options.seed)),
        // Only its weights and their names are used: the layers below read the matrix of links as it is now.
        network_(input_,
                 {.model = options.model,
                  .layers = options.layers,
                  .hidden = options.hidden,
                  .classes = static_cast<int64_t>(attributes.class_count)},
                 generator_, torch::kCPU),
        dropout_(MakeGenerator(torch::kCPU, options.seed ^ 0x9e3779b97f4a7c15u)),
        reported_(DenseLinks(reported)),
        a_(reported_.clone().set_requires_grad(true)),
        eye_(options.model == Model::kGat ? torch::eye(reported.node_count) : torch::Tensor()),
        class_weights_(options.balance_classes ? torch::tensor(BalancedClassWeights(attributes)) : torch::Tensor()),
        train_(attributes, Split::kTrain, class_weights_, torch::kCPU),
        validation_(attributes, Split::kValidation, class_weights_, torch::kCPU),
        weights_step_(network_.parameters(),
                      torch::optim::AdamOptions(options.learning_rate).weight_decay(options.weight_decay)),
        links_step_(std::vector<torch::Tensor>{a_}, torch::optim::AdamOptions(links.rate)) {}

  absl::StatusOr<TrainResult> Run() {
    const auto started = std::chrono::steady_clock::now();
    for (int epoch = 1; epoch <= options_.epochs && !OutOfPatience(epoch); ++epoch) {
      Train(epoch % 2 == 1);
      Evaluate(epoch);
      if (IsStopRequested()) return absl::CancelledError(absl::StrCat("the training was stopped after epoch ", epoch));
      if (options_.progress) options_.progress(epoch, result_.validation_losses.back());
    }
    result_.epoch_ms_mean =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count() /
        static_cast<double>(result_.validation_losses.size());
    if (result_.best_epoch == 0) {
      return absl::InvalidArgumentError(
          "training diverged: no epoch had a finite validation loss; use a lower learning rate, or features without "
          "infinite values");
    }
    Finish();
    return std::move(result_);
  }

  std::vector<float> Links() const {
    const torch::Tensor a = a_.detach().contiguous();
    return {a.const_data_ptr<float>(), a.const_data_ptr<float>() + a.numel()};
  }

 private:
  bool OutOfPatience(int epoch) const {
    return options_.patience > 0 && epoch - 1 - result_.best_epoch >= options_.patience;
  }

  torch::Tensor Times(const torch::Tensor& x, const torch::Tensor& weight) const {
    if (x.defined()) return torch::mm(x, weight);
    return input_.sparse != nullptr ? Multiply(input_.sparse, weight) : torch::mm(input_.dense, weight);
  }

  // `a`: the links, with zeros on the diagonal. `x` undefined: the features. The parameters of a layer are those of
  // network.h in this order: weight, bias (GCN, and GraphSAGE's of the neighbours, with the node's own after it);
  // weight, source, target, bias (GAT).
  torch::Tensor Layer(const torch::Tensor& a, const torch::Tensor& x, const torch::Tensor* p) const {
    if (options_.model == Model::kGcn) {
      const torch::Tensor scale = (a.sum(1) + 1).clamp_min(1).rsqrt().unsqueeze(1), h = Times(x, p[0]);
      return scale * (torch::mm(a, scale * h) + scale * h) + p[1];
    }
    if (options_.model == Model::kGraphSage) {
      const torch::Tensor sums = a.sum(1, /*keepdim=*/true).clamp_min(1);
      return torch::mm(a, Times(x, p[0])) / sums + p[1] + Times(x, p[2]);
    }
    const torch::Tensor h = Times(x, p[0]), weight = a.clamp_min(0) + eye_;
    const torch::Tensor z = torch::leaky_relu(h.mv(p[2]).unsqueeze(1) + h.mv(p[1]).unsqueeze(0), 0.2);
    const torch::Tensor exponentials = (z - z.detach().amax()).exp() * weight;
    const torch::Tensor attention = exponentials / exponentials.sum(1, /*keepdim=*/true);
    return torch::mm(attention * weight, h) + p[3];
  }

  torch::Tensor Forward(const torch::Tensor& a, bool with_dropout) {
    const std::vector<torch::Tensor>& parameters = network_.parameters();
    const size_t of_layer = parameters.size() / static_cast<size_t>(options_.layers);
    torch::Tensor x;
    for (int layer = 0; layer < options_.layers; ++layer) {
      x = Layer(a, x, &parameters[static_cast<size_t>(layer) * of_layer]);
      if (layer + 1 == options_.layers) break;
      x = torch::relu(x);
      if (!with_dropout || options_.dropout == 0) continue;
      const double keep = 1 - options_.dropout;
      x = x * torch::empty_like(x).bernoulli_(keep, dropout_).div_(keep);
    }
    return x;
  }

  void Train(bool weights_turn) {
    weights_step_.zero_grad();
    links_step_.zero_grad();
    const torch::Tensor logits = Forward(weights_turn ? a_.detach() : a_, /*with_dropout=*/true);
    const torch::Tensor loss = train_.Loss(logits.index_select(0, train_.nodes));
    // What does not depend on the weights has no part in their step.
    torch::Tensor whole = loss;
    if (!weights_turn) {
      whole = loss + links_.closeness * (a_ - reported_).norm() + links_.sparsity * a_.norm(1);
    }
    whole.backward();
    if (!weights_turn) a_.mutable_grad().fill_diagonal_(0);  // no node is its own neighbour
    weights_turn ? weights_step_.step() : links_step_.step();
    result_.train_losses.push_back(loss.item<float>());
  }

  void Evaluate(int epoch) {
    const torch::NoGradGuard no_gradients;
    const torch::Tensor logits = Forward(a_, /*with_dropout=*/false);
    const torch::Tensor rows = logits.index_select(0, validation_.nodes);
    const float loss = validation_.Loss(rows).item<float>();
    result_.validation_losses.push_back(loss);
    result_.validation_accuracies.push_back(
        rows.argmax(1).eq(validation_.labels).to(torch::kFloat32).mean().item<float>());
    if (!std::isfinite(loss) || (result_.best_epoch != 0 && loss >= result_.validation_loss)) return;
    result_.best_epoch = epoch;
    result_.validation_loss = loss;
    best_logits_ = logits;
    best_parameters_ = network_.CopyParameters();
  }

  void Finish() {
    const torch::Tensor predictions = best_logits_.argmax(1).to(torch::kInt32).contiguous();
    const int32_t* first = predictions.const_data_ptr<int32_t>();
    result_.predictions.assign(first, first + predictions.numel());
    const torch::Tensor logits = best_logits_.contiguous();
    result_.logits.assign(logits.const_data_ptr<float>(), logits.const_data_ptr<float>() + logits.numel());
    FillFigures(attributes_, result_);
    const auto state = network_.StateDict(best_parameters_);
    for (const auto& [name, tensor] : state) {
      const torch::Tensor values = tensor.contiguous();
      const float* begin = values.const_data_ptr<float>();
      result_.state.push_back({name, values.sizes().vec(), {begin, begin + values.numel()}});
    }
    result_.model_bytes = SerializeStateDict(state);
    result_.device = "cpu";
    result_.threads = 1;
    result_.deterministic = true;
  }

  const NodeAttributes& attributes_;
  const TrainOptions& options_;
  const LearnedLinksOptions& links_;
  const NetworkInput input_;
  torch::Generator generator_;
  Network network_;
  torch::Generator dropout_;
  const torch::Tensor reported_;       // A~ [n, n]
  const torch::Tensor a_;              // A [n, n], with a gradient
  const torch::Tensor eye_;            // [n, n], of attention
  const torch::Tensor class_weights_;  // [classes], or undefined
  const SplitTensors train_, validation_;
  torch::optim::Adam weights_step_, links_step_;
  torch::Tensor best_logits_;
  std::vector<torch::Tensor> best_parameters_;
  TrainResult result_;
};

absl::Status ValidateForLinks(const TrainOptions& options) {
  if (options.model != Model::kGcn && options.model != Model::kGraphSage && options.model != Model::kGat) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model is ", ModelName(options.model), ": links are learnt with gcn, graphsage or gat alone, so choose one"));
  }
  if (options.target || !options.checkpoint_file.empty()) {
    return absl::InvalidArgumentError("a training that learns its links keeps no checkpoint and has no target");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TrainResult> TrainWithLinks(const LinkWeights& reported, const NodeAttributes& attributes,
                                           const TrainOptions& options, const LearnedLinksOptions& links,
                                           std::vector<float>* learned) {
  BLINK_RETURN_IF_ERROR(ValidateLearnedLinks(links));
  BLINK_RETURN_IF_ERROR(ValidateForLinks(options));
  try {
    at::set_num_threads(1);  // as Train does
    const NodeFeatures used = ResolveNodeFeatures(options.node_features, attributes);
    BLINK_ASSIGN_OR_RETURN(const FeatureMatrix features,
                           MakeNodeFeatures(reported, attributes, options.node_features, options.model, 1));
    Learner learner(reported, features, attributes, options, links);
    BLINK_ASSIGN_OR_RETURN(TrainResult result, learner.Run());
    if (learned != nullptr) *learned = learner.Links();
    result.node_features = used;
    result.feature_count = features.cols;
    return result;
  } catch (...) {
    return StatusFromCurrentException(TrainDevice{});
  }
}

}  // namespace blink
