#include "aggregator_server/train/trainer.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

#include "absl/strings/str_cat.h"
#include "aggregator_server/train/attention_cost.h"
#include "aggregator_server/train/device.h"
#include "aggregator_server/train/failure.h"
#include "aggregator_server/train/network.h"
#include "aggregator_server/train/state_dict.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

absl::Status ValidateOptions(const TrainOptions& options) {
  // Negated comparisons, so that NaN is refused too.
  if (!(options.learning_rate > 0 && options.learning_rate <= 10)) {
    return absl::InvalidArgumentError(absl::StrCat("learning_rate is ", options.learning_rate, ": it must be in (0, 10]"));
  }
  if (!(options.weight_decay >= 0 && options.weight_decay <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("weight_decay is ", options.weight_decay, ": it must be in [0, 1]"));
  }
  if (!(options.dropout >= 0 && options.dropout < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("dropout is ", options.dropout, ": it must be in [0, 1)"));
  }
  if (options.epochs < 1 || options.epochs > 100'000) {
    return absl::InvalidArgumentError(absl::StrCat("epochs is ", options.epochs, ": it must be in 1 .. 100,000"));
  }
  if (options.hidden < 1 || options.hidden > 4096) {
    return absl::InvalidArgumentError(absl::StrCat("hidden is ", options.hidden, ": it must be in 1 .. 4096"));
  }
  if (options.layers < 1 || options.layers > 8) {
    return absl::InvalidArgumentError(absl::StrCat("layers is ", options.layers, ": it must be in 1 .. 8"));
  }
  if (options.threads < 0 || options.threads > 1024) {
    return absl::InvalidArgumentError(absl::StrCat("threads is ", options.threads, ": it must be in 0 .. 1024"));
  }
  return absl::OkStatus();
}

// Nodes of a split whose label is known, ascending.
std::vector<int64_t> LabelledNodes(const NodeAttributes& attributes, Split split) {
  std::vector<int64_t> nodes;
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    if (attributes.split[i] == split && attributes.labels[i] >= 0) nodes.push_back(i);
  }
  return nodes;
}

absl::Status ValidateData(const LinkWeights& weights, const NodeAttributes& attributes, Model model) {
  const uint32_t n = attributes.node_count;
  if (attributes.features.cols == 0) {
    return absl::InvalidArgumentError(
        "the data set has no node features, and this model needs them: add features.npz or features.npy beside "
        "labels.csv");
  }
  if (n == 0 || attributes.features.rows != n || attributes.labels.size() != n || attributes.split.size() != n) {
    return absl::InvalidArgumentError(absl::StrCat("the attributes disagree: ", n, " nodes, ", attributes.features.rows,
                                                   " feature rows, ", attributes.labels.size(), " labels, ",
                                                   attributes.split.size(), " entries of the split"));
  }
  if (model != Model::kMlp && weights.node_count != n) {
    return absl::InvalidArgumentError(
        absl::StrCat("the graph has ", weights.node_count, " nodes, but the attributes have ", n));
  }
  for (uint32_t i = 0; i < n; ++i) {
    if (attributes.labels[i] < -1 || attributes.labels[i] >= static_cast<int64_t>(attributes.class_count)) {
      return absl::InvalidArgumentError(absl::StrCat("node ", i, " has label ", attributes.labels[i], ", but there are ",
                                                     attributes.class_count, " classes"));
    }
  }
  if (LabelledNodes(attributes, Split::kTrain).empty()) {
    return absl::InvalidArgumentError("no labelled node is in the training split: nothing to train on");
  }
  if (LabelledNodes(attributes, Split::kValidation).empty()) {
    return absl::InvalidArgumentError("no labelled node is in the validation split: the best epoch cannot be chosen");
  }
  return absl::OkStatus();
}

// The labelled nodes of one split on the device.
struct SplitTensors {
  torch::Tensor nodes;   // [m] int64
  torch::Tensor labels;  // [m] int64

  SplitTensors(const NodeAttributes& attributes, Split split, torch::Device device) {
    const std::vector<int64_t> list = LabelledNodes(attributes, split);
    std::vector<int64_t> label_list;
    for (const int64_t node : list) label_list.push_back(attributes.labels[node]);
    nodes = torch::tensor(list, torch::kInt64).to(device);
    labels = torch::tensor(label_list, torch::kInt64).to(device);
  }
  torch::Tensor Loss(const torch::Tensor& logits) const {
    return torch::nn::functional::cross_entropy(logits.index_select(0, nodes), labels);
  }
  double Accuracy(const torch::Tensor& predictions) const {  // [n]
    if (nodes.size(0) == 0) return std::numeric_limits<double>::quiet_NaN();
    const int64_t right = predictions.index_select(0, nodes).eq(labels).sum().item<int64_t>();
    return static_cast<double>(right) / static_cast<double>(nodes.size(0));
  }
};

// One training, from initial weights to the best epoch.
class Training {
 public:
  Training(const LinkWeights& weights, const NodeAttributes& attributes, const TrainOptions& options, const TrainDevice& device)
      : options_(options),
        device_(device),
        train_(attributes, Split::kTrain, device.device),
        validation_(attributes, Split::kValidation, device.device),
        test_(attributes, Split::kTest, device.device),
        initial_generator_(MakeGenerator(torch::kCPU, options.seed)),
        network_(MakeInput(weights, attributes.features, options.model, device.device, options.threads),
                 {options.model, options.layers, options.hidden, attributes.class_count}, initial_generator_, device.device),
        // Another stream than the weights', so that the masks do not depend on how many weights there are.
        dropout_generator_(MakeGenerator(device.device, options.seed ^ 0x9e3779b97f4a7c15u)),
        optimizer_(network_.parameters(),
                   torch::optim::AdamOptions(options.learning_rate).weight_decay(options.weight_decay)) {}

