#include "aggregator_server/train/labelled_nodes.h"

namespace blink {

std::vector<int64_t> LabelledNodes(const NodeAttributes& attributes, Split split) {
  std::vector<int64_t> nodes;
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    if (attributes.split[i] == split && attributes.labels[i] >= 0) nodes.push_back(i);
  }
  return nodes;
}

std::vector<float> BalancedClassWeights(const NodeAttributes& attributes) {
  const std::vector<int64_t> nodes = LabelledNodes(attributes, Split::kTrain);
  std::vector<int64_t> counts(attributes.class_count, 0);
  for (const int64_t node : nodes) ++counts[attributes.labels[node]];
  int64_t present = 0;
  for (const int64_t count : counts) present += count > 0 ? 1 : 0;
  std::vector<float> weights;
  for (const int64_t count : counts) {
    const double product = static_cast<double>(present) * static_cast<double>(count);
    weights.push_back(count == 0 ? 1.0f : static_cast<float>(static_cast<double>(nodes.size()) / product));
  }
  return weights;
}

}  // namespace blink
