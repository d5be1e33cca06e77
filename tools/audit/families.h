// The parts of an audit's findings: families of tests, and bounds. All of them share one probability of a false alarm.
#ifndef BLINK_TOOLS_AUDIT_FAMILIES_H_
#define BLINK_TOOLS_AUDIT_FAMILIES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "tools/audit/mechanism.h"

namespace blink {

inline constexpr double kFamilyAlpha = kFalseAlarmMax / kAuditFamiliesMax;

// The tests of one claim. Each test is on a count that is binomial if the claim is true, and two-sided unless it says
// otherwise. A family remembers the smallest p. By the union bound the claim is violated when that is below
// kFamilyAlpha / (number of tests).
class Family {
 public:
  explicit Family(std::string claim) { check_.claim = std::move(claim); }

  // Tests `count` of `trials` that have probability `p` each. Counts as `tests` tests, of which the others were not
  // worth looking at.
  void Add(uint64_t count, uint64_t trials, double p, const std::string& name, uint64_t tests = 1);
  // The same for a count that is at most binomial, stochastically: `p_max` bounds the probability of a trial.
  void AddAtMost(uint64_t count, uint64_t trials, double p_max, const std::string& name);
  // Tests each counts[i] of `trials` for which use(i) holds, all with the same p. Only the extremes are computed, since
  // they have the smallest p.
  void AddAlike(const std::vector<uint64_t>& counts, uint64_t trials, double p, const std::function<bool(size_t)>& use,
                const std::function<std::string(size_t)>& name);
  // The claim is violated whatever the tests say: `worst` is the reason.
  void Fail(const std::string& worst);
  AuditCheck Finish();

 private:
  void Remember(double p_value, uint64_t count, uint64_t trials, double p, const std::string& name);

  AuditCheck check_;
  double deviations_ = 0;  // of check_.worst
};

// The pairs of bits with the least and the largest count. Of many tests with the same probability these two have the
// smallest p.
class PairExtremes {
 public:
  void Add(size_t i, size_t j, uint64_t count) {
    ++tests_;
    if (tests_ == 1 || count < least_.count) least_ = {i, j, count};
    if (tests_ == 1 || count > most_.count) most_ = {i, j, count};
  }
  // Adds both to `family`. `format` names a pair.
  void AddTo(Family& family, uint64_t trials, double p, const absl::FormatSpec<size_t, size_t>& format) const;

 private:
  struct Pair {
    size_t i = 0, j = 0;
    uint64_t count = 0;
  };
  uint64_t tests_ = 0;
  Pair least_, most_;
};

// What counts of events under two neighbouring lists prove about epsilon: the largest
// ln(Pr[event | one] / Pr[event | other]), in both directions, by the limits of Clopper and Pearson. All limits are
// right at once with probability 1 - kFamilyAlpha.
class RatioBound {
 public:
  explicit RatioBound(uint64_t events)
      : alpha_(kFamilyAlpha / static_cast<double>(4 * events)) {}  // 2 directions, 2 limits

  void Add(uint64_t count_a, uint64_t trials_a, uint64_t count_b, uint64_t trials_b) {
    AddDirection(count_a, trials_a, count_b, trials_b);
    AddDirection(count_b, trials_b, count_a, trials_a);
  }
  double lower() const { return lower_; }

 private:
  void AddDirection(uint64_t count, uint64_t trials, uint64_t count_below, uint64_t trials_below);

  const double alpha_;
  double lower_ = 0;
};

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_FAMILIES_H_
