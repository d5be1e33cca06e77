// The degree of every node, as its reports show it without any model of the graph.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_DEGREES_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_DEGREES_H_

#include <cstdint>
#include <vector>

#include "aggregator_server/reports/report_set.h"

namespace blink {

// Where the degree of a node comes from:
//   it reported a noisy degree      that one
//   it reported bits alone (s = 0)  the debiased sum of its row
//   it never reported               the debiased sum of its column over those who did, scaled to n - 1
// Of a mirrored set (ReportSet::Mirror) the noisy degree is twice that of the own pairs, and all other nodes have the
// debiased sum of the pairs that were observed, scaled to n - 1. Rounded, but not clipped to [1, n - 2].
struct DegreeEstimate {
  std::vector<int64_t> degrees;  // [n]
  uint32_t nodes_without_report = 0;
};
DegreeEstimate EstimateDegrees(const ReportSet& reports);

// Of a node in a mirrored set: the pairs that their own end has reported, and how many of them as 1. With bits only.
struct ObservedPairs {
  uint32_t pairs = 0, ones = 0;
};
ObservedPairs CountObservedPairs(const ReportSet& mirrored, NodeIndex node);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_DEGREES_H_
