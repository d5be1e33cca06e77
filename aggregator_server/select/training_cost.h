// What a training or an estimate costs in time and memory, before it begins. The figures are counted from sizes and
// never measured, so that what is tried or refused depends on neither the machine nor its threads.
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_TRAINING_COST_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_TRAINING_COST_H_

#include <cstdint>
#include <string>

#include "aggregator_server/select/candidate.h"

namespace blink {

// The sizes that a cost depends on.
struct ProblemSize {
  uint32_t nodes = 0;
  uint64_t feature_values = 0;      // stored ones
  uint64_t scaled_values = 0;       // stored ones of the scaled features, for networks on links of the attributed prior
  bool features_are_dense = false;  // every entry is stored, and no columns beside them
  uint32_t classes = 0;
  uint32_t labelled_train = 0, labelled_validation = 0;
  double flip_probability = 0;  // of the reports, which decides how many pairs have a one; 0 without bits
  double links = 0;             // expected
  // Of the attributed posterior that models are trained on: expected links, and pairs that Soft keeps.
  double attributed_links = 0, attributed_kept = 0;
};

// Whether few nodes have a label, so that one validation split picks by luck: the standard error of an accuracy of one
// half exceeds kChoiceErrorMax, which is so below 278 validation nodes. Not of a larger graph than kFewLabelsNodesMax,
// where training a candidate on every fold would take long, nor where there are too few labels for folds.
inline constexpr double kChoiceErrorMax = 0.03;
inline constexpr uint32_t kFewLabelsNodesMax = 3'000;
bool HasFewLabels(const ProblemSize& size);

// Seconds of one nominal core that a training takes, roughly.
double NominalSeconds(const Candidate& candidate, const ProblemSize& size);

// Seconds of one nominal core that the attributed estimate takes: both posteriors, with at most two network rounds.
// Grows as n^2 * (latent columns + dense columns). `dense_columns`: columns of features that are not sparse.
double AttributedNominalSeconds(uint32_t nodes, uint32_t dense_columns, uint32_t classes);

// Upper estimate of the bytes that a training takes beside what all trainings share (the links and the attributes): its
// copies of the features, its own form of the links, and the layers with their gradients; with batches those of one
// batch, and what the evaluation of all nodes holds.
double TrainingBytes(const Candidate& candidate, const ProblemSize& size);

// A longer training is not done unless the operator insists. A search leaves such a pair out unless the spec names both
// its model and its variant. Attention over all pairs (GAT on Soft) needs allow_slow_attention even when it is named,
// because it alone grows as n^2 whatever the reports say.
inline constexpr double kNominalSecondsMax = 3600;
// In a search under the attributed prior, a pair of the beta prior that takes longer is left out, unless the spec names
// its model and its variant.
inline constexpr double kBesideSecondsMax = 120;

// Whether the candidate computes attention for all n^2 pairs of nodes.
bool AttendsAllPairs(const Candidate& candidate);

// For a message: how long the training would take, and what to do instead.
std::string ExplainCost(const Candidate& candidate, const ProblemSize& size);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_TRAINING_COST_H_
