// The variant Soft: every P_ij as a weight, without n^2 numbers.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_SOFT_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_SOFT_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "aggregator_server/estimate/posterior.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/reports/report_set.h"

namespace blink {

// weight of a pair = background[class, class] + beyond[class, class, ones]
//
// A class of the weights is (class of the prior, reported or not), so that two classes say how many reports a pair has.
// The background is P without a one. What P is beyond it, only pairs with ones have. They are kept
//   as a list, 16 bytes a pair with ones, or
//   as packed bits, 16 words bytes a node (about n^2 / 4 in all),
// whichever takes less memory. That is a list up to about one pair in 32, from epsilon_list = 4.1 up, and always of
// reports as gaps; it is the faster one there as well. With s = 1 there is the background alone.
//
// `pairs_with_ones`: as from ScanPairs. `threads`: 0: all cores; the result does not depend on them. `progress` (may be
// empty) is called by the calling thread with the share that is done. Memory: the result and two tiles a thread. The
// tables take 12 bytes for each pair of classes, more than a gigabyte where noise has left 10,000 distinct degrees.
absl::StatusOr<LinkWeights> SoftWeights(const ReportSet& reports, const Posterior& posterior, uint64_t pairs_with_ones,
                                        int threads, const std::function<void(double fraction)>& progress);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_SOFT_H_
