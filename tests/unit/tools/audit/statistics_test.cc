#include "tools/audit/statistics.h"

#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::DoubleNear;

// Slow twin: the sum that the tail stands for.
double SlowAtMost(uint64_t count, uint64_t trials, double p) {
  double sum = 0;
  for (uint64_t k = 0; k <= count && k <= trials; ++k) {
    sum += std::exp(std::lgamma(trials + 1.0) - std::lgamma(k + 1.0) - std::lgamma(trials - k + 1.0) +
                    static_cast<double>(k) * std::log(p) + static_cast<double>(trials - k) * std::log1p(-p));
  }
  return sum;
}

TEST(BinomialTail, IsTheSumOfItsProbabilities) {
  for (const double p : {0.001, 0.3, 0.5, 0.99}) {
    for (const uint64_t count : {0u, 1u, 7u, 40u, 59u}) {
      EXPECT_NEAR(BinomialAtMost(count, 60, p), SlowAtMost(count, 60, p), 1e-10) << count << " " << p;
      EXPECT_NEAR(BinomialAtLeast(count + 1, 60, p), 1 - SlowAtMost(count, 60, p), 1e-10) << count << " " << p;
    }
  }
}

TEST(BinomialMass, IsTheDifferenceOfTwoTails) {
  for (const double p : {0.001, 0.3, 0.99}) {
    for (const uint64_t count : {1u, 7u, 40u, 59u}) {
      EXPECT_NEAR(BinomialMass(count, 60, p), BinomialAtMost(count, 60, p) - BinomialAtMost(count - 1, 60, p), 1e-12);
    }
  }
  EXPECT_EQ(BinomialMass(61, 60, 0.5), 0);
  EXPECT_EQ(BinomialMass(0, 60, 0), 1);
  EXPECT_EQ(BinomialMass(1, 60, 0), 0);
  EXPECT_EQ(BinomialMass(60, 60, 1), 1);
}

TEST(BinomialTail, KeepsItsDigitsWhenItIsTiny) {
  EXPECT_NEAR(BinomialAtLeast(10, 10, 0.01) / 1e-20, 1, 1e-9);
  EXPECT_NEAR(BinomialAtMost(0, 1000, 0.1) / std::pow(0.9, 1000), 1, 1e-9);
}

TEST(BinomialTail, HoldsAtTheEnds) {
  EXPECT_EQ(BinomialAtMost(5, 5, 0.5), 1);
  EXPECT_EQ(BinomialAtLeast(0, 5, 0.5), 1);
  EXPECT_EQ(BinomialAtLeast(6, 5, 0.5), 0);
  EXPECT_EQ(BinomialAtLeast(1, 5, 0), 0);
  EXPECT_EQ(BinomialAtMost(4, 5, 1), 0);
  EXPECT_EQ(BinomialTwoSided(0, 1000, 0), 1);
  EXPECT_EQ(BinomialTwoSided(1, 1000, 0), 0);
}

// z = 5 and z = -5 of three thousand million trials: the normal approximation is good to a percent there.
TEST(BinomialTail, IsRightForThousandsOfMillionsOfTrials) {
  const uint64_t trials = 3'000'000'000;
  const double p = 7.5e-4, mean = p * static_cast<double>(trials), deviation = std::sqrt(mean * (1 - p));
  for (const double z : {-5.0, 5.0}) {
    const double two_sided = BinomialTwoSided(static_cast<uint64_t>(mean + z * deviation), trials, p);
    EXPECT_NEAR(two_sided / 5.733e-7, 1, 0.05) << z;
  }
}

// The textbook's 95 % interval of 5 out of 10, and the closed forms at the ends.
TEST(ClopperPearson, HasItsKnownValues) {
  EXPECT_THAT(LowerLimit(5, 10, 0.025), DoubleNear(0.187086, 1e-6));
  EXPECT_THAT(UpperLimit(5, 10, 0.025), DoubleNear(0.812914, 1e-6));
  EXPECT_THAT(UpperLimit(0, 10, 0.025), DoubleNear(1 - std::pow(0.025, 0.1), 1e-9));
  EXPECT_THAT(LowerLimit(10, 10, 0.025), DoubleNear(std::pow(0.025, 0.1), 1e-9));
}

