// The two ways to go through an epoch: on all nodes and links at once, or on samples of them. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_PASSES_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_PASSES_H_

#include <torch/torch.h>

#include <memory>

#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/graph_operator.h"
#include "aggregator_server/train/network.h"
#include "aggregator_server/train/split_tensors.h"
#include "aggregator_server/train/train_options.h"
#include "common/graph/node_attributes.h"

namespace blink {

class EpochPass {
 public:
  virtual ~EpochPass() = default;
  // Takes the steps of epoch `epoch` (from 1). Returns the mean loss of the training nodes, on the device, each at the
  // weights that its step began with.
  virtual torch::Tensor TrainEpoch(int epoch) = 0;
  // [n, classes] logits at the weights of now, by all nodes and links, without dropout.
  virtual torch::Tensor Logits() = 0;
};

// What both train; all of it outlives the pass.
struct Trained {
  Network& network;
  torch::optim::Optimizer& optimizer;
  const SplitTensors& train;
  Network::Dropout dropout;
};

// One step an epoch. The network has the input.
std::unique_ptr<EpochPass> MakeFullPass(Trained trained);

// A step a batch (TrainOptions::batch_nodes). The network needs no input: the device holds one batch at a time, and the
// parameters. The logits are exact. They are made layer by layer in blocks of rows, and are on the CPU: beside the
// links and the features, that holds two matrices [n, width of a layer] there, three of GraphSAGE.
struct SampledData {
  const LinkWeights& weights;  // without a background
  const FeatureMatrix& features;
  const NodeAttributes& attributes;
  const TrainOptions& options;
  torch::Device device;
  OperatorPath path = OperatorPath::kAuto;
  uint32_t block_rows = 1 << 16;  // of the evaluation, at most
};
std::unique_ptr<EpochPass> MakeSampledPass(Trained trained, const SampledData& data);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_PASSES_H_
