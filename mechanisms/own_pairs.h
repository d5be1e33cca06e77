// Which end of a pair reports it, where each pair is reported once, and the report of that end.
//
// The rule is public and fixed. An entry of a list is then read by the mechanism in one list alone: a link costs
// epsilon, not 2 epsilon.
#ifndef BLINK_MECHANISMS_OWN_PAIRS_H_
#define BLINK_MECHANISMS_OWN_PAIRS_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/privacy/parameters.h"
#include "common/privacy/private_report.h"
#include "common/privacy/random_source.h"

namespace blink {

enum class PairRule {
  kLarger,  // the end with the larger index: the lower triangle. Node i has i pairs
  kParity   // i + j even: the smaller end; odd: the larger one. Every node has n/2 pairs, but for one at most
};

// Whether the pair (self, other) is one of `self`. Requires self != other.
inline bool Owns(PairRule rule, NodeIndex self, NodeIndex other) {
  const bool larger = self > other;
  return (rule == PairRule::kLarger || (self + other) % 2 == 1) ? larger : !larger;
}

// [n] the other ends of the pairs of `self`.
BitRow OwnPairs(PairRule rule, NodeIndex self, uint32_t node_count);

// LinkLDP (common/privacy/privatizer.h) on the list of `self` without the pairs that are not its own: the bits of other
// pairs are 0 and say nothing, and the degree counts own links alone. Errors of DrawNoise and ApplyNoise.
absl::StatusOr<PrivateReport> ReportOwnPairs(const PrivacyParameters& parameters, PairRule rule, NodeIndex self,
                                             absl::Span<const NodeIndex> neighbours, RandomSource& random);

}  // namespace blink

#endif  // BLINK_MECHANISMS_OWN_PAIRS_H_
