#include "aggregator_server/train/trainer.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "aggregator_server/train/data_warnings.h"
#include "aggregator_server/train/determinism.h"
#include "aggregator_server/train/device.h"
#include "aggregator_server/train/failure.h"
#include "aggregator_server/train/node_features.h"
#include "aggregator_server/train/training.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

absl::Status ValidateOptions(const TrainOptions& options) {
  if (!IsNetwork(options.model)) {
    return absl::InvalidArgumentError(absl::StrCat("model is ", ModelName(options.model), ", which is no network"));
  }
  BLINK_RETURN_IF_ERROR(CheckTrainingNumbers({.learning_rate = options.learning_rate,
                                              .weight_decay = options.weight_decay,
                                              .dropout = options.dropout,
                                              .epochs = options.epochs,
                                              .hidden = options.hidden,
                                              .layers = options.layers,
                                              .patience = options.patience,
                                              .batch_nodes = options.batch_nodes}));
  BLINK_RETURN_IF_ERROR(CheckFanOut(std::vector<uint64_t>(options.fan_out.begin(), options.fan_out.end()),
                                    options.batch_nodes, options.layers));
  if (!(options.checkpoint_every_s >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat("checkpoint_every_s is ", options.checkpoint_every_s,
                                                   ": it must be 0 (after every epoch) or more"));
  }
  if (options.threads < 0 || options.threads > 1024) {
    return absl::InvalidArgumentError(absl::StrCat("threads is ", options.threads, ": it must be in 0 .. 1024"));
  }
  return absl::OkStatus();
}

absl::Status ValidateData(const LinkWeights& weights, const NodeAttributes& attributes, const TrainOptions& options) {
  const Model model = options.model;
  const uint32_t n = attributes.node_count;
  if (n == 0 || (attributes.features.cols > 0 && attributes.features.rows != n) || attributes.labels.size() != n ||
      attributes.split.size() != n) {
    return absl::InvalidArgumentError(absl::StrCat("the attributes disagree: ", n, " nodes, ", attributes.features.rows,
                                                   " feature rows, ", attributes.labels.size(), " labels, ",
                                                   attributes.split.size(), " entries of the split"));
  }
  if (model != Model::kMlp && weights.node_count != n) {
    return absl::InvalidArgumentError(
        absl::StrCat("the graph has ", weights.node_count, " nodes, but the attributes have ", n));
  }
  if (options.batch_nodes > 0 && model != Model::kMlp && weights.has_background()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "batch_nodes is ", options.batch_nodes,
        ", but every pair of nodes has a weight, and none can be sampled by its links: train on hard or hybrid links, "
        "or without batches"));
  }
  for (uint32_t i = 0; i < n; ++i) {
    if (attributes.labels[i] < -1 || attributes.labels[i] >= static_cast<int64_t>(attributes.class_count)) {
      return absl::InvalidArgumentError(absl::StrCat("node ", i, " has label ", attributes.labels[i],
                                                     ", but there are ", attributes.class_count, " classes"));
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

absl::StatusOr<TrainResult> TrainOrThrow(const LinkWeights& weights, const NodeAttributes& attributes,
                                         const TrainOptions& options) {
  BLINK_RETURN_IF_ERROR(ValidateOptions(options));
  BLINK_RETURN_IF_ERROR(ValidateData(weights, attributes, options));
  // cuBLAS reads it when it is first used, and is not deterministic without.
  if (options.deterministic) ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*replace=*/0);
  BLINK_ASSIGN_OR_RETURN(const TrainDevice device, ChooseDevice(options.device));
  TrainOptions resolved = options;
  resolved.threads = ThreadsOrCores(options.threads);
  // LibTorch's sums depend on how many threads share them. Only this folder's kernels use more than one, and theirs do
  // not: so the same seed gives the same model with any number of threads.
  at::set_num_threads(1);
  const NodeFeatures used = ResolveNodeFeatures(options.node_features, attributes);
  FeatureMatrix made;  // empty for the given ones, which are not copied
  if (used == NodeFeatures::kGiven) {
    BLINK_RETURN_IF_ERROR(CheckGivenFeatures(attributes, options.model));
  } else {
    BLINK_ASSIGN_OR_RETURN(
        made, MakeNodeFeatures(weights, attributes, options.node_features, options.model, resolved.threads));
  }
  const FeatureMatrix& features = used == NodeFeatures::kGiven ? attributes.features : made;
  const auto train_on = [&](const TrainDevice& chosen) -> absl::StatusOr<TrainResult> {
    try {
      const auto run = [&] { return RunTraining(weights, features, attributes, resolved, chosen); };
      const bool on_cpu = chosen.device.is_cpu();  // where the deterministic algorithms would only be slower
      return options.deterministic && !on_cpu ? RunDeterministically(chosen.description, run) : run();
    } catch (...) {
      return StatusFromCurrentException(chosen);
    }
  };
  absl::StatusOr<TrainResult> result = RunWithFallback(device, options.cpu_when_out_of_memory, train_on);
  if (!result.ok()) return result;
  result->node_features = used;
  result->feature_count = features.cols;
  const std::vector<std::string> warnings = DataWarnings(weights, attributes, options, used);
  result->warnings.insert(result->warnings.begin(), warnings.begin(), warnings.end());
  if (result->fell_back_to_cpu) {
    result->warnings.push_back(
        absl::StrCat("the memory of ", device.description, " did not suffice: trained on the CPU"));
  }
  return result;
}

}  // namespace

absl::StatusOr<std::string> ResolveDevice(const std::string& name) {
  try {
    BLINK_ASSIGN_OR_RETURN(const TrainDevice device, ChooseDevice(name));
    return device.device.is_cpu() ? "cpu" : absl::StrCat("cuda:", static_cast<int>(device.device.index()));
  } catch (...) {
    return StatusFromCurrentException(TrainDevice{});
  }
}

absl::StatusOr<TrainResult> Train(const LinkWeights& weights, const NodeAttributes& attributes,
                                  const TrainOptions& options) {
  try {
    return TrainOrThrow(weights, attributes, options);
  } catch (...) {  // what happens beside the training on the device: on this machine's processor and memory
    return StatusFromCurrentException(TrainDevice{});
  }
}

}  // namespace blink
