// One training on one device, from initial weights, or a checkpoint, to the best epoch. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_TRAINING_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_TRAINING_H_

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/device.h"
#include "aggregator_server/train/labelled_nodes.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

// `features` as from MakeNodeFeatures, or with options.features_as_they_are as they are meant to be; options.threads is
// at least 1. Throws what LibTorch throws. INVALID_ARGUMENT when no epoch has a finite validation loss.
absl::StatusOr<TrainResult> RunTraining(const LinkWeights& weights, const FeatureMatrix& features,
                                        const NodeAttributes& attributes, const TrainOptions& options,
                                        const TrainDevice& device);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_TRAINING_H_