TEST(ClopperPearson, SaysNothingWithoutTrialsAndAtTheEnds) {
  EXPECT_EQ(LowerLimit(0, 0, 0.01), 0);
  EXPECT_EQ(UpperLimit(0, 0, 0.01), 1);
  EXPECT_EQ(LowerLimit(0, 10, 0.01), 0);
  EXPECT_EQ(UpperLimit(10, 10, 0.01), 1);
}

// By enumeration of every outcome: the limit fails with probability alpha at most, for every true p.
TEST(ClopperPearson, CoversWhateverIsTrue) {
  constexpr double kAlpha = 0.01;
  for (double p = 0.005; p < 1; p += 0.03) {
    double wrong_lower = 0, wrong_upper = 0;
    for (uint64_t k = 0; k <= 25; ++k) {
      const double probability = SlowAtMost(k, 25, p) - (k == 0 ? 0 : SlowAtMost(k - 1, 25, p));
      if (LowerLimit(k, 25, kAlpha) > p) wrong_lower += probability;
      if (UpperLimit(k, 25, kAlpha) < p) wrong_upper += probability;
    }
    EXPECT_LE(wrong_lower, kAlpha + 1e-9) << p;
    EXPECT_LE(wrong_upper, kAlpha + 1e-9) << p;
  }
}

TEST(Deviations, AreThoseOfTheNormalDistribution) { EXPECT_NEAR(TwoSidedDeviations(0.05), 1.959964, 1e-6); }

TEST(DiscreteLaplaceFormula, AddsUpToOne) {
  for (const double epsilon : {0.1, 0.8, 5.0}) {
    double sum = 0;
    for (int64_t y = -600; y <= 600; ++y) sum += DiscreteLaplaceWithin(y, y, epsilon);
    EXPECT_NEAR(sum, 1, 1e-12) << epsilon;
    EXPECT_NEAR(DiscreteLaplaceWithin(0, 0, epsilon), std::tanh(epsilon / 2), 1e-12);
    EXPECT_NEAR(DiscreteLaplaceWithin(3, 3, epsilon) / DiscreteLaplaceWithin(4, 4, epsilon), std::exp(epsilon), 1e-9);
    EXPECT_NEAR(DiscreteLaplaceWithin(-4, 9, epsilon),
                DiscreteLaplaceAtLeast(-4, epsilon) - DiscreteLaplaceAtLeast(10, epsilon), 1e-12);
  }
  EXPECT_EQ(DiscreteLaplaceWithin(3, 2, 1), 0);
}

TEST(DegreeCells, ArePartitionedWhateverTheBudgetAndTheShift) {
  for (const double epsilon : {1e-9, 0.01, 0.1, 1.0, 50.0}) {
    const DegreeCells cells = DegreeCells::For(epsilon, 1'000'000);
    EXPECT_LE(cells.size(), 1005u);
    for (const int64_t shift : {0, 1}) {
      const std::vector<double> probabilities = cells.Probabilities(shift, epsilon);
      EXPECT_NEAR(std::accumulate(probabilities.begin(), probabilities.end(), 0.0), 1, 1e-6) << epsilon;
      for (const double p : probabilities) EXPECT_GE(p, 0);
    }
    for (size_t c = 1; c < cells.size(); ++c) {
      EXPECT_EQ(cells.Of(static_cast<double>(cells.First(c))), c);
      EXPECT_EQ(cells.Of(static_cast<double>(cells.First(c) - 1)), c - 1);
    }
  }
}

TEST(DegreeCells, TakeAnyNumber) {
  const DegreeCells cells{.width = 1, .half = 3};
  EXPECT_EQ(cells.Of(1e300), cells.size() - 1);
  EXPECT_EQ(cells.Of(-1e300), 0u);
  EXPECT_EQ(cells.Of(std::nan("")), 0u);
  EXPECT_EQ(cells.Of(1.9), 4u);
  EXPECT_EQ(cells.Of(-0.1), 2u);
}

}  // namespace
}  // namespace blink
