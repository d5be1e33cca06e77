// The labelled nodes of a split, and what they weigh. Internal to this folder; no LibTorch type.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_LABELLED_NODES_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_LABELLED_NODES_H_

#include <cstdint>
#include <vector>

#include "common/graph/node_attributes.h"

namespace blink {

// Labelled nodes of a split, ascending.
std::vector<int64_t> LabelledNodes(const NodeAttributes& attributes, Split split);

// [classes] m / (present * m_c) of the m labelled nodes of the training split, m_c of the class, `present` classes
// being there; 1 for a class that is not. Their mean over the training nodes is 1.
std::vector<float> BalancedClassWeights(const NodeAttributes& attributes);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_LABELLED_NODES_H_
