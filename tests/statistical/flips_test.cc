// The flips are independent Bernoulli(p') bits: rate pooled, rate per lane, pairs of lanes, neighbouring words, words
// of one report. Bounds are in standard deviations z of a binomial; two-sided error of one comparison: z = 5: 6e-7, z
// = 5.5: 4e-8.
#include <bit>
#include <cmath>
#include <vector>

#include "common/privacy/parameters.h"
#include "common/privacy/privatizer.h"
#include "common/privacy/randomized_response.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

constexpr int kWords = 400'000;

double Deviations(double count, double trials, double p) {
  return (count - trials * p) / std::sqrt(trials * p * (1 - p));
}

class Flips : public ::testing::TestWithParam<uint64_t> {
 protected:
  Flips() : p_(parameters_.flip_probability()), words_(kWords) {
    SeededRandom seeded(GetParam());
    RandomBits bits(seeded);
    FillBernoulli(parameters_.flip_numerator(), bits, absl::MakeSpan(words_));
  }
  const PrivacyParameters parameters_ = *PrivacyParameters::Create(GetParam(), 100'000, 1000);
  const double p_;
  std::vector<uint64_t> words_;
};

// Error probability 6e-7 per budget.
TEST_P(Flips, HaveTheirProbabilityOverAll) {
  double ones = 0;
  for (const uint64_t word : words_) ones += std::popcount(word);
  EXPECT_LT(std::abs(Deviations(ones, 64.0 * kWords, p_)), 5);
}

// 64 comparisons: error probability 2.5e-6 per budget.
TEST_P(Flips, HaveTheirProbabilityInEveryLane) {
  std::vector<double> ones(64, 0);
  for (const uint64_t word : words_) {
    for (int lane = 0; lane < 64; ++lane) ones[lane] += word >> lane & 1;
  }
  for (int lane = 0; lane < 64; ++lane) EXPECT_LT(std::abs(Deviations(ones[lane], kWords, p_)), 5.5) << lane;
}

// Each pair of lanes at distance 1 .. 32, pooled over the lanes: 32 comparisons, error probability 1.3e-6 per budget.
// (Pairs that share a lane are uncorrelated up to p^2, so the binomial deviation is right to within a factor below 1 +
// p.)
TEST_P(Flips, AreIndependentInPairsOfLanes) {
  for (int distance = 1; distance <= 32; ++distance) {
    double both = 0;
    for (const uint64_t word : words_) both += std::popcount(word & std::rotl(word, distance));
    EXPECT_LT(std::abs(Deviations(both, 64.0 * kWords, p_ * p_)), 5.5 * (1 + 2 * p_) * 1.5) << distance;
  }
}

// A word's early stop must not touch the next word. Error probability 6e-7 per budget.
TEST_P(Flips, AreIndependentOfTheWordBefore) {
  double both = 0;
  for (int w = 1; w < kWords; ++w) both += std::popcount(words_[w] & words_[w - 1]);
  EXPECT_LT(std::abs(Deviations(both, 64.0 * (kWords - 1), p_ * p_)), 5 * (1 + 2 * p_) * 1.5);
}

// Chi-square of the number of ones in a word, 64 lanes, cells of expectation >= 20. The bound lies 6 deviations above
// the mean of a chi-square: error probability below 1e-6 per budget.
TEST_P(Flips, MakeBinomialWords) {
  std::vector<double> counts(65, 0);
  for (const uint64_t word : words_) ++counts[std::popcount(word)];
  double chi_square = 0, seen = 0, expected_seen = 0;
  int cells = 0;
  for (int k = 0; k <= 64; ++k) {
    const double expected = kWords * std::exp(std::lgamma(65) - std::lgamma(k + 1) - std::lgamma(65 - k) +
                                              k * std::log(p_) + (64 - k) * std::log1p(-p_));
    if (expected < 20) continue;
    chi_square += (counts[k] - expected) * (counts[k] - expected) / expected;
    seen += counts[k];
    expected_seen += expected;
    ++cells;
  }
  const double rest = std::max(kWords - expected_seen, 1.0);
  chi_square += (kWords - seen - rest) * (kWords - seen - rest) / std::max(rest, 20.0);
  EXPECT_LT(chi_square, cells + 6 * std::sqrt(2.0 * cells) + 12);
}

INSTANTIATE_TEST_SUITE_P(Budgets, Flips, ::testing::Values(1, 1'000'000, 2'000'000, 4'000'000, 6'000'000, 8'000'000));

// Whole reports: each bit of 300 flips at its rate, also the first and the last; 300 comparisons, error 1.2e-5.
TEST(FlipsOfAReport, HaveTheirProbabilityAtEveryPosition) {
  const auto parameters = *PrivacyParameters::Create(1'500'000, 100'000, 300);
  constexpr int kReports = 40'000;
  SeededRandom random(77);
  std::vector<double> ones(300, 0);
  for (int r = 0; r < kReports; ++r) {
    DrawNoise(parameters, 17, random)->flips.ForEachOne([&](uint32_t j) { ++ones[j]; });
  }
  EXPECT_EQ(ones[17], 0);
  for (int j = 0; j < 300; ++j) {
    if (j == 17) continue;
    EXPECT_LT(std::abs(Deviations(ones[j], kReports, parameters.flip_probability())), 5.5) << j;
  }
}

}  // namespace
}  // namespace blink
