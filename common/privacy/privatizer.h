// LinkLDP (Algorithm 1): one adjacency list in, one private report out.
//
//   PrivacyParameters  ->  DrawNoise  ->  ApplyNoise(list)  ->  PrivateReport
//                          all randomness,   no randomness: an xor
//                          before the list   and an addition
//                          is read
//
// The noise is drawn before the list is read. So neither the time that the draw takes nor its failure can depend on the
// list. The time depends on the noise, and nobody who sees the report may see it (README.md, "Time and memory").
//
// Under Mechanism::kOneEnd noise and report are about the node's own pairs (own_pairs.h), and about nothing else: a
// report has no place for another entry.
//
// Under Mechanism::kGroupDegrees there is noise for each group, and the report is the number of entries in each.
#ifndef BLINK_COMMON_PRIVACY_PRIVATIZER_H_
#define BLINK_COMMON_PRIVACY_PRIVATIZER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/privacy/bit_row.h"
#include "common/privacy/node_groups.h"
#include "common/privacy/parameters.h"
#include "common/privacy/private_report.h"
#include "common/privacy/random_source.h"

namespace blink {

// The flips and the noise of the degrees of one report. They are drawn once, and never stored or sent.
struct ReportNoise {
  BitRow flips;  // of PrivateReport::bits
  std::optional<int64_t> degree_noise;
  std::vector<int64_t> group_noise;  // of PrivateReport::group_degrees
};

// Draws the noise of node `self`. Returns UNAVAILABLE when the random source fails; then there is no noise. Returns
// INVALID_ARGUMENT unless self < n.
absl::StatusOr<ReportNoise> DrawNoise(const PrivacyParameters& parameters, NodeIndex self, RandomSource& random);

// Applies the noise to the list of node `self`. `neighbours` are distinct, below n, without `self`, and in any order.
// `groups`: of kGroupDegrees alone, a partition of the n nodes into the groups that were asked about; all of it is
// looked at before the list is. Returns INVALID_ARGUMENT otherwise. Validate lists when they are loaded, so that this
// never happens in a round.
absl::StatusOr<PrivateReport> ApplyNoise(const PrivacyParameters& parameters, NodeIndex self, ReportNoise noise,
                                         absl::Span<const NodeIndex> neighbours, const NodeGroups* groups = nullptr);

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_PRIVATIZER_H_
