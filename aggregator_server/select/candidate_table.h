// The pairs and the settings that a search may try, each in the order in which it tries them. experiments/choices.md
// says how the order was found.
#ifndef BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATE_TABLE_H_
#define BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATE_TABLE_H_

#include "absl/types/span.h"
#include "common/wire/training_choices.h"

namespace blink {

struct CandidatePair {
  Prior prior;
  Model model;
  Variant variant;
};

// Of a search under `prior`. Under the attributed prior the pairs of the beta prior are in the list too, so that the
// choice is never much worse than a search under the beta prior alone.
absl::Span<const CandidatePair> CandidatePairs(Prior prior);

struct CandidateSetting {
  double learning_rate, weight_decay, dropout;
  int hidden = 0;  // 0: as the spec says
  friend bool operator==(const CandidateSetting&, const CandidateSetting&) = default;
};

// For the pairs of `prior`, the most promising first. `few_labels`: on folds of the few nodes that have a label.
absl::Span<const CandidateSetting> CandidateSettings(Prior prior, bool few_labels);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SELECT_CANDIDATE_TABLE_H_
