// The features of the nodes that the first layer gets: the given ones, the estimated degree, or one column a node.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_NODE_FEATURES_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_NODE_FEATURES_H_

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

// kAuto as what it stands for (training_choices.h).
NodeFeatures ResolveNodeFeatures(NodeFeatures asked, const NodeAttributes& attributes);

// What the first layer gets after NormalizeFeatures (which MakeInput applies), [n, width]:
//   given     the data set's
//   degree    of the row sum s of the weights, which is the estimated degree: column 0 is ln(1 + s) / ln(n), and column
//             1 + floor(log2(1 + s)) is 1; as many columns as the largest s needs
//   identity  row i has a 1 in column i; never stored as n^2 numbers
//   given and degree  NormalizeFeatures of the given ones, then those of the degree, so that neither drowns the other
// INVALID_ARGUMENT: given ones that do not exist, or span more than float32 holds; a degree for the MLP, which must not
// see links.
absl::StatusOr<FeatureMatrix> MakeNodeFeatures(const LinkWeights& weights, const NodeAttributes& attributes,
                                               NodeFeatures kind, Model model, int threads);

// The errors of MakeNodeFeatures for given ones, without the copy of them that it makes.
absl::Status CheckGivenFeatures(const NodeAttributes& attributes, Model model);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_NODE_FEATURES_H_
