// Two-layer networks. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_NETWORK_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_NETWORK_H_

#include <torch/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator_server/train/sparse_operator.h"
#include "aggregator_server/train/trainer.h"

namespace blink {

// Features as the first layer's input: sparse ones stay sparse, also in the gradient of the weights.
struct NetworkInput {
  std::shared_ptr<const SparseOperator> sparse;  // [n, features], or
  torch::Tensor dense;                           // [n, features]
  int64_t features = 0;
  std::shared_ptr<const SparseOperator> propagation;  // GCN: the normalised adjacency [n, n]; none for the MLP
};
NetworkInput MakeInput(const CsrGraph& graph, const FeatureMatrix& features, Model model, torch::Device device,
                       int threads);

// GCN: propagation (ReLU(propagation X W1 + b1)) W2 + b2 (the bias is added after the propagation, as PyG's GCNConv has it);
// the MLP is the same without propagation. The layers are apart because their dropout lies between them, and because the
// first one, which costs most, serves an epoch's evaluation and the next epoch's training.
class Network {
 public:
  // GCN: Glorot uniform weights, zero biases (GCNConv). MLP: torch.nn.Linear's default. Drawn on the CPU, so that they do not
  // depend on the device.
  Network(NetworkInput input, Model model, int64_t hidden, int64_t classes, torch::Generator& cpu_generator,
          torch::Device device);

  torch::Tensor FirstLayer() const;                            // [n, hidden], after ReLU
  torch::Tensor SecondLayer(const torch::Tensor& hidden) const;  // [n, hidden] -> logits [n, classes]

  std::vector<torch::Tensor> parameters() const { return {weight1_, bias1_, weight2_, bias2_}; }
  std::vector<torch::Tensor> CopyParameters() const;
  // Names and shapes as in PyTorch: conv1.lin.weight [hidden, features], conv1.bias, ... for GCN (PyG's GCNConv), lin1.weight, ... for the MLP.
  static std::vector<std::pair<std::string, torch::Tensor>> StateDict(Model model, const std::vector<torch::Tensor>& parameters);

 private:
  NetworkInput input_;
  torch::Tensor weight1_, bias1_;  // [features, hidden], [hidden]: transposed to PyTorch's, so that a sparse row meets whole rows
  torch::Tensor weight2_, bias2_;  // [hidden, classes], [classes]
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_NETWORK_H_
