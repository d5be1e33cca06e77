// A trained model as TorchScript: torch.jit.load gives a module that needs neither blink nor PyG. Internal to this
// folder.
//
//   model = torch.jit.load("model.ts")
//   logits = model(x, edge_index, edge_weight)    # [n, features], int64 [2, directed links], float [directed links] or
//   None
//
// `x` is what the model was trained on: features as PyG's NormalizeFeatures has them (a sparse tensor may be given
// too). `edge_index` has both directions of every link and no self-loop; `edge_weight` None is 1 each. The MLP ignores
// the links. Parameters have the names of the state dict.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_TORCH_SCRIPT_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_TORCH_SCRIPT_H_

#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

#include "aggregator_server/train/trainer.h"

namespace blink {

// `state` as from Network::StateDict: `layers` layers named conv1 .. or lin1 .. . Throws c10::Error.
std::string SerializeTorchScript(Model model, int layers,
                                 const std::vector<std::pair<std::string, torch::Tensor>>& state);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_TORCH_SCRIPT_H_
