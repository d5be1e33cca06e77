// Trains one candidate: a network, or one of the attributed prior's models that is no network.
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_TRAIN_CANDIDATE_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_TRAIN_CANDIDATE_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/select/candidate.h"
#include "aggregator_server/train/feature_classifier.h"
#include "aggregator_server/train/folds.h"
#include "aggregator_server/train/stacked.h"
#include "aggregator_server/train/trainer.h"
#include "common/graph/node_attributes.h"

namespace blink {

// What the attributed prior adds to train on; all of it outlives the training.
struct AttributedSources {
  const FeatureClassifier* feature_classifier = nullptr;
  // The attributes with NodeProfiles::scaled for features, which networks on links of the attributed prior get as they
  // are, unless the specification asks for other features. Null: there are no features.
  const NodeAttributes* scaled = nullptr;
  StackedInput stacked;                      // of its posterior
  std::optional<StackedInput> beta_stacked;  // of the beta prior's Soft; absent: it was not estimated
};

struct TrainingSources {
  const NodeAttributes* attributes = nullptr;
  // The links that a candidate is trained on; of one that takes none any.
  std::function<const LinkWeights&(const Candidate& candidate)> weights_of;
  const AttributedSources* attributed = nullptr;  // null: only candidates of the beta prior
  const Folds* folds = nullptr;                   // for TrainOnFolds; its feature-only classifier is of the same folds
};

// Errors of Train, and of the models' fits. A network's result is complete; of the others `model_bytes` is still to be
// made of `state`. What `weights_of` throws it lets pass.
absl::StatusOr<TrainResult> TrainCandidate(const Candidate& candidate, const TrainingSources& sources);

// What a candidate has to come near, fold by fold, so that it is worth its time.
struct FoldRace {
  std::vector<float> leader;  // [n, classes] log-probabilities of the best candidate so far, of these folds
  double loss_weight = 0;     // of the score
};

// Trains the candidate once a fold, each time with another seed, and joins the results (JoinFolds). Its checkpoints are
// beside `options.checkpoint_file`, one a fold. A network's training ends early when it cannot come within NearScoreOf
// of the leader's score on its fold. CANCELLED: after some of the folds the candidate is further than that behind.
absl::StatusOr<TrainResult> TrainOnFolds(const Candidate& candidate, const TrainingSources& sources,
                                         const std::optional<FoldRace>& race);

// The mean of the probabilities of trained members: its logits are log-probabilities, its state dict has the members'
// tensors as "<name of the pair with underscores>.<name>". What is said of device and determinism holds for all
// members, of features for the first that has some. Throws std::bad_alloc.
TrainResult EnsembleResult(const std::vector<const Candidate*>& candidates,
                           const std::vector<const TrainResult*>& members, const TrainingSources& sources);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_TRAIN_CANDIDATE_H_
