// How far the prediction of a node depends on the features of another one. It is what LinkTeller measures (Wu, Long,
// Zhang and Li: "LinkTeller: Recovering Private Edges from Graph Neural Networks via Influence Analysis", S&P 2022):
// only along links does a graph neural network carry the features of one node to another.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_INFLUENCE_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_INFLUENCE_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

// By how much the features of a node are scaled up. The paper takes 1e-4; float32 would lose most of that.
inline constexpr double kInfluenceChange = 0.01;

// Row by row for `nodes`, [nodes, n]: the norm of what the logits of every node change by when the input of `node` is
// multiplied by 1 + kInfluenceChange, divided by kInfluenceChange. The input is what the first layer gets, after its
// rows were normalised, which would undo the change.
//
// `state` is that of a network that Train made of these weights, attributes and options. An MLP's values are zeros, but
// for each node's own. Time: an evaluation of the network a node. Memory: the result, and the input twice.
// INVALID_ARGUMENT: the model is no network, or a node is not below n. INTERNAL: `state` is of another network.
// Otherwise errors of Train. `progress` may be empty. Throws nothing.
absl::StatusOr<std::vector<float>> MeasureInfluence(const LinkWeights& weights, const NodeAttributes& attributes,
                                                    const TrainOptions& options, const std::vector<NamedValues>& state,
                                                    absl::Span<const NodeIndex> nodes,
                                                    const std::function<void(double)>& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_INFLUENCE_H_
