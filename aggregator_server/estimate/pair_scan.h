// One pass over all pairs of nodes as bit operations on the reports and their transpose: the links of Hard, and how
// many pairs there are of each (class, class, evidence). Memory: the reports, bit masks (pair_masks.h), a tile a thread
// (pair_rows.h), and 24 K^2 bytes of counts a thread.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_PAIR_SCAN_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_PAIR_SCAN_H_

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "aggregator_server/estimate/pair_rows.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/reports/report_set.h"
#include "common/graph/csr_graph.h"

namespace blink {

struct PairScan {
  std::vector<std::pair<NodeIndex, NodeIndex>> links;  // Hard, ascending (i, j), i < j
  uint32_t class_count = 0;
  std::vector<uint64_t> counts;  // [K, K, 6] unordered pairs; of two classes the smaller comes first

  uint64_t Count(uint32_t a, uint32_t b, Evidence evidence) const {  // a <= b
    return counts[(static_cast<size_t>(a) * class_count + b) * kEvidences + evidence.Index()];
  }
};

// The result does not depend on `threads` (0: all cores). `progress` is called by the calling thread only.
PairScan ScanPairs(const ReportSet& reports, const Posterior& posterior, int threads,
                   const std::function<void(double)>& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_PAIR_SCAN_H_
