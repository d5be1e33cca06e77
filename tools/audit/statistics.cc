#include "tools/audit/statistics.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <limits>

#include "common/base/quiet_math.h"

namespace blink {
namespace {

// The p in (0, 1) at which the monotone `tail_is_small(p)` changes from true to false, when `from_below`, or from false
// to true: bisection of log p. Returns the end of the last interval at which the tail is small, so that the limit errs
// outwards.
template <typename IsSmall>
double Boundary(bool from_below, IsSmall is_small) {
  double low = std::log(1e-300), high = 0;
  while (high - low > 1e-11) {
    const double middle = (low + high) / 2;
    (is_small(std::exp(middle)) == from_below ? low : high) = middle;
  }
  return std::exp(from_below ? low : high);
}

}  // namespace

double BinomialAtMost(uint64_t count, uint64_t trials, double probability) {
  if (count >= trials || probability <= 0) return 1;
  if (probability >= 1) return 0;
  const double above = static_cast<double>(count) + 1;
  return boost::math::ibetac(above, static_cast<double>(trials) - above + 1, probability, QuietMath());
}

double BinomialAtLeast(uint64_t count, uint64_t trials, double probability) {
  if (count == 0) return 1;
  if (count > trials || probability <= 0) return 0;
  if (probability >= 1) return 1;
  return boost::math::ibeta(static_cast<double>(count), static_cast<double>(trials - count) + 1, probability,
                            QuietMath());
}

double BinomialMass(uint64_t count, uint64_t trials, double probability) {
  if (count > trials) return 0;
  if (probability <= 0 || probability >= 1) return count == (probability <= 0 ? 0 : trials) ? 1 : 0;
  const double n = static_cast<double>(trials), k = static_cast<double>(count);
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(probability) +
                  (n - k) * std::log1p(-probability));
}

double BinomialTwoSided(uint64_t count, uint64_t trials, double probability) {
  return std::min(
      1.0, 2 * std::min(BinomialAtMost(count, trials, probability), BinomialAtLeast(count, trials, probability)));
}

double LowerLimit(uint64_t count, uint64_t trials, double alpha) {
  if (count == 0 || trials == 0) return 0;
  return Boundary(true, [&](double p) { return BinomialAtLeast(count, trials, p) < alpha; });
}

double UpperLimit(uint64_t count, uint64_t trials, double alpha) {
  if (count >= trials) return 1;
  return Boundary(false, [&](double p) { return BinomialAtMost(count, trials, p) < alpha; });
}

double TwoSidedDeviations(double alpha) {
  return boost::math::quantile(boost::math::complement(boost::math::normal(), alpha / 2));
}

double DiscreteLaplaceAtLeast(int64_t t, double epsilon) {
  const double scale = 1 + std::exp(-epsilon);
  if (t >= 1) return std::exp(-epsilon * static_cast<double>(t)) / scale;
  return 1 - std::exp(-epsilon * (1 - static_cast<double>(t))) / scale;
}

double DiscreteLaplaceWithin(int64_t first, int64_t last, double epsilon) {
  if (last < first) return 0;
  if (last <= -1) return DiscreteLaplaceWithin(-last, -first, epsilon);
  if (first >= 1) {
    const double values = static_cast<double>(last - first) + 1;
    return DiscreteLaplaceAtLeast(first, epsilon) * -std::expm1(-epsilon * values);
  }
  return 1 - DiscreteLaplaceAtLeast(last + 1, epsilon) - DiscreteLaplaceAtLeast(1 - first, epsilon);
}

DegreeCells DegreeCells::For(double epsilon_degree, uint64_t reports) {
  constexpr double kExpectedMin = 20, kCellsOnASideMax = 500;
  const double reach =
      std::ceil(std::log(std::max(2.0, static_cast<double>(reports) / kExpectedMin)) / epsilon_degree) + 2;
  DegreeCells cells;
  cells.width = static_cast<int64_t>(std::ceil(reach / kCellsOnASideMax));
  cells.half = static_cast<int64_t>(std::ceil(reach / static_cast<double>(cells.width)));
  return cells;
}

size_t DegreeCells::Of(double value) const {
  if (!(value >= static_cast<double>(-half * width))) return 0;
  if (value >= static_cast<double>(half * width)) return size() - 1;
  return static_cast<size_t>(std::floor(value / static_cast<double>(width)) + static_cast<double>(half));
}

std::vector<double> DegreeCells::Probabilities(int64_t shift, double epsilon) const {
  std::vector<double> result(size());
  result.front() = 1 - DiscreteLaplaceAtLeast(First(1) - shift, epsilon);
  if (First(1) - shift <= 0)
    result.front() = DiscreteLaplaceAtLeast(1 - (First(1) - shift), epsilon);  // Pr[Y <= t - 1], without the 1 -
  result.back() = DiscreteLaplaceAtLeast(First(size() - 1) - shift, epsilon);
  for (size_t c = 1; c + 1 < size(); ++c) {
    result[c] = DiscreteLaplaceWithin(First(c) - shift, First(c + 1) - 1 - shift, epsilon);
  }
  return result;
}

}  // namespace blink
