// The feature-only classifier: what the features alone say of every node's class
// (aggregator_server/profiles/class_probabilities.h), by an MLP of 64 hidden units on the scaled features of
// NodeProfiles, cross-fitted:
//
//   the training nodes are dealt to 5 folds by the seed, never by their labels; model k is trained on all folds but k,
//   to its best validation loss. A training node has the logits of the model that was not trained on it; any other the
//   mean of all five. One temperature, by the likelihood of the validation nodes' labels.
//
// So a training node's open row does not change when its own label does.
//
// Where the nearest nodes are given, a second stage follows, as a rule much the better one: a logistic regression
// (stacked.h) on log(open + 1e-3) of the first and on the classes of the nearest nodes (nearest_shares.h), cross-fitted
// on the same folds, with a temperature of its own. It is left out where training nodes times classes times its columns
// (five times the classes) are more than 5 million: it would take minutes. A training node's own label reaches its row
// there only at second hand, by what the models of the other folds learnt about its neighbours.
//
// Without features, or with fewer than 5 training nodes: every node has the smoothed frequencies (m_c + 1) / (m +
// classes) of the m training labels. They are not taken without the node's own label: that would lower the frequency of
// its own class, which is all that tells one training row from another, and a classifier on such rows would learn to
// read it.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_FEATURE_CLASSIFIER_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_FEATURE_CLASSIFIER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/profiles/class_probabilities.h"
#include "aggregator_server/profiles/nearest.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "aggregator_server/train/nearest_shares.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

struct FeatureClassifierOptions {
  const NearestNodes* nearest = nullptr;  // for the second stage; null: without
  uint64_t seed = 1;
  int threads = 0;  // 0: all cores; the folds are trained side by side. The result does not depend on it
  std::function<void(double fraction)> progress;  // from any thread, one at a time
};

struct FeatureClassifier {
  ClassProbabilities probabilities;
  // What the second stage took of the nearest nodes, by the first stage's `clamped`: a node's own label is in none of
  // its shares, not even by way of a neighbour's. Width 0 without a second stage.
  NearestShares nearest;
  // Of fold k = 1 .. 5 "fold<k>.lin1.weight" and so on, of the second stage "nearest.fold<k>.weight" and so on, and of
  // both "temperature" [1]: the state dict of what is no one network. Without a network "frequencies" [classes].
  std::vector<NamedValues> state;
  double temperature = 1;  // of the last stage
};

// On the CPU. INVALID_ARGUMENT: no training or validation node, or sizes that do not fit. RESOURCE_EXHAUSTED: out of
// memory.
absl::StatusOr<FeatureClassifier> FitFeatureClassifier(const NodeAttributes& attributes, const NodeProfiles& profiles,
                                                       const FeatureClassifierOptions& options);

// The feature-only classifier as a classifier: its open probabilities.
TrainResult ResultOfFeatureClassifier(const FeatureClassifier& model, const NodeAttributes& attributes,
                                      bool balance_classes);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_FEATURE_CLASSIFIER_H_
