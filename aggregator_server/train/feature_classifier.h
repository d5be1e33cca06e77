// The feature-only classifier: what the features alone say of every node's class. It sees no report and no link. Its
// output is ClassProbabilities (aggregator_server/profiles/class_probabilities.h).
//
// First stage: an MLP with 64 hidden units on NodeProfiles::scaled, cross-fitted.
//   - The seed deals the training nodes to 5 folds, without looking at their labels.
//   - Model k is trained on all folds but fold k, up to its lowest validation loss.
//   - A training node gets the logits of the model that was not trained on it. Other nodes get the mean of all five.
//   - One temperature follows, by the likelihood of the validation nodes' labels.
//   So a training node's open row does not change when its own label changes.
//
// Second stage, where the nearest nodes are given: a logistic regression (stacked.h) on log(open + 1e-3) of the first
// stage and on the classes of the nearest nodes (nearest_shares.h). It is cross-fitted on the same folds and has its
// own temperature. As a rule it is much better than the first stage.
//   - It is left out if training nodes x classes x columns (five times the classes) exceed 5 million, since it would
//     take minutes.
//   - A training node's label reaches its own row only at second hand, through what the models of the other folds
//     learnt about its neighbours.
//
// Where folds are given (folds.h), the validation nodes are in them and count as training nodes in all of this, and the
// nodes of fold k take their place for model k. The temperature follows by the likelihood of all nodes in folds.
//
// Without features, or with fewer than 5 training nodes, every node gets the smoothed frequencies
// (m_c + 1) / (m + classes) of the m training labels. A node's own label is counted among them on purpose. Left out, it
// would lower the frequency of the node's own class. A classifier on such rows would learn to read the label from that.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_FEATURE_CLASSIFIER_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_FEATURE_CLASSIFIER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/profiles/class_probabilities.h"
#include "aggregator_server/profiles/nearest.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "aggregator_server/train/folds.h"
#include "aggregator_server/train/nearest_shares.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

struct FeatureClassifierOptions {
  const NearestNodes* nearest = nullptr;  // for the second stage; null: no second stage
  const Folds* folds = nullptr;           // instead of its own, which leave the validation nodes to validate
  uint64_t seed = 1;
  int threads = 0;  // 0: all cores; the folds are trained side by side. The result does not depend on it
  std::function<void(double fraction)> progress;  // from any thread, one at a time
};

struct FeatureClassifier {
  ClassProbabilities probabilities;
  // The second stage's view of the nearest nodes, made from the first stage's `clamped`. No share of a node holds its
  // own label, not even through a neighbour. Width 0 without a second stage.
  NearestShares nearest;
  // The state dict: "fold<k>.lin1.weight" etc. of fold k = 1 .. 5, "nearest.fold<k>.weight" etc. of the second stage,
  // and "temperature" [1] of each stage. Without a network: "frequencies" [classes].
  std::vector<NamedValues> state;
  double temperature = 1;  // of the last stage
};

// On the CPU. INVALID_ARGUMENT: no training or validation node, or sizes that do not fit. RESOURCE_EXHAUSTED: out of
// memory.
absl::StatusOr<FeatureClassifier> FitFeatureClassifier(const NodeAttributes& attributes, const NodeProfiles& profiles,
                                                       const FeatureClassifierOptions& options);

// The classifier's open probabilities as a training result.
TrainResult ResultOfFeatureClassifier(const FeatureClassifier& model, const NodeAttributes& attributes,
                                      bool balance_classes);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_FEATURE_CLASSIFIER_H_
