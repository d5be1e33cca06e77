// The labels that a training learns from, and the loss over them.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_SPLIT_TENSORS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_SPLIT_TENSORS_H_

#include <torch/torch.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "aggregator_server/train/labelled_nodes.h"
#include "common/graph/node_attributes.h"

namespace blink {

// Mean cross-entropy of the logits `rows` [m, classes] of nodes with these `labels` [m]. `weights` [classes], or
// undefined: 1 each.
inline torch::Tensor CrossEntropy(const torch::Tensor& rows, const torch::Tensor& labels,
                                  const torch::Tensor& weights) {
  torch::nn::functional::CrossEntropyFuncOptions options;
  if (weights.defined()) options.weight(weights);
  return torch::nn::functional::cross_entropy(rows, labels, options);
}

// The labelled nodes of one split on the device.
struct SplitTensors {
  torch::Tensor nodes;    // [m] int64
  torch::Tensor labels;   // [m] int64
  torch::Tensor weights;  // [classes], or undefined: 1 each

  SplitTensors(const NodeAttributes& attributes, Split split, torch::Tensor class_weights, torch::Device device)
      : weights(std::move(class_weights)) {
    const std::vector<int64_t> list = LabelledNodes(attributes, split);
    std::vector<int64_t> label_list;
    for (const int64_t node : list) label_list.push_back(attributes.labels[node]);
    nodes = torch::tensor(list, torch::kInt64).to(device);
    labels = torch::tensor(label_list, torch::kInt64).to(device);
  }
  // Mean cross-entropy of the logits `rows` [m, classes] of these nodes.
  torch::Tensor Loss(const torch::Tensor& rows) const { return CrossEntropy(rows, labels, weights); }
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_SPLIT_TENSORS_H_
