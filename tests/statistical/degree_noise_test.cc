// The degree noise is the discrete Laplace distribution, and independent of the flips.
#include <cmath>
#include <map>

#include "common/privacy/discrete_laplace.h"
#include "common/privacy/privatizer.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

constexpr uint64_t kTrillion = 1'000'000'000'000;
constexpr int kDraws = 400'000;

class DegreeNoise : public ::testing::TestWithParam<uint64_t> {};

// Chi-square over the values of expectation >= 20, the two tails pooled. The bound lies 6 deviations above the mean
// plus 12: error probability below 1e-6 per parameter.
TEST_P(DegreeNoise, HasTheProbabilitiesOfTheDiscreteLaplace) {
  SeededRandom seeded(GetParam() + 1);
  RandomBits bits(seeded);
  std::map<int64_t, double> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[DrawDiscreteLaplace(GetParam(), kTrillion, bits)];
  ASSERT_TRUE(bits.ok());
  const double epsilon = GetParam() * 1e-12;
  double chi_square = 0, expected_seen = 0, seen = 0;
  int cells = 1;
  for (int64_t y = 0;; ++y) {
    const double expected = kDraws * std::tanh(epsilon / 2) * std::exp(-epsilon * y);
    if (expected < 20) break;
    for (const int64_t value : {y, -y}) {
      chi_square += (counts[value] - expected) * (counts[value] - expected) / expected;
      seen += counts[value];
      expected_seen += expected;
      ++cells;
      if (y == 0) break;
    }
  }
  const double rest = kDraws - expected_seen, tail = kDraws - seen;
  if (rest > 0) chi_square += (tail - rest) * (tail - rest) / std::max(rest, 20.0);
  EXPECT_LT(chi_square, cells + 6 * std::sqrt(2.0 * cells) + 12);
}

// z = 5: error probability 6e-7 per parameter.
TEST_P(DegreeNoise, IsSymmetric) {
  SeededRandom seeded(GetParam() + 2);
  RandomBits bits(seeded);
  int positive = 0, negative = 0;
  for (int i = 0; i < kDraws; ++i) {
    const int64_t noise = DrawDiscreteLaplace(GetParam(), kTrillion, bits);
    positive += noise > 0;
    negative += noise < 0;
  }
  EXPECT_LT(std::abs(positive - negative), 5 * std::sqrt(positive + negative));
}

// epsilon_degree 0.1, 0.6, 1, 3, one that no short fraction gives, and ones whose fraction reduces to 1/2 and 7/3-like
// terms.
INSTANTIATE_TEST_SUITE_P(Budgets, DegreeNoise,
                         ::testing::Values(kTrillion / 10, kTrillion * 6 / 10, kTrillion, kTrillion * 3,
                                           271'828'182'846u, kTrillion / 2, 2'333'333'333'333u));

// exp(-gamma) within z = 5 for gamma = 0.25, 0.5, 1: error probability 2e-6.
TEST(BernoulliExp, HasItsProbability) {
  SeededRandom seeded(31);
  RandomBits bits(seeded);
  for (const uint64_t quarters : {1, 2, 4}) {
    double successes = 0;
    for (int i = 0; i < kDraws; ++i) successes += DrawBernoulliExp(quarters, 4, bits);
    const double p = std::exp(-0.25 * quarters);
    EXPECT_LT(std::abs(successes - kDraws * p), 5 * std::sqrt(kDraws * p * (1 - p))) << quarters;
  }
}

// Correlation of the degree noise with the number of flips of the same report, z = 5: error probability 6e-7.
TEST(DegreeNoiseOfAReport, IsUncorrelatedWithItsFlips) {
  const auto parameters = *PrivacyParameters::Create(2'000'000, 500'000, 100);
  SeededRandom random(32);
  constexpr int kReports = 50'000;
  const double mean = 99 * parameters.flip_probability();
  double product = 0, noise_square = 0, flip_square = 0;
  for (int r = 0; r < kReports; ++r) {
    const ReportNoise noise = *DrawNoise(parameters, 0, random);
    const double flips = noise.flips.Count() - mean, degree = static_cast<double>(*noise.degree_noise);
    product += flips * degree;
    noise_square += degree * degree;
    flip_square += flips * flips;
  }
  EXPECT_LT(std::abs(product / std::sqrt(noise_square * flip_square)), 5 / std::sqrt(kReports));
}

}  // namespace
}  // namespace blink
