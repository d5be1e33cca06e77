#include "aggregator_server/plausibility/tails.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

#include "common/base/quiet_math.h"

namespace blink::tails {
namespace {

constexpr double kSmallest = 1e-300;  // tails below are as good as this

double LogMass(int64_t count, int64_t trials, double probability) {
  const double n = static_cast<double>(trials), k = static_cast<double>(count);
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(probability) +
         (n - k) * std::log1p(-probability);
}

// trials KL(p + u / trials || p), 0 < u <= trials (1 - p).
double Exponent(double trials, double p, double u) {
  const double q = p + u / trials;
  const double ones = q * std::log(q / p), zeros = q >= 1 ? 0 : (1 - q) * std::log((1 - q) / (1 - p));
  return std::max(0.0, trials * (ones + zeros));
}

}  // namespace

double BinomialAtMost(int64_t count, int64_t trials, double probability) {
  if (count < 0) return 0;
  if (count >= trials || probability <= 0) return 1;
  if (probability >= 1) return 0;
  const double above = static_cast<double>(count) + 1;
  return boost::math::ibetac(above, static_cast<double>(trials) - above + 1, probability, QuietMath());
}

double BinomialAtLeast(int64_t count, int64_t trials, double probability) {
  if (count <= 0) return 1;
  if (count > trials || probability <= 0) return 0;
  if (probability >= 1) return 1;
  return boost::math::ibeta(static_cast<double>(count), static_cast<double>(trials - count) + 1, probability,
                            QuietMath());
}

double SumAtLeast(int64_t count, int64_t a, double pa, int64_t b, double pb) {
  if (a == 0) return BinomialAtLeast(count, b, pb);
  if (b == 0) return BinomialAtLeast(count, a, pa);
  if (pa <= 0 || pa >= 1) return BinomialAtLeast(count - (pa >= 1 ? a : 0), b, pb);
  const auto mode = std::min<int64_t>(a, static_cast<int64_t>(pa * static_cast<double>(a + 1)));
  const double log_smallest = std::log(kSmallest);
  double sum = 0;
  for (const int step : {-1, 1}) {
    for (int64_t x = step < 0 ? mode : mode + 1; x >= 0 && x <= a; x += step) {
      const double log_mass = LogMass(x, a, pa);
      if (log_mass < log_smallest) break;
      sum += std::exp(log_mass) * BinomialAtLeast(count - x, b, pb);
    }
  }
  return std::min(1.0, sum + kSmallest);
}

double DiscreteLaplaceAtLeast(double t, double epsilon) {
  const double scale = 1 + std::exp(-epsilon);
  if (t >= 1) return std::exp(-epsilon * t) / scale;
  return 1 - std::exp(-epsilon * (1 - t)) / scale;
}

DegreeTail::DegreeTail(int64_t trials, double probability, double contrast, double epsilon)
    : contrast_(contrast), epsilon_(epsilon) {
  const double n = static_cast<double>(trials), limit = n * (1 - probability);
  if (!(contrast > 0) || !(probability > 0)) return;
  std::vector<double> bits;  // B(c m)
  for (int64_t m = 0;; ++m) {
    if (m >= kEntriesMax) return;
    const double u = contrast * static_cast<double>(m);
    const double bound = u > limit * (1 + 1e-12) ? 0
                         : m == 0                ? 1
                                                 : std::exp(-Exponent(n, probability, std::min(u, limit)));
    if (bound < kSmallest) break;
    bits.push_back(bound);
  }
  const double q = std::exp(-epsilon), weight = std::tanh(epsilon / 2);  // (1 - q) / (1 + q)
  table_.assign(bits.size(), 0);
  double from_above = 0;
  for (size_t m = bits.size(); m-- > 0;) table_[m] = from_above = bits[m] + q * from_above;
  double from_below = 1 / std::expm1(epsilon);  // the sum of q^y over y >= 1, where B = 1
  for (size_t m = 0; m < bits.size(); ++m) {
    table_[m] = std::min(1.0, weight * (table_[m] + from_below) + kSmallest);
    from_below = q * (from_below + bits[m]);
  }
  beyond_ = weight * from_below;
}

double DegreeTail::AtLeast(double t) const {
  const double m = std::floor(t / contrast_);
  const double size = static_cast<double>(table_.size());
  if (m < size) return table_[static_cast<size_t>(std::max(0.0, m))];
  return std::min(1.0, beyond_ * std::exp(-epsilon_ * (m - size)) + kSmallest);
}

double ZScore(double at_most, double at_least) {
  const double smaller = std::min(at_most, at_least);
  if (!(smaller < 0.5)) return 0;
  const double z = UpperQuantile(std::max(smaller, kSmallest));
  return at_most < at_least ? -z : z;
}

double UpperQuantile(double alpha) {
  return boost::math::quantile(boost::math::complement(boost::math::normal(), alpha));
}

}  // namespace blink::tails
