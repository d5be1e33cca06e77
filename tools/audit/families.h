// Tests and bounds that share a probability of a false alarm: what an audit's findings are made of.
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

// The tests of one claim: each is two-sided, of a count that is binomial if the claim is true. Remembers the smallest
// p; the claim is violated when that is below kFamilyAlpha / (number of tests), by the union bound.
class Family {
 public:
  explicit Family(std::string claim) { check_.claim = std::move(claim); }

  // `count` of `trials` where each has probability `p`, as one of `tests` tests, of which this one is worth looking at.
  void Add(uint64_t count, uint64_t trials, double p, const std::string& name, uint64_t tests = 1);
  // counts[i] of `trials`, all with the same p: a test each. The extremes have the smallest p, so that only they are
  // computed.
  void AddAlike(const std::vector<uint64_t>& counts, uint64_t trials, double p, const std::function<bool(size_t)>& use,
                const std::function<std::string(size_t)>& name);
  void Fail(const std::string& worst);
  AuditCheck Finish();

 private:
  AuditCheck check_;
  double deviations_ = 0;  // of check_.worst
};

// The pairs of bits with the least and the largest count: of many tests with one p, those with the smallest.
class PairExtremes {
 public:
  void Add(size_t i, size_t j, uint64_t count) {
    ++tests_;
    if (tests_ == 1 || count < least_.count) least_ = {i, j, count};
    if (tests_ == 1 || count > most_.count) most_ = {i, j, count};
  }
  // `format`: what to call a pair.
  void AddTo(Family& family, uint64_t trials, double p, const absl::FormatSpec<size_t, size_t>& format) const;

 private:
  struct Pair {
    size_t i = 0, j = 0;
    uint64_t count = 0;
  };
  uint64_t tests_ = 0;
  Pair least_, most_;
};

// Counts of events under two neighbouring lists; what they prove about epsilon, in both directions: the largest
// ln(Pr[event | one] / Pr[event | other]) by the limits of Clopper and Pearson, which are all good at once with
// probability 1 - kFamilyAlpha.
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
