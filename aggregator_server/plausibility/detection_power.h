// How large a lie must be for the tests of pairs to see it.
#ifndef BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_DETECTION_POWER_H_
#define BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_DETECTION_POWER_H_

#include <cstdint>
#include <optional>

#include "aggregator_server/plausibility/report_tests.h"

namespace blink {

// The probability that a liar is flagged which claims `links` links that it does not have (by the test of unconfirmed
// claims), or hides `links` links that it has (by the test of omissions). The two are mirror images and have the same
// probability. All `witnesses` are honest, and the liar draws its noise as it should. Exact: the count is
// Binomial(witnesses - links, r) + Binomial(links, (1-p)^2), compared with the threshold of Binomial(witnesses, r). The
// other tests can only add to it. 0 without bits.
double ComputeDetectionProbability(const ReportTests& tests, uint32_t witnesses, uint32_t links);

// The smallest lie that is flagged with at least this probability when all n nodes report; nullopt: not even one about
// every node.
std::optional<uint32_t> FindSmallestLieSeen(const ReportTests& tests, double probability);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_DETECTION_POWER_H_
