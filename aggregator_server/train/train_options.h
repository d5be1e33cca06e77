// How a model is to be trained. Needs no LibTorch, so that code that only plans or refuses a training does not link it.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_TRAIN_OPTIONS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_TRAIN_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aggregator_server/train/early_pruning.h"
#include "common/wire/training_choices.h"

namespace blink {

struct TrainOptions {
  Model model = Model::kGcn;
  double learning_rate = 0.01;  // Adam
  double weight_decay = 1e-4;   // L2, as torch::optim::Adam has it
  double dropout = 0.1;         // between the layers
  int epochs = 300;
  int hidden = 16;  // width of the layers but the last
  int layers = 2;
  // 0: a step an epoch, on all nodes and links. Otherwise a step for every so many training nodes, on a sample of the
  // links around them (neighbour_sampler.h): `fan_out` of a node, from the batch outwards, one number a layer. The
  // validation and the result are always of all links.
  uint32_t batch_nodes = 0;
  std::vector<uint32_t> fan_out;
  int patience = 0;  // the training ends after this many epochs without a lower validation loss; 0: never early
  std::optional<TargetScore> target;  // the training ends when it cannot reach this (early_pruning.h); absent: never
  // Weighs the losses by the inverse frequency of the classes in the training split. A class that the split lacks
  // weighs 1.
  bool balance_classes = false;
  NodeFeatures node_features = NodeFeatures::kAuto;
  // The given features go to the first layer unchanged, without NormalizeFeatures: they are NodeProfiles::scaled.
  bool features_as_they_are = false;
  uint64_t seed = 1;
  std::string device = "auto";  // "auto": CUDA where there is one; "cpu"; "cuda:<index>"
  bool cpu_when_out_of_memory = false;
  // On a GPU: use LibTorch's deterministic algorithms, which are slower. TrainResult::deterministic says whether every
  // operation had one. A CPU is always deterministic.
  bool deterministic = false;
  int threads = 0;  // 0: all cores. On a CPU the result does not depend on it
  // The file that keeps the state of the training. The same training, started again, goes on from there and ends with
  // the same bits. The state of another training is not used, and is replaced. Empty: no file.
  std::string checkpoint_file;
  double checkpoint_every_s = 20;  // and after the last epoch
  std::function<void(int epoch, double validation_loss)> progress;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_TRAIN_OPTIONS_H_
