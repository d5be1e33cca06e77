#include "aggregator_server/train/trainer.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "absl/strings/str_cat.h"
#include "aggregator_server/train/attention_cost.h"
#include "absl/strings/str_join.h"
#include "aggregator_server/train/device.h"
#include "aggregator_server/train/failure.h"
#include "aggregator_server/train/node_features.h"
#include "aggregator_server/train/training.h"
#include "common/base/run_on_threads.h"
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
  if (options.patience < 0 || options.patience > 100'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("patience is ", options.patience, ": it must be in 1 .. 100,000, or 0 to train all epochs"));
  }
  if (!(options.checkpoint_every_s >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint_every_s is ", options.checkpoint_every_s, ": it must be 0 (after every epoch) or more"));
  }
  if (options.threads < 0 || options.threads > 1024) {
    return absl::InvalidArgumentError(absl::StrCat("threads is ", options.threads, ": it must be in 0 .. 1024"));
  }
  return absl::OkStatus();
}

absl::Status ValidateData(const LinkWeights& weights, const NodeAttributes& attributes, Model model) {
  const uint32_t n = attributes.node_count;
  if (n == 0 || (attributes.features.cols > 0 && attributes.features.rows != n) || attributes.labels.size() != n || attributes.split.size() != n) {
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

std::string ClassName(const NodeAttributes& attributes, uint32_t index) {
  return attributes.class_names.empty() ? absl::StrCat(index) : absl::StrCat(index, " (", attributes.class_names[index], ")");
}

// What a person should know of the data before they trust the accuracies.
std::vector<std::string> Warnings(const LinkWeights& weights, const NodeAttributes& attributes, const TrainOptions& options,
                                  NodeFeatures used) {
  std::vector<std::string> warnings;
  std::vector<bool> trained(attributes.class_count, false), labelled(attributes.class_count, false);
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    if (attributes.labels[i] < 0) continue;
    labelled[attributes.labels[i]] = true;
    if (attributes.split[i] == Split::kTrain) trained[attributes.labels[i]] = true;
  }
  constexpr size_t kNamesMax = 10;
  std::vector<std::string> absent;
  for (uint32_t c = 0; c < attributes.class_count; ++c) {
    if (labelled[c] && !trained[c]) absent.push_back(ClassName(attributes, c));
  }
  if (!absent.empty()) {
    const size_t count = absent.size();
    absent.resize(std::min(count, kNamesMax));
    warnings.push_back(absl::StrCat(count == 1 ? "class " : "classes ", absl::StrJoin(absent, ", "),
                                    count > kNamesMax ? ", ..." : "",
                                    " without a labelled node in the training split: no model learns to predict them"));
  }
  if (options.node_features == NodeFeatures::kAuto && used == NodeFeatures::kDegree) {
    warnings.push_back("the data set has no node features: the estimated degree stands for them");
  }
  if (options.model != Model::kMlp && !weights.has_background()) {
    uint64_t isolated = 0;
    for (NodeIndex i = 0; i < weights.node_count; ++i) isolated += weights.links.DegreeOf(i) == 0 ? 1 : 0;
    if (isolated > 0) {
      warnings.push_back(absl::StrCat(isolated, " of ", weights.node_count,
                                      " nodes have no link: they are predicted from their own features alone"));
    }
  }
  return warnings;
}

// LibTorch's deterministic algorithms while it lives; what has none warns on standard error instead of failing.
class DeterministicAlgorithms {
 public:
  explicit DeterministicAlgorithms(bool wanted)
      : was_(at::globalContext().deterministicAlgorithms()), warned_(at::globalContext().deterministicAlgorithmsWarnOnly()) {
    if (wanted) at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  }
  ~DeterministicAlgorithms() { at::globalContext().setDeterministicAlgorithms(was_, warned_); }
  DeterministicAlgorithms(const DeterministicAlgorithms&) = delete;
  DeterministicAlgorithms& operator=(const DeterministicAlgorithms&) = delete;

 private:
  const bool was_, warned_;
};

}  // namespace

const char* ModelName(Model model) {
  constexpr const char* kNames[] = {"mlp", "gcn", "graphsage", "gat"};
  return kNames[static_cast<int>(model)];
}

absl::StatusOr<TrainResult> Train(const LinkWeights& weights, const NodeAttributes& attributes, const TrainOptions& options) {
  BLINK_RETURN_IF_ERROR(ValidateOptions(options));
  BLINK_RETURN_IF_ERROR(ValidateData(weights, attributes, options.model));
  // cuBLAS reads it when it is first used, and is not deterministic without.
  if (options.deterministic) ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*replace=*/0);
  BLINK_ASSIGN_OR_RETURN(const TrainDevice device, ChooseDevice(options.device));
  TrainOptions resolved = options;
  resolved.threads = ThreadsOrCores(options.threads);
  if (device.device.is_cpu()) BLINK_RETURN_IF_ERROR(CheckAttentionCost(weights, attributes.class_count, resolved));
  // LibTorch's sums depend on how many threads share them. Only this folder's kernels use more than one, and theirs do not:
  // so the same seed gives the same model with any number of threads.
  at::set_num_threads(1);
  const NodeFeatures used = ResolveNodeFeatures(options.node_features, attributes);
  BLINK_ASSIGN_OR_RETURN(const FeatureMatrix features, MakeNodeFeatures(weights, attributes, options.node_features,
                                                                        options.model, resolved.threads));
  std::optional<DeterministicAlgorithms> deterministic;  // on a CPU they would only be slower
  if (options.deterministic && !device.device.is_cpu()) deterministic.emplace(true);
  absl::StatusOr<TrainResult> result = RunWithFallback(
      device, options.cpu_when_out_of_memory, [&](const TrainDevice& chosen) -> absl::StatusOr<TrainResult> {
        try {
          return RunTraining(weights, features, attributes, resolved, chosen);
        } catch (...) {
          return StatusFromCurrentException(chosen.description);
        }
      });
  if (!result.ok()) return result;
  constexpr uint32_t kConfusionClassesMax = 64;
  if (attributes.class_count <= kConfusionClassesMax) {
    result->test_confusion = ConfusionMatrix(result->predictions, attributes, Split::kTest);
  }
  result->class_names = attributes.class_names;
  result->node_features = used;
  result->feature_count = features.cols;
  result->unlabelled = static_cast<uint32_t>(std::count(attributes.labels.begin(), attributes.labels.end(), -1));
  const std::vector<std::string> warnings = Warnings(weights, attributes, options, used);
  result->warnings.insert(result->warnings.begin(), warnings.begin(), warnings.end());
  if (result->fell_back_to_cpu) {
    result->warnings.push_back(absl::StrCat("the memory of ", device.description, " did not suffice: trained on the CPU"));
  }
  return result;
}

}  // namespace blink
