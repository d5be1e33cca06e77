// Exact tails of what an honest report can look like, and z-scores made from them. Knows neither reports nor budgets.
#ifndef BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_TAILS_H_
#define BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_TAILS_H_

#include <cstdint>
#include <vector>

namespace blink::tails {

// X ~ Binomial(trials, probability), 0 <= probability <= 1: Pr[X <= count] and Pr[X >= count], any `count`. The
// regularised incomplete beta function (Boost.Math).
double BinomialAtMost(int64_t count, int64_t trials, double probability);
double BinomialAtLeast(int64_t count, int64_t trials, double probability);

// Pr[X + Y >= count], X ~ Binomial(a, pa) and Y ~ Binomial(b, pb) independent. The sum over X; less than 1e-300 of it
// is left out, and counted as if it reached `count`.
double SumAtLeast(int64_t count, int64_t a, double pa, int64_t b, double pb);

// Pr[Y >= t] for Y discrete Laplace, Pr[Y = y] proportional to e^(-epsilon |y|), epsilon > 0. t is an integer. It is
// passed as a double, since a degree that a peer claims can be any 64-bit number.
double DiscreteLaplaceAtLeast(double t, double epsilon);

// A bound on Pr[T >= t] for T = (K - E K) - c Y, where K is a sum of `trials` independent bits of which each has
// probability p or 1 - p (how many have which does not matter), c = 1 - 2 p, and Y is discrete Laplace with parameter
// epsilon, independent.
//
// For every lambda > 0 a centred bit has E e^(lambda (B - E B)) = e^phi(lambda) if its probability is p, and
// e^phi(-lambda) if it is 1 - p, phi(lambda) = ln(1 - p + p e^lambda) - lambda p. phi(lambda) >= phi(-lambda) for p <=
// 1/2 (the difference is 0 at 0, and its derivative is p (1-p) times (e^lambda - 1) / (1 - p + p e^lambda) - (1 -
// e^-lambda) / (1 - p + p e^-lambda) >= 0). So Chernoff's bound for Binomial(trials, p) holds for every mixture:
//
//   Pr[K - E K >= u] <= B(u) = exp(-trials KL(p + u / trials || p)),   B(u) = 1 for u <= 0,  0 beyond trials (1 - p);
//
// and, as the bits' complements are such bits too, Pr[K - E K <= -u] <= B(u) (Hoeffding 1963, theorem 1). Then
// Pr[T >= t] <= sum over y of Pr[Y = y] B(t + c y), and Pr[T <= -t] has the same bound. The sum is exact on the lattice
// t = c m, by one recursion from each side, and geometric beyond the last B above 1e-300; t in between is rounded down,
// which keeps the bound valid.
class DegreeTail {
 public:
  static constexpr int64_t kEntriesMax = 1 << 20;

  // `contrast` = 1 - 2 p, passed separately to keep its digits. If the table would have more than kEntriesMax entries
  // (bits that say next to nothing), there is none, and Usable() is false.
  DegreeTail(int64_t trials, double probability, double contrast, double epsilon);
  bool Usable() const { return !table_.empty(); }
  double AtLeast(double t) const;  // t >= 0

 private:
  double contrast_, epsilon_;
  double beyond_ = 0;          // the bound at m = table_.size()
  std::vector<double> table_;  // [m]: the bound at t = contrast * m
};

// z with the sign of the smaller tail (`at_most` small: negative) and Pr[|N(0,1)| >= |z|] = min(1, 2 * the smaller
// tail): under any distribution whose tails are at most these, |z| exceeds a value at most as often as that of a normal
// variable does. |z| <= 37.
double ZScore(double at_most, double at_least);
// The z with Pr[N(0,1) >= z] = alpha, 0 < alpha <= 1/2.
double UpperQuantile(double alpha);

}  // namespace blink::tails

#endif  // BLINK_AGGREGATOR_SERVER_PLAUSIBILITY_TAILS_H_
