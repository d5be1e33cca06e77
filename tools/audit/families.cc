#include "tools/audit/families.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/audit/statistics.h"

namespace blink {

void Family::Add(uint64_t count, uint64_t trials, double p, const std::string& name, uint64_t tests) {
  check_.tests += tests;
  if (trials > 0) Remember(BinomialTwoSided(count, trials, p), count, trials, p, name);
}

void Family::AddAtMost(uint64_t count, uint64_t trials, double p_max, const std::string& name) {
  ++check_.tests;
  if (trials > 0) Remember(BinomialAtLeast(count, trials, p_max), count, trials, p_max, name);
}

void Family::Remember(double p_value, uint64_t count, uint64_t trials, double p, const std::string& name) {
  const double expected = p * static_cast<double>(trials);
  const double deviations =
      std::abs(static_cast<double>(count) - expected) / std::sqrt(std::max(expected * (1 - p), 1e-300));
  // p may have underflowed to 0 in several tests: then the deviations tell which is worst.
  const bool is_better = std::make_pair(p_value, -deviations) >= std::make_pair(check_.smallest_p, -deviations_);
  if (is_better && !check_.worst.empty()) return;
  check_.smallest_p = p_value;
  deviations_ = deviations;
  check_.worst = absl::StrFormat("%s: %d of %d, %.6g expected", name, count, trials, expected);
}

void Family::AddAlike(const std::vector<uint64_t>& counts, uint64_t trials, double p,
                      const std::function<bool(size_t)>& use, const std::function<std::string(size_t)>& name) {
  size_t lowest = counts.size(), highest = counts.size();
  uint64_t tests = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!use(i)) continue;
    ++tests;
    if (lowest == counts.size() || counts[i] < counts[lowest]) lowest = i;
    if (highest == counts.size() || counts[i] > counts[highest]) highest = i;
  }
  if (tests == 0) return;
  Add(counts[lowest], trials, p, name(lowest), tests);
  Add(counts[highest], trials, p, name(highest), 0);
}

void Family::Fail(const std::string& worst) {
  check_.smallest_p = 0;
  check_.worst = worst;
}

AuditCheck Family::Finish() {
  check_.tests = std::max<uint64_t>(check_.tests, 1);
  check_.threshold = kFamilyAlpha / static_cast<double>(check_.tests);
  check_.violated = check_.smallest_p < check_.threshold;
  return check_;
}

void PairExtremes::AddTo(Family& family, uint64_t trials, double p,
                         const absl::FormatSpec<size_t, size_t>& format) const {
  if (tests_ == 0) return;
  family.Add(most_.count, trials, p, absl::StrFormat(format, most_.i, most_.j), tests_);
  family.Add(least_.count, trials, p, absl::StrFormat(format, least_.i, least_.j), 0);
}

void RatioBound::AddDirection(uint64_t count, uint64_t trials, uint64_t count_below, uint64_t trials_below) {
  if (count == 0 || trials_below == 0) return;
  const double estimate = std::log(static_cast<double>(count) / static_cast<double>(trials)) -
                          std::log((static_cast<double>(count_below) + 0.5) / static_cast<double>(trials_below));
  if (estimate <= lower_) return;  // the bound lies below the estimate: cannot be the largest
  lower_ =
      std::max(lower_, std::log(LowerLimit(count, trials, alpha_) / UpperLimit(count_below, trials_below, alpha_)));
}

}  // namespace blink
