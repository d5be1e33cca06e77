// One pass over all pairs of nodes as bit operations on the reports and their transpose: the links of Hard, and the
// sums over all pairs. Memory: the reports, the links, and what received_rows.h, pair_masks.h and pair_counts.h state:
// tiles and tables of a fixed size a thread. Time: n^2 / 64 words, again for each block of pair_counts.h; every pair
// with ones; and K^2 exponentials.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIR_SCAN_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIR_SCAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "aggregator_server/estimate/beta/pair_counts.h"
#include "aggregator_server/estimate/posterior_quality.h"
#include "aggregator_server/reports/report_set.h"
#include "common/graph/csr_graph.h"

namespace blink {

struct PairScan {
  std::vector<std::pair<NodeIndex, NodeIndex>> links;  // Hard, ascending (i, j), i < j
  double expected_links = 0;                           // sum of P over unordered pairs
  uint64_t pairs_with_ones = 0;                        // unordered
  double error = 0;  // against a true graph: sum of |P - A| over unordered pairs; rounding: about 1e-16 of the sum of
                     // all 1 - P of links
  std::optional<PosteriorQuality> quality;  // against a true graph
  ExpectedQuality expected_quality;
};

// `truth` may be null. The result does not depend on the threads of `counts`, nor on its blocks. `progress` is called
// by the calling thread only.
PairScan ScanPairs(const ReportSet& reports, PairCounts& counts, const CsrGraph* truth,
                   const std::function<void(double)>& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_PAIR_SCAN_H_
