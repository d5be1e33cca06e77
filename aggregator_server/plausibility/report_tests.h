// What a single report says about itself: whether an honest node can have sent so many ones, and so many ones with this
// noisy degree.
//
// Let N bits be flipped with probability p <= 1/2 each, let c = 1 - 2 p, and let d be the length of the node's
// list. The number of ones is K = Binomial(d, 1 - p) + Binomial(N - d, p) (Algorithm 1, LinkLDP), with E K = N p + c d.
// The noisy degree is d~ = d + Y, where Y is discrete Laplace.
//
//   ones    K grows stochastically with d. So for every list, Pr[K <= k] <= Pr[Binomial(N, p) <= k] (d = 0). With at
//           most D links, Pr[K >= k] <= Pr[Binomial(D, 1 - p) + Binomial(N - D, p) >= k]. D = N, unless the operator
//           gives a bound. Sees: a list sent without noise (too few ones, where N p is not small), only zeros, only
//           ones.
//   degree  T = (K - N p) - c d~ = (K - E K) - c Y has mean 0 whatever d is. tails.h bounds its tails for every d.
//           Sees: a degree that does not fit the bits. Without bits (s = 1), or with bits that say next to nothing, d~
//           alone is compared with 0 .. D: Pr[Y >= d~ - D], Pr[Y <= d~].
//
// Both give z-scores. Their |z| exceeds a value at most as often as that of a normal variable does. Both are compared
// with one threshold: two-sided, with Bonferroni's correction over the n nodes and kTestFamilies (these two, the two of
// pairs, and the global one; plausibility.h). A round in which everybody is honest therefore raises any flag with
// probability at most `false_alarm`.
//
// N = n - 1. Under Mechanism::kOneEnd it is the number of the node's own pairs, and the list is that of the links among
// them. N is the same for all even nodes, and for all odd ones.
//
// All of it is computed from what the report says anyway. That is post-processing, which costs no privacy.
#ifndef BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_REPORT_TESTS_H_
#define BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_REPORT_TESTS_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/statusor.h"
#include "aggregator_server/plausibility/tails.h"
#include "common/privacy/parameters.h"

namespace blink {

inline constexpr double kFalseAlarm = 1e-3;  // of a round
inline constexpr int kTestFamilies = 5;

struct TestOptions {
  double false_alarm = kFalseAlarm;  // (0, 0.5]
  uint32_t degree_max = 0;           // no list is longer; 0: no bound. A node with a longer list can be flagged
};

// The two tests as intervals, for the border: a few numbers a round, so that no tail is computed for a report.
class ReportScreen {
 public:
  // Whether one of the two scores is beyond the threshold. The time does not depend on the answer. Without bits `ones`
  // is ignored.
  bool IsImplausible(uint32_t ones, const std::optional<int64_t>& noisy_degree) const {
    const double ones_seen = ones, degree = noisy_degree.has_value() ? static_cast<double>(*noisy_degree) : 0;
    const double value = ones_weight_ * ones_seen - degree_weight_ * degree;
    return (ones_seen < ones_min_) | (ones_seen > ones_max_) | (value < value_min_) | (value > value_max_);
  }

 private:
  friend class ReportTests;
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double ones_min_ = -kInfinity, ones_max_ = kInfinity;
  double ones_weight_ = 0, degree_weight_ = 0;  // T + N p = K - c d~, or -d~ alone
  double value_min_ = -kInfinity, value_max_ = kInfinity;
};

class ReportTests {
 public:
  // Of the reports of `node`, and of all nodes with which it shares N. INVALID_ARGUMENT naming the option and its
  // range: false_alarm; degree_max above n - 1.
  static absl::StatusOr<ReportTests> Create(const PrivacyParameters& parameters, const TestOptions& options,
                                            NodeIndex node = 0);

  const PrivacyParameters& parameters() const { return parameters_; }
  double threshold_z() const { return threshold_z_; }
  double false_alarm_each() const { return false_alarm_each_; }  // of one node and one test, both sides together

  // > 0: too many ones, < 0: too few. Only with bits.
  double ScoreOnes(uint32_t ones) const;
  // > 0: more ones than the degree explains. < 0: fewer, or a degree out of every range. Only with a degree. `ones` is
  // ignored without bits.
  double ScoreDegree(uint32_t ones, int64_t noisy_degree) const;

  // Finds the intervals: some milliseconds.
  ReportScreen MakeScreen() const;

 private:
  ReportTests(const PrivacyParameters& parameters, const TestOptions& options, NodeIndex node);
  // k - N p - c d~, or, when d~ is compared with its range alone, nothing.
  std::optional<double> Residual(uint32_t ones, int64_t noisy_degree) const;

  PrivacyParameters parameters_;
  int64_t others_;      // N
  int64_t degree_max_;  // D
  double p_, contrast_, false_alarm_each_, threshold_z_;
  std::optional<tails::DegreeTail> degree_tail_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_REPORT_TESTS_H_
