#include "aggregator_server/estimate/degrees.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/privacy/own_pairs.h"

namespace blink {
namespace {

// The expected number of links among `trials` entries of which `ones` were received as 1, each flipped with probability
// p: (ones - trials p) / (1 - 2 p). With p = 1/2 the bits say nothing, and half the entries is as good as any answer.
double Debiased(double ones, double trials, const PrivacyParameters& parameters) {
  const double contrast = std::tanh(parameters.bit_log_odds() / 2);  // 1 - 2 p without cancellation
  if (!(contrast > 0)) return trials / 2;
  return (ones - trials * parameters.flip_probability()) / contrast;
}

int64_t RoundedDegree(double degree, uint32_t n) {
  return std::llround(std::clamp<double>(degree, -1.0, n));
}  // clipped to [1, n-2] later

// Ones received about each node of `silent`.
std::vector<uint64_t> ColumnSums(const ReportSet& reports, const BitRow& silent) {
  std::vector<uint64_t> sums(reports.node_count(), 0);
  reports.reported_nodes().ForEachOne(
      [&](NodeIndex i) { reports.ForEachOne(i, [&](NodeIndex j) { sums[j] += silent.Test(j) ? 1 : 0; }); });
  return sums;
}

// The pairs that nobody observed are like the others.
int64_t DegreeOfMirrored(const ReportSet& reports, NodeIndex i) {
  const ObservedPairs seen = CountObservedPairs(reports, i);
  if (seen.pairs == 0) return 0;
  const double links = Debiased(seen.ones, seen.pairs, reports.parameters());
  return RoundedDegree(links * (reports.node_count() - 1.0) / seen.pairs, reports.node_count());
}

}  // namespace

ObservedPairs CountObservedPairs(const ReportSet& mirrored, NodeIndex node) {
  const uint32_t n = mirrored.node_count(), own = OwnPairCount(node, n);
  ObservedPairs seen;
  seen.ones = mirrored.CountOnes(node);
  if (mirrored.report_count() == n) {
    seen.pairs = n - 1;
    return seen;
  }
  if (mirrored.reported(node)) {
    seen.pairs = own;
  } else {
    seen.ones -= own;  // of a silent node these stand for no observation
  }
  // Others report their pair with this node: below it those of its own parity, above it the others.
  constexpr uint64_t kEven = 0x5555555555555555;
  const uint64_t alike = node % 2 == 0 ? kEven : ~kEven, below = (uint64_t{1} << (node % 64)) - 1;
  const absl::Span<const uint64_t> reported = mirrored.reported_nodes().words();
  for (uint32_t w = 0; w < reported.size(); ++w) {
    const uint64_t lower = w < node / 64 ? ~uint64_t{0} : w > node / 64 ? 0 : below;
    const uint64_t itself = w == node / 64 ? below + 1 : 0;
    seen.pairs += std::popcount(reported[w] & ((alike & lower) | (~alike & ~lower)) & ~itself);
  }
  return seen;
}

DegreeEstimate EstimateDegrees(const ReportSet& reports) {
  const uint32_t n = reports.node_count();
  const double received = reports.report_count();
  const PrivacyParameters& parameters = reports.parameters();
  DegreeEstimate estimate;
  estimate.degrees.assign(n, 0);
  estimate.nodes_without_report = n - reports.report_count();
  BitRow silent(n);
  double sum = 0;
  for (NodeIndex i = 0; i < n; ++i) {
    if (!reports.reported(i)) silent.Set(i);
    if (reports.mirrored() && parameters.sends_bits() && !reports.noisy_degree(i).has_value()) {
      estimate.degrees[i] = DegreeOfMirrored(reports, i);
    } else if (!reports.reported(i)) {
      continue;
    } else if (reports.noisy_degree(i).has_value()) {
      estimate.degrees[i] = *reports.noisy_degree(i);
    } else {
      estimate.degrees[i] = RoundedDegree(Debiased(reports.CountOnes(i), n - 1.0, parameters), n);
    }
    if (reports.reported(i)) sum += static_cast<double>(std::clamp<int64_t>(estimate.degrees[i], 1, n - 2));
  }
  const bool done = reports.mirrored() && parameters.sends_bits();
  if (estimate.nodes_without_report == 0 || received == 0 || done) return estimate;
  if (!parameters.sends_bits()) {  // s = 1: nobody said anything about a silent node but how many links there are
    silent.ForEachOne([&](NodeIndex i) { estimate.degrees[i] = RoundedDegree(sum / received, n); });
    return estimate;
  }
  const std::vector<uint64_t> columns = ColumnSums(reports, silent);
  silent.ForEachOne([&](NodeIndex i) {
    const double links = Debiased(static_cast<double>(columns[i]), received, parameters);
    estimate.degrees[i] = RoundedDegree(links * (n - 1.0) / received, n);
  });
  return estimate;
}

}  // namespace blink
