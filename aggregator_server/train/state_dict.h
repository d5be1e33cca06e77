// A state dict as bytes that stock torch.load reads. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_STATE_DICT_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_STATE_DICT_H_

#include <torch/types.h>

#include <string>
#include <utility>
#include <vector>

namespace blink {

std::string SerializeStateDict(const std::vector<std::pair<std::string, torch::Tensor>>& state);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_STATE_DICT_H_
