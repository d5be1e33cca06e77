#include "aggregator_server/train/state_dict.h"

#include <torch/serialize.h>
#include <torch/torch.h>

namespace blink {

std::string SerializeStateDict(const std::vector<std::pair<std::string, torch::Tensor>>& state) {
  c10::Dict<std::string, torch::Tensor> dict;
  for (const auto& [name, tensor] : state) dict.insert(name, tensor);
  const std::vector<char> bytes = torch::pickle_save(dict);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace blink
