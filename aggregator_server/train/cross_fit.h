// What of the feature-only classifier needs no LibTorch: everything but the networks of its first stage.
// feature_classifier.h describes the two stages.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_CROSS_FIT_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_CROSS_FIT_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "aggregator_server/train/feature_classifier.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

// The labels and the split for the model of a fold, 0 .. kFolds - 1, without features.
using AttributesOfFold = std::function<NodeAttributes(int fold)>;
// Trains the models of all folds on what is public of the nodes. Returns a result a fold, with logits and state.
using FirstStage = std::function<absl::StatusOr<std::vector<TrainResult>>(const AttributesOfFold& of_fold)>;

inline constexpr double kFirstStageShare = 0.5;  // of the time, roughly, where nearest nodes are given

// Both stages, with this first one. Errors as FitFeatureClassifier, and those of `first_stage`.
absl::StatusOr<FeatureClassifier> CrossFit(const NodeAttributes& attributes, const NodeProfiles& profiles,
                                           const FeatureClassifierOptions& options, const FirstStage& first_stage);

// FitFeatureClassifier where there is no LibTorch: its first stage is a logistic regression on NodeProfiles::latent
// (stacked.h) in place of a network. Where the nearest nodes are given, the second stage is the same. Deterministic on
// any number of threads.
absl::StatusOr<FeatureClassifier> FitLinearFeatureClassifier(const NodeAttributes& attributes,
                                                             const NodeProfiles& profiles,
                                                             const FeatureClassifierOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_CROSS_FIT_H_
