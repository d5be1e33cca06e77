// The variant Hybrid: the floor(||P||_1) largest P_ij, with P_ij as their weights.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_HYBRID_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_HYBRID_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "aggregator_server/estimate/beta/pair_counts.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/reports/report_set.h"

namespace blink {

// Takes HybridLinkCount(expected_links) pairs (hybrid_cut.h). P takes few values, and the pairs of each can be counted,
// so the value at the cut is exact (value_cut.h). The pairs above it are taken, and of those at it the ones with the
// smallest TieHash(tie_seed, i, j).
//
// Memory: the result, the pairs near the cut's hash (about as many as are taken from it, whatever the size of the tie),
// and what pair_masks.h, pair_counts.h and value_cut.h state. Time: a pass over the bits, or two; more where the
// classes are thousands; with a tie of most pairs (s = 1) a hash for each of them. The result does not depend on the
// threads. `progress` (may be empty) is called by the calling thread with the share that is done.
absl::StatusOr<LinkWeights> HybridWeights(const ReportSet& reports, PairCounts& counts, double expected_links,
                                          uint64_t tie_seed, const std::function<void(double fraction)>& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_HYBRID_H_
