// The networks: GCN, GraphSAGE, GAT and the MLP, of any depth. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_NETWORK_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_NETWORK_H_

#include <torch/types.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "aggregator_server/train/graph_operator.h"
#include "aggregator_server/train/sparse_operator.h"
#include "aggregator_server/train/trainer.h"

namespace blink {

// What a layer gets. The first: features as PyG's NormalizeFeatures has them, or as they are, and the links.
struct NetworkInput {
  // [n, width]: either sparse features, which stay sparse, also in the gradient, or dense ones.
  std::shared_ptr<const SparseOperator> sparse;
  torch::Tensor dense;
  // Propagation * dense (GCN, GraphSAGE). By linearity P (X W) = (P X) W: with dense features the first layer then
  // costs no propagation at all in an epoch.
  torch::Tensor propagated;
  int64_t features = 0;
  std::shared_ptr<const GraphOperator> links;  // none for the MLP
  Propagation propagation;                     // of GCN and GraphSAGE
};

// `weights` is not copied on a CPU: it must outlive the input and all networks made of it. `normalize`:
// NormalizeFeatures is applied.
NetworkInput MakeInput(const LinkWeights& weights, const FeatureMatrix& features, Model model, torch::Device device,
                       int threads, OperatorPath path = OperatorPath::kAuto, bool normalize = true);

// Features alone, as they are. `for_gradient`: false where nothing is differentiated.
NetworkInput FeatureInput(FeatureMatrix features, torch::Device device, int threads, bool for_gradient);

// The links of one layer on a sample (neighbour_sampler.h).
struct SampledLinks {
  std::shared_ptr<const GraphOperator> links;
  Propagation propagation;
  int64_t rows = 0;  // of the layer's result that the next layer needs
};

struct NetworkShape {
  Model model = Model::kGcn;
  int layers = 2;       // 1 or more
  int64_t hidden = 16;  // width of every layer but the last
  int64_t classes = 0;  // width of the last
};

// With W the weights of the links, s_i its row sums, and x a layer's input, transformed first wherever that makes the
// propagated matrix narrower:
//
//   MLP        x W + b
//   GCN        D^-1/2 (W + I) D^-1/2 (x Theta) + b, D = max(s + 1, 1)
//              PyG's GCNConv with edge weights
//   GraphSAGE  W_root x + W_nbr (W x / max(s, 1)) + b
//              unweighted: PyG's SAGEConv with the mean
//   GAT        sum_j W_ij a_ij h_j + b, h = x Theta, self-loops of weight 1,
//              a_ij = W_ij exp(LeakyReLU_0.2(att_src h_j + att_dst h_i)) / sum over j of the same
//              unweighted: PyG's GATConv with one head
//
// Between the layers ReLU, then the caller's dropout. The first layer is apart because it costs most and no dropout
// precedes it: at the same weights it serves an epoch's evaluation and the next epoch's training.
//
//   torch::Tensor first = network.First();
//   for (each epoch) {
//     loss(network.Rest(first, dropout)).backward();  step();
//     first = network.First();
//     evaluate(network.Rest(first));
//   }
class Network {
 public:
  using Dropout = std::function<torch::Tensor(const torch::Tensor&)>;

  // Initial weights as PyG draws them (Glorot uniform for GCN and GAT with zero biases; torch.nn.Linear's for GraphSAGE
  // and the MLP), on the CPU, so that they do not depend on the device.
  Network(NetworkInput input, const NetworkShape& shape, torch::Generator& cpu_generator, torch::Device device);

  // [n, hidden] after ReLU; of a network of one layer the logits.
  torch::Tensor First() const;
  // The later layers on the output of First(): logits [n, classes]. `dropout` is applied before each; none: an
  // evaluation.
  torch::Tensor Rest(const torch::Tensor& first, const Dropout& dropout = nullptr) const;

  // Logits [batch, classes] on a sample: `features` of its nodes, and the links layer by layer.
  torch::Tensor OnSample(const NetworkInput& features, const std::vector<SampledLinks>& layers,
                         const Dropout& dropout) const;

  // A layer in two halves, without ReLU, for an evaluation in blocks of rows: first what can be said of each row alone,
  // and then what the links make of it, and of those of its neighbours.
  struct Transformed {
    torch::Tensor for_others;  // [rows, width] times W, W_nbr of GraphSAGE, Theta
    torch::Tensor own;         // GraphSAGE's: times W_root, of the first rows at least
  };
  Transformed TransformOf(int layer, const NetworkInput& in) const;
  torch::Tensor Combine(int layer, const NetworkInput& in, const Transformed& rows) const;

  const NetworkShape& shape() const { return shape_; }
  // Leaves that want gradients, layer by layer.
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }
  std::vector<torch::Tensor> CopyParameters() const;
  // Overwrites the values; `values` as from CopyParameters() of a network of the same shape, or it throws c10::Error.
  void LoadParameters(const std::vector<torch::Tensor>& values);
  // `values` (as from CopyParameters) under PyG's names and shapes: conv1.lin.weight [out, in], conv1.bias (GCN);
  // conv1.lin_l.weight, conv1.lin_l.bias (neighbours), conv1.lin_r.weight (GraphSAGE); conv1.lin.weight, conv1.att_src
  // [1, 1, out], conv1.att_dst, conv1.bias (GAT); torch.nn.Linear's lin1.weight, lin1.bias (MLP). On the CPU.
  std::vector<std::pair<std::string, torch::Tensor>> StateDict(const std::vector<torch::Tensor>& values) const;

 private:
  torch::Tensor Layer(int layer, const NetworkInput& in) const;  // without ReLU
  static torch::Tensor Transform(const NetworkInput& in, const torch::Tensor& weight);
  const torch::Tensor& Parameter(int layer, int index) const;

  NetworkInput input_;
  NetworkShape shape_;
  // Weights are stored [in, out], the transpose of PyTorch's, so that a sparse row of features meets whole rows of
  // them.
  std::vector<torch::Tensor> parameters_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_NETWORK_H_
