// How a model is to be trained. Needs no LibTorch: what only plans a training, or refuses one, links none.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_TRAIN_OPTIONS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_TRAIN_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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
  int patience = 0;  // ends after so many epochs without a lower validation loss; 0: never before `epochs`
  std::optional<TargetScore> target;  // ends where this is out of reach (early_pruning.h); absent: never for that
  // Weighs the losses by the inverse frequency of the classes in the training split; of a class that is not there by 1.
  bool balance_classes = false;
  NodeFeatures node_features = NodeFeatures::kAuto;
  // The given features are what the first layer is to get (NodeProfiles::scaled of aggregator_server/prior):
  // NormalizeFeatures is left out.
  bool features_as_they_are = false;
  uint64_t seed = 1;
  std::string device = "auto";  // "auto": CUDA where there is one; "cpu"; "cuda:<index>"
  bool cpu_when_out_of_memory = false;
  // On a GPU: LibTorch's deterministic algorithms where it has them, at their price; TrainResult::deterministic says
  // whether that sufficed. A CPU is deterministic always.
  bool deterministic = false;
  int threads = 0;  // 0: all cores. On a CPU the result does not depend on it
  // Where the state of the training is kept, so that the same training that is ended and started again goes on from
  // there, to the same bits. What another training left there is not used and replaced. Empty: nowhere.
  std::string checkpoint_file;
  double checkpoint_every_s = 20;  // and after the last epoch
  std::function<void(int epoch, double validation_loss)> progress;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_TRAIN_OPTIONS_H_
