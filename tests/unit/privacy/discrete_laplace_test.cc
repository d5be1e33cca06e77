#include "common/privacy/discrete_laplace.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

constexpr uint64_t kTrillion = 1'000'000'000'000;

// The slow twin: inverts the distribution function of the two-sided geometric in floating point.
int64_t SlowLaplace(double epsilon, std::mt19937_64& engine) {
  std::geometric_distribution<int64_t> geometric(1 - std::exp(-epsilon));
  return geometric(engine) - geometric(engine);
}

TEST(DiscreteLaplace, HasTheMeanAndVarianceOfItsSlowTwin) {
  SeededRandom seeded(11);
  RandomBits bits(seeded);
  std::mt19937_64 engine(12);
  constexpr int kDraws = 100'000;
  for (const double epsilon : {0.1, 0.6, 3.0}) {
    double fast_square = 0, slow_square = 0, fast_sum = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double fast = DrawDiscreteLaplace(static_cast<uint64_t>(epsilon * kTrillion), kTrillion, bits);
      const double slow = SlowLaplace(epsilon, engine);
      fast_sum += fast;
      fast_square += fast * fast;
      slow_square += slow * slow;
    }
    const double variance = 2 * std::exp(-epsilon) / std::pow(1 - std::exp(-epsilon), 2);
    EXPECT_NEAR(fast_sum / kDraws, 0, 5 * std::sqrt(variance / kDraws));
    // The fourth moment of a Laplace is 6 variance^2 (more for large epsilon); 10 % is beyond 5 deviations here.
    EXPECT_NEAR(fast_square / kDraws, variance, 0.1 * variance) << epsilon;
    EXPECT_NEAR(slow_square / kDraws, variance, 0.1 * variance) << epsilon;
  }
}

TEST(DiscreteLaplace, HasItsScaleAtTheSmallestBudget) {
  SeededRandom seeded(13);
  RandomBits bits(seeded);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const int64_t noise = DrawDiscreteLaplace(1, kTrillion, bits);  // scale 10^12
    sum += std::abs(static_cast<double>(noise));
  }
  EXPECT_NEAR(sum / 1000, 1e12, 2e11);
}

TEST(DiscreteLaplace, IsAlmostAlwaysZeroAtTheLargestBudget) {
  SeededRandom seeded(14);
  RandomBits bits(seeded);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(DrawDiscreteLaplace(50 * kTrillion, kTrillion, bits), 0);
}

TEST(DiscreteLaplace, EndsWhenTheSourceFails) {
  FailingRandom failing;
  RandomBits bits(failing);
  EXPECT_EQ(DrawDiscreteLaplace(1, 2, bits), 0);
  EXPECT_FALSE(bits.ok());
}

TEST(BernoulliExp, IsCertainForGammaZero) {
  SeededRandom seeded(15);
  RandomBits bits(seeded);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(DrawBernoulliExp(0, 7, bits));
}

}  // namespace
}  // namespace blink