  absl::StatusOr<TrainResult> Run() {
    const auto started = std::chrono::steady_clock::now();
    // The first layer at the weights that epoch e left serves e's evaluation and the training of e + 1.
    torch::Tensor hidden = network_.First();
    for (int epoch = 1; epoch <= options_.epochs; ++epoch) {
      TrainOneEpoch(hidden);
      hidden = network_.First();
      Evaluate(epoch, hidden);
      if (options_.progress) options_.progress(epoch, result_.validation_losses.back());
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - started;
    result_.epoch_ms_mean = elapsed.count() / options_.epochs;
    if (result_.best_epoch == 0) {
      return absl::InvalidArgumentError(
          "training diverged: the validation loss was never a finite number; choose a smaller learning rate");
    }
    Finish();
    return std::move(result_);
  }

 private:
  torch::Tensor Dropout(const torch::Tensor& hidden) {
    if (options_.dropout == 0) return hidden;
    const double keep = 1.0 - options_.dropout;
    return hidden * torch::empty_like(hidden).bernoulli_(keep, dropout_generator_).mul_(1.0 / keep);
  }

  void TrainOneEpoch(const torch::Tensor& hidden) {
    optimizer_.zero_grad();
    const torch::Tensor loss = train_.Loss(network_.Rest(hidden, [this](const torch::Tensor& x) { return Dropout(x); }));
    loss.backward();
    optimizer_.step();
    result_.train_losses.push_back(loss.item<float>());
  }

  void Evaluate(int epoch, const torch::Tensor& hidden) {
    const torch::NoGradGuard no_gradients;
    const torch::Tensor logits = network_.Rest(hidden);
    const float loss = validation_.Loss(logits).item<float>();
    result_.validation_losses.push_back(loss);
    if (!std::isfinite(loss) || (result_.best_epoch != 0 && loss >= result_.validation_loss)) return;
    result_.best_epoch = epoch;
    result_.validation_loss = loss;
    best_logits_ = logits;
    best_parameters_ = network_.CopyParameters();
  }

  void Finish() {
    const torch::Tensor predictions = best_logits_.argmax(1);
    result_.train_accuracy = train_.Accuracy(predictions);
    result_.validation_accuracy = validation_.Accuracy(predictions);
    result_.test_accuracy = test_.Accuracy(predictions);
    const torch::Tensor predictions_cpu = predictions.to(torch::kCPU, torch::kInt32).contiguous();
    const int32_t* first = predictions_cpu.const_data_ptr<int32_t>();
    result_.predictions.assign(first, first + predictions_cpu.numel());
    const torch::Tensor logits_cpu = best_logits_.to(torch::kCPU).contiguous();
    result_.logits.assign(logits_cpu.const_data_ptr<float>(), logits_cpu.const_data_ptr<float>() + logits_cpu.numel());
    result_.model_bytes = SerializeStateDict(network_.StateDict(best_parameters_));
    result_.device = device_.description;
    result_.threads = options_.threads;
  }

  const TrainOptions& options_;
  const TrainDevice& device_;
  SplitTensors train_, validation_, test_;
  torch::Generator initial_generator_;
  Network network_;
  torch::Generator dropout_generator_;
  torch::optim::Adam optimizer_;
  torch::Tensor best_logits_;
  std::vector<torch::Tensor> best_parameters_;
  TrainResult result_;
};

}  // namespace

const char* ModelName(Model model) {
  constexpr const char* kNames[] = {"mlp", "gcn", "graphsage", "gat"};
  return kNames[static_cast<int>(model)];
}

absl::StatusOr<TrainResult> Train(const LinkWeights& weights, const NodeAttributes& attributes, const TrainOptions& options) {
  BLINK_RETURN_IF_ERROR(ValidateOptions(options));
  const bool given = options.node_features == NodeFeatures::kAuto || options.node_features == NodeFeatures::kGiven;
  if (options.patience != 0 || options.balance_classes || !given) {
    return absl::UnimplementedError("neither patience, balanced classes nor other features than the given ones are there yet");
  }
  BLINK_RETURN_IF_ERROR(ValidateData(weights, attributes, options.model));
  BLINK_ASSIGN_OR_RETURN(const TrainDevice device, ChooseDevice(options.device));
  TrainOptions resolved = options;
  if (resolved.threads == 0) resolved.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (device.device.is_cpu()) BLINK_RETURN_IF_ERROR(CheckAttentionCost(weights, attributes.class_count, resolved));
  // LibTorch's sums depend on how many threads share them. Only this folder's kernels use more than one, and theirs do not:
  // so the same seed gives the same model with any number of threads.
  at::set_num_threads(1);
  return RunWithFallback(device, options.cpu_when_out_of_memory,
                         [&](const TrainDevice& chosen) -> absl::StatusOr<TrainResult> {
                           try {
                             return Training(weights, attributes, resolved, chosen).Run();
                           } catch (...) {
                             return StatusFromCurrentException(chosen.description);
                           }
                         });
}

}  // namespace blink
