// Where the largest values of the posterior end: the quantile of a table that is never in memory as a whole.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_VALUE_CUT_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_VALUE_CUT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

#include "aggregator_server/estimate/beta/pair_counts.h"

namespace blink {

struct ValueCut {
  double log_odds = std::numeric_limits<double>::infinity();  // pairs above it are taken
  uint64_t pairs = 0;                                         // that have just this value
  uint64_t taken = 0;                                         // of them
};

// The value of the pair at place `wanted` (>= 1) when the pairs are sorted by falling log-odds; all pairs where there
// are not so many. It is exact: a histogram of 65,536 cells over the values finds the cell of the cut, and another one
// divides that cell. This goes on until a cell holds at most `values_max` entries of the table, which are then sorted.
// Memory of all threads together: a histogram of 1 MiB, up to 32 values_max bytes, and per thread 16 bytes an entry of
// one class. Time: a pass of `counts` for each histogram and one for the values, two in most cases. `progress` is
// called by the calling thread only.
ValueCut FindValueCut(PairCounts& counts, uint64_t wanted, const std::function<void(double fraction)>& progress,
                      size_t values_max = 1 << 20);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_VALUE_CUT_H_
