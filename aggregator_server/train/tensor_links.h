// The links by LibTorch's operations alone: what runs on a GPU, and on a CPU in tests. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_TENSOR_LINKS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_TENSOR_LINKS_H_

#include <memory>

#include "aggregator_server/train/graph_operator.h"

namespace blink {

// Links: products by LibTorch's CSR matrices, attention by operations on lists of the links' size. Weights with a
// background: products by sums over the classes and a sparse correction, or, where the ones are packed bits, by row
// blocks that are decoded to dense tiles of at most 64 MB; attention by such tiles. Copies `weights` to the device.
std::shared_ptr<const GraphOperator> MakeTensorLinks(const LinkWeights& weights, torch::Device device);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_TENSOR_LINKS_H_
