#include "aggregator_server/plausibility/detection_power.h"

#include "aggregator_server/plausibility/tails.h"

namespace blink {
namespace {

// The smallest count of Binomial(trials, rate) that is beyond the threshold; trials + 1: none.
int64_t FindCriticalCount(const ReportTests& tests, int64_t trials, double rate) {
  int64_t low = -1, high = trials + 1;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    const bool beyond = 2 * tails::BinomialAtLeast(middle, trials, rate) < tests.false_alarm_each();
    (beyond ? high : low) = middle;
  }
  return high;
}

}  // namespace

double ComputeDetectionProbability(const ReportTests& tests, uint32_t witnesses, uint32_t links) {
  if (!tests.parameters().sends_bits() || links > witnesses) return 0;
  const double p = tests.parameters().flip_probability(), rate = p * (1 - p);
  const int64_t critical = FindCriticalCount(tests, witnesses, rate);
  if (critical > witnesses) return 0;
  return tails::SumAtLeast(critical, links, (1 - p) * (1 - p), int64_t{witnesses} - links, rate);
}

std::optional<uint32_t> FindSmallestLieSeen(const ReportTests& tests, double probability) {
  const uint32_t others = tests.parameters().node_count() - 1;
  if (!(ComputeDetectionProbability(tests, others, others) >= probability)) return std::nullopt;
  uint32_t low = 0, high = others;  // one more lie never makes a larger count less likely
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (ComputeDetectionProbability(tests, others, middle) >= probability ? high : low) = middle;
  }
  return high;
}

}  // namespace blink
