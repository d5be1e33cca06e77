// What the tests of pairs see: how large a lie must be.
#ifndef BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_DETECTION_POWER_H_
#define BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_DETECTION_POWER_H_

#include <cstdint>
#include <optional>

#include "aggregator_server/plausibility/report_tests.h"

namespace blink {

// The probability that the test of unconfirmed claims flags a node that claims `links` links that it has not, or the
// test of omissions one that hides `links` links that it has (the same number: the two are mirror images), when all
// `witnesses` are honest and the liar draws its noise as it should. Exact: the count is Binomial(witnesses - links, r)
// + Binomial(links, (1-p)^2) against the threshold of Binomial(witnesses, r). The other tests can only add to it. 0
// without bits.
double DetectionProbability(const ReportTests& tests, uint32_t witnesses, uint32_t links);

// The smallest lie that is flagged with at least this probability when all n nodes report; nullopt: not even one about
// every node.
std::optional<uint32_t> SmallestLieSeen(const ReportTests& tests, double probability);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_DETECTION_POWER_H_
