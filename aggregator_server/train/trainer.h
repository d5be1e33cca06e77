// Graph neural networks with LibTorch. This header names no LibTorch type: only this folder's sources do.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_TRAINER_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_TRAINER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/evaluation.h"
#include "aggregator_server/train/train_options.h"
#include "common/graph/node_attributes.h"

namespace blink {

// A tensor of a state dict.
struct NamedValues {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;  // row-major
};
// The file that stock torch.load reads as a state dict. Throws what LibTorch throws, and std::bad_alloc.
std::string StateDictFile(const std::vector<NamedValues>& state);

struct TrainResult {
  std::string device;  // as used, e.g. "cpu" or "cuda:0 (NVIDIA H100 80GB HBM3)"
  int threads = 0;
  // Whether the same seed on this device gives the same bits. Always true on a CPU. On a GPU it is true only if it was
  // asked for and every operation had a deterministic algorithm; otherwise a warning names the operation.
  bool deterministic = false;
  NodeFeatures node_features = NodeFeatures::kGiven;  // as used: never kAuto
  uint32_t feature_count = 0;                         // width of the first layer's input
  std::vector<int32_t> predictions;                   // [n], of the best epoch
  std::vector<float> logits;                          // [n, classes], of the best epoch
  int best_epoch = 0;                                 // lowest validation loss
  double validation_loss = 0;
  // At the best epoch; NaN for an empty split. The same as in train, validation and test below.
  double train_accuracy = 0, validation_accuracy = 0, test_accuracy = 0;
  SplitFigures train, validation, test;
  std::vector<uint32_t> test_confusion;  // ConfusionMatrix of the test split; empty beyond 64 classes
  std::vector<std::string> class_names;  // of the data set; empty: it names none
  uint32_t unlabelled = 0;               // nodes without a label
  // One entry an epoch. Fewer than asked for if `patience` or early pruning ended the training.
  std::vector<float> train_losses, validation_losses, validation_accuracies;
  bool pruned = false;             // TrainOptions::target was out of reach
  double epoch_ms_mean = 0;        // (training + evaluation) / epochs
  std::vector<NamedValues> state;  // of the best epoch
  std::string model_bytes;         // StateDictFile of it
  std::string script_bytes;        // the same model for torch.jit.load (torch_script.h); empty: it is no network
  bool fell_back_to_cpu = false;
  int resumed_from_epoch = 0;         // of a checkpoint; 0: from the beginning
  std::vector<std::string> warnings;  // sentences for a person
};

// The device that `name` (TrainOptions::device) stands for on this machine: "cpu" or "cuda:<index>".
// INVALID_ARGUMENT: no such name. FAILED_PRECONDITION: the device does not exist here.
absl::StatusOr<std::string> ResolveDevice(const std::string& name);

// Trains one network. The MLP ignores the links. The cost is not checked here (select/trainable.h does). Throws
// nothing.
//   INVALID_ARGUMENT     no training or validation node, no features, an option out of range, features whose span
//                        float32 cannot hold, or a training that diverged
//   FAILED_PRECONDITION  the device does not exist here
//   RESOURCE_EXHAUSTED   out of memory, on the device or before
//   INTERNAL             anything else
absl::StatusOr<TrainResult> Train(const LinkWeights& weights, const NodeAttributes& attributes,
                                  const TrainOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_TRAINER_H_
