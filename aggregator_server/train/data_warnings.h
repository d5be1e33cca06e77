// Warnings for a person who is to judge the accuracies. No LibTorch type.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_DATA_WARNINGS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_DATA_WARNINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

// Sentences, each about what is wrong and what follows: classes that the training split lacks, labels that look like
// ids, features that say nothing or stand in for none, nodes without a link. `used`: from ResolveNodeFeatures.
std::vector<std::string> DataWarnings(const LinkWeights& weights, const NodeAttributes& attributes,
                                      const TrainOptions& options, NodeFeatures used);

// Where a model of several classes predicts the same one for every test node, or where there is none for every
// validation node: its accuracy is only the share of that class.
std::optional<std::string> OneClassWarning(const TrainResult& result, const NodeAttributes& attributes);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_DATA_WARNINGS_H_
