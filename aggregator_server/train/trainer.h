// Graph neural networks with LibTorch. This header names no LibTorch type: only this folder's sources do.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_TRAINER_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_TRAINER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "common/graph/node_attributes.h"

namespace blink {

enum class Model { kMlp, kGcn, kGraphSage, kGat };
const char* ModelName(Model model);  // "mlp", "gcn", "graphsage", "gat"

// What stands for the nodes at the entrance.
enum class NodeFeatures {
  kAuto,    // the given ones; where there are none, the degree
  kGiven,
  kDegree,  // the estimated degree alone
  kIdentity,
  kGivenAndDegree
};

struct TrainOptions {
  Model model = Model::kGcn;
  double learning_rate = 0.01;  // Adam
  double weight_decay = 1e-4;   // L2, as torch::optim::Adam has it
  double dropout = 0.1;         // between the layers
  int epochs = 300;
  int hidden = 16;              // width of the layers but the last
  int layers = 2;
  int patience = 0;             // ends after so many epochs without a lower validation loss; 0: never before `epochs`
  bool balance_classes = false;  // weighs the training loss by the inverse frequency of the classes
  NodeFeatures node_features = NodeFeatures::kAuto;
  uint64_t seed = 1;
  std::string device = "auto";  // "auto": CUDA where there is one; "cpu"; "cuda:<index>"
  bool cpu_when_out_of_memory = false;
  int threads = 0;              // 0: all cores. On a CPU the result does not depend on it
  // GAT over Soft weights costs the square of the nodes; on a CPU a training of more than about an hour is refused without this.
  bool allow_slow_attention = false;
  std::function<void(int epoch, double validation_loss)> progress;
};

struct TrainResult {
  std::string device;                  // as used, e.g. "cpu" or "cuda:0 (NVIDIA H100 80GB HBM3)"
  int threads = 0;
  std::vector<int32_t> predictions;    // [n], of the best epoch
  std::vector<float> logits;           // [n, classes], of the best epoch
  int best_epoch = 0;                  // lowest validation loss
  double validation_loss = 0;
  double train_accuracy = 0, validation_accuracy = 0, test_accuracy = 0;  // at the best epoch; NaN for an empty split
  std::vector<float> train_losses, validation_losses;                     // [epochs]
  double epoch_ms_mean = 0;            // (training + evaluation) / epochs
  std::string model_bytes;             // state dict of the best epoch, readable by stock torch.load
  bool fell_back_to_cpu = false;
};

// The MLP takes no links. INVALID_ARGUMENT: no training or validation node, no features, an option out of range,
// GAT over Soft weights of so many nodes that it would take more than an hour.
// FAILED_PRECONDITION: the device does not exist here. RESOURCE_EXHAUSTED: out of memory on the device.
absl::StatusOr<TrainResult> Train(const LinkWeights& weights, const NodeAttributes& attributes, const TrainOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_TRAINER_H_
