// Counts for every node where two reports about one pair differ: one pass over the packed bits and their transpose.
#ifndef BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_PAIR_DISAGREEMENTS_H_
#define BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_PAIR_DISAGREEMENTS_H_

#include <cstdint>
#include <vector>

#include "aggregator_server/reports/report_set.h"

namespace blink {

struct PairDisagreements {
  std::vector<uint32_t> unconfirmed;  // [n] witnesses j with a 1 from i about j and a 0 from j about i
  std::vector<uint32_t> omitted;      // [n] witnesses j with a 0 from i about j and a 1 from j about i
};

// For every node that reported, over the pairs with a node of `witnesses`, which must have reported too; 0 for the
// others. With bits only, of a complete set. Time n^2 / 64 words, memory a tile of 512 columns a thread (64 n bytes).
// Of reports as gaps both are those of ForEachPairRow. The result does not depend on `threads` (0: all cores).
PairDisagreements CountDisagreements(const ReportSet& reports, const BitRow& witnesses, int threads);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_PAIR_DISAGREEMENTS_H_
