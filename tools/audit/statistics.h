// The exact statistics of an audit: binomial tails, Clopper-Pearson limits, and the discrete Laplace distribution. That
// distribution is a formula here, never the sampler's own code. Tails come from Boost.Math's regularised incomplete
// beta function.
#ifndef BLINK_TOOLS_AUDIT_STATISTICS_H_
#define BLINK_TOOLS_AUDIT_STATISTICS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace blink {

// X ~ Binomial(trials, probability). 0 <= probability <= 1; any `count`.
double BinomialAtMost(uint64_t count, uint64_t trials, double probability);   // Pr[X <= count]
double BinomialAtLeast(uint64_t count, uint64_t trials, double probability);  // Pr[X >= count]
double BinomialMass(uint64_t count, uint64_t trials, double probability);     // Pr[X = count]
// min(1, twice the smaller tail): at most alpha with probability at most alpha under the hypothesis, for every alpha.
double BinomialTwoSided(uint64_t count, uint64_t trials, double probability);

// One-sided Clopper-Pearson limits of a count. The true probability lies below LowerLimit with probability at most
// alpha, and above UpperLimit with probability at most alpha. The limits are 0 and 1 at the ends and for trials = 0.
// Their relative accuracy is 1e-10, rounded outwards.
double LowerLimit(uint64_t count, uint64_t trials, double alpha);
double UpperLimit(uint64_t count, uint64_t trials, double alpha);

// The z with Pr[|N(0,1)| > z] = alpha, 0 < alpha < 1. For statements of detection power only.
double TwoSidedDeviations(double alpha);

// Pr[Y >= t] and Pr[first <= Y <= last] of the discrete Laplace distribution, Pr[Y = y] proportional to e^(-epsilon
// |y|). epsilon > 0.
double DiscreteLaplaceAtLeast(int64_t t, double epsilon);
double DiscreteLaplaceWithin(int64_t first, int64_t last, double epsilon);

// Cuts the integers (a noisy degree minus some origin) into 2 * half + 1 cells of `width` values. Cell c holds
// (c - half) * width .. (c - half) * width + width - 1. The two outer cells are infinite.
struct DegreeCells {
  int64_t width = 1;
  int64_t half = 1;

  // Fine enough to see every value that is expected 20 times or more in `reports`, at most about 1,000 cells.
  static DegreeCells For(double epsilon_degree, uint64_t reports);

  size_t size() const { return static_cast<size_t>(2 * half + 1); }
  size_t Of(double value) const;  // a value that is no integer falls in the cell of its floor; NaN in the first
  int64_t First(size_t cell) const { return (static_cast<int64_t>(cell) - half) * width; }
  // Pr[Y + shift in cell c] for all cells.
  std::vector<double> Probabilities(int64_t shift, double epsilon) const;
};

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_STATISTICS_H_
