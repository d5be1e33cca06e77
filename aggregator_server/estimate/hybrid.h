// The variant Hybrid: the floor(||P||_1) largest P_ij, with P_ij as their weights.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_HYBRID_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_HYBRID_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "aggregator_server/estimate/pair_scan.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/reports/report_set.h"

namespace blink {

// ||P||_1 counts both directions, which are chosen together: floor(floor(2 * expected_links) / 2) pairs.
//
// P takes few values, and the scan has counted the pairs of each: so the value at the cut is exact. The pairs above it
// are taken, and of those at it the ones with the smallest TieHash(tie_seed, i, j), which nobody who reports can choose
// before the round has its seed. Memory: the result, the pairs near the cut's hash (about as many as are taken from it,
// whatever the size of the tie), and 16 bytes per (class, class, evidence) that occurs. Time: a pass over the bits, or
// two; with a tie of most pairs (s = 1) a hash for each of them. `threads`: 0: all cores; the result does not depend on
// them.
absl::StatusOr<LinkWeights> HybridWeights(const ReportSet& reports, const Posterior& posterior, const PairScan& scan,
                                          double expected_links, uint64_t tie_seed, int threads);

// 64 well-mixed bits of the pair, i < j.
uint64_t TieHash(uint64_t tie_seed, NodeIndex i, NodeIndex j);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_HYBRID_H_
