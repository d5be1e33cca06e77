// Soft and Hybrid against a dense twin that reads like Algorithm 3, with missing reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "aggregator_server/estimate/beta/beta_model.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "aggregator_server/estimate/degrees.h"
#include "aggregator_server/estimate/hybrid_cut.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

// [n * n] log-odds of all pairs, for the beta of the estimate.
std::vector<double> DenseLogOdds(const Round& round, const BetaModel& mle) {
  const ReportSet& reports = round.reports;
  const uint32_t n = reports.node_count();
  const DegreeClasses classes = ClassifyDegrees(EstimateDegrees(reports).degrees);
  const double p = reports.parameters().flip_probability();
  std::vector<double> log_odds(static_cast<size_t>(n) * n);
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = 0; j < n; ++j) {
      double& value = log_odds[static_cast<size_t>(i) * n + j];
      value = mle.beta[classes.class_of_node[i]] + mle.beta[classes.class_of_node[j]];
      for (const auto& [from, about] : {std::pair(i, j), std::pair(j, i)}) {
        if (reports.parameters().sends_bits() && reports.reported(from))
          value += (BitOf(reports, from, about) ? 1 : -1) * std::log((1 - p) / p);
      }
    }
  }
  return log_odds;
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class Variants : public testing::TestWithParam<std::tuple<uint32_t, uint64_t, uint32_t, double>> {
 protected:
  void SetUp() override {
    const auto [n, epsilon_micro, share_ppm, silent] = GetParam();
    round_.emplace(MakeRound(n, epsilon_micro, share_ppm, silent, 11));
    if (round_->reports.report_count() == 0) GTEST_SKIP() << "by this seed nobody reports";
    auto estimate = EstimateLinks(round_->reports, {.soft = true, .hybrid = true, .tie_seed = kSeed, .threads = 2});
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    estimate_ = *std::move(estimate);
    log_odds_ = DenseLogOdds(*round_, estimate_.beta_fit->mle);
  }
  double LogOdds(NodeIndex i, NodeIndex j) const {
    return log_odds_[static_cast<size_t>(i) * round_->reports.node_count() + j];
  }

  static constexpr uint64_t kSeed = 99;
  std::optional<Round> round_;
  LinkEstimate estimate_;
  std::vector<double> log_odds_;
};

// Weights are floats, and one with ones is the sum of the background and of what is beyond it: an error of two
// roundings.
TEST_P(Variants, SoftWeighsEveryPairWithItsProbability) {
  const uint32_t n = round_->reports.node_count();
  EXPECT_TRUE(estimate_.soft->weighted);
  std::vector<float> row(n);
  for (NodeIndex i = 0; i < n; ++i) {
    FillRow(*estimate_.soft, i, row.data());
    EXPECT_EQ(row[i], 0);
    for (NodeIndex j = 0; j < n; ++j) {
      if (j == i) continue;
      const double expected = Sigmoid(LogOdds(i, j));
      ASSERT_NEAR(row[j], expected, 2e-7 * expected + 1e-12) << i << " " << j;
    }
  }
}

TEST_P(Variants, HybridTakesTheLargestProbabilitiesAndTheSmallestHashesAtTheCut) {
  const uint32_t n = round_->reports.node_count();
  const CsrGraph& links = estimate_.hybrid->links;
  double sum = 0;
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = i + 1; j < n; ++j) sum += Sigmoid(LogOdds(i, j));
  }
  EXPECT_NEAR(static_cast<double>(links.link_count()), sum, 1 + 1e-6);
  EXPECT_EQ(links.link_count(), HybridLinkCount(estimate_.expected_links));

  double lowest_taken = std::numeric_limits<double>::infinity(), highest_left = -lowest_taken;
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = i + 1; j < n; ++j) {
      if (links.HasLink(i, j)) lowest_taken = std::min(lowest_taken, LogOdds(i, j));
      if (!links.HasLink(i, j)) highest_left = std::max(highest_left, LogOdds(i, j));
    }
  }
  EXPECT_LE(highest_left, lowest_taken + 1e-9);
  uint64_t highest_hash_taken = 0, lowest_hash_left = ~uint64_t{0};
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = i + 1; j < n; ++j) {
      if (std::abs(LogOdds(i, j) - lowest_taken) > 1e-9) continue;  // not of the tie at the cut
      const uint64_t hash = TieHash(kSeed, i, j);
      if (links.HasLink(i, j)) highest_hash_taken = std::max(highest_hash_taken, hash);
      if (!links.HasLink(i, j)) lowest_hash_left = std::min(lowest_hash_left, hash);
    }
  }
  EXPECT_LT(highest_hash_taken, lowest_hash_left);
}

TEST_P(Variants, HybridWeighsItsLinksWithTheirProbabilities) {
  const LinkWeights& hybrid = *estimate_.hybrid;
  EXPECT_TRUE(hybrid.weighted);
  ASSERT_EQ(hybrid.values.size(), hybrid.links.neighbours().size());
  for (NodeIndex i = 0; i < hybrid.node_count; ++i) {
    for (uint64_t k = hybrid.links.offsets()[i]; k < hybrid.links.offsets()[i + 1]; ++k) {
      const double expected = Sigmoid(LogOdds(i, hybrid.links.neighbours()[k]));
      ASSERT_NEAR(hybrid.values[k], expected, 1e-7 * expected);
    }
  }
}

// epsilon 0.5 .. 8; degree share 0, 0.1, 1; up to half the nodes silent.
INSTANTIATE_TEST_SUITE_P(Rounds, Variants,
                         testing::Combine(testing::Values(3u, 64u, 130u, 290u),
                                          testing::Values(500'000u, 1'000'000u, 3'000'000u, 5'000'000u, 8'000'000u),
                                          testing::Values(0u, 100'000u, 1'000'000u), testing::Values(0.0, 0.4)));

TEST(Hybrid, DoesNotDependOnTheNumberOfThreads) {
  for (const uint32_t share : {100'000u, 1'000'000u}) {
    const Round round = MakeRound(1300, 2'000'000, share, 0.1, 5);
    const auto one = EstimateLinks(round.reports, {.hybrid = true, .tie_seed = 1, .threads = 1});
    const auto many = EstimateLinks(round.reports, {.hybrid = true, .tie_seed = 1, .threads = 7});
    ASSERT_TRUE(one.ok() && many.ok());
    EXPECT_TRUE(one->hybrid->links.neighbours() == many->hybrid->links.neighbours());
    EXPECT_EQ(one->hybrid->values, many->hybrid->values);
  }
}

// Without bits most pairs are ties of their classes, and the seed decides.
TEST(Hybrid, ChoosesOtherTiesInAnotherRound) {
  const Round round = MakeRound(300, 2'000'000, 1'000'000, 0, 5);
  const auto first = EstimateLinks(round.reports, {.hybrid = true, .tie_seed = 1});
  const auto again = EstimateLinks(round.reports, {.hybrid = true, .tie_seed = 1});
  const auto other = EstimateLinks(round.reports, {.hybrid = true, .tie_seed = 2});
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_TRUE(first->hybrid->links.neighbours() == again->hybrid->links.neighbours());
  EXPECT_FALSE(first->hybrid->links.neighbours() == other->hybrid->links.neighbours());
  EXPECT_EQ(first->hybrid->links.link_count(), other->hybrid->links.link_count());
}

// There the sum of P falls short of a whole number by rounding alone.
TEST(Hybrid, IsTheTrueGraphWhereTheBitsLeaveNoDoubt) {
  for (const uint64_t epsilon_micro : {20'000'000u, 40'000'000u}) {
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      const Round round = MakeRound(200, epsilon_micro, 50'000, 0, seed);
      const auto estimate = EstimateLinks(round.reports, {.hybrid = true, .tie_seed = 1});
      ASSERT_TRUE(estimate.ok()) << estimate.status();
      EXPECT_TRUE(estimate->hybrid->links.neighbours() == round.truth.neighbours()) << epsilon_micro << " " << seed;
    }
  }
}

// Without bits the sum of P is that of the degrees, which rounding brings now above it and now below.
TEST(Hybrid, TakesAsManyLinksAsTheDegreesSayWithoutBits) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const Round round = MakeRound(60, 8'000'000, 1'000'000, 0, seed);
    const auto estimate = EstimateLinks(round.reports, {.hybrid = true, .tie_seed = 1});
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    if (estimate->beta_fit->mle.regularised) continue;
    uint64_t ends = 0;
    for (const int64_t d : EstimateDegrees(round.reports).degrees) ends += std::clamp<int64_t>(d, 1, 58);
    EXPECT_EQ(estimate->hybrid->links.link_count(), ends / 2);
    EXPECT_EQ(estimate->expected_links, static_cast<double>(ends) / 2);
  }
}

TEST(Estimate, TellsTheProgressOfEveryVariantAndNeverGoesBack) {
  for (const uint64_t epsilon_micro : {1'000'000u, 6'000'000u}) {  // packed bits, and a list
    for (const auto& [soft, hybrid] : {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
      const Round round = MakeRound(2100, epsilon_micro, 100'000, 0, 3);
      std::vector<double> told;
      ASSERT_TRUE(EstimateLinks(round.reports, {.soft = soft,
                                                .hybrid = hybrid,
                                                .threads = 1,
                                                .progress = [&](double fraction) { told.push_back(fraction); }})
                      .ok());
      EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
      EXPECT_EQ(told.back(), 1);
      // Every pass over the five tiles of rows is told tile by tile.
      double widest = 0;
      for (size_t k = 1; k < told.size(); ++k) widest = std::max(widest, told[k] - told[k - 1]);
      EXPECT_LT(widest, 0.3) << soft << hybrid;
      EXPECT_GT(told.size(), 15u);
    }
  }
}

TEST(Soft, DoesNotDependOnTheNumberOfThreads) {
  for (const uint64_t epsilon_micro : {1'000'000u, 6'000'000u}) {
    const Round round = MakeRound(1300, epsilon_micro, 100'000, 0.1, 5);
    const auto one = EstimateLinks(round.reports, {.soft = true, .threads = 1});
    const auto many = EstimateLinks(round.reports, {.soft = true, .threads = 7});
    ASSERT_TRUE(one.ok() && many.ok());
    EXPECT_TRUE(one->soft->links.neighbours() == many->soft->links.neighbours());
    EXPECT_EQ(one->soft->values, many->soft->values);
    EXPECT_EQ(one->soft->ones.any, many->soft->ones.any);
    EXPECT_EQ(one->soft->ones.both, many->soft->ones.both);
  }
}

TEST(Soft, KeepsAListWhereOnesAreFewAndBitsWhereTheyAreMany) {
  const Round few = MakeRound(1300, 6'000'000, 100'000, 0, 5), many = MakeRound(300, 1'000'000, 100'000, 0, 5);
  const auto list = EstimateLinks(few.reports, {.soft = true}), packed = EstimateLinks(many.reports, {.soft = true});
  ASSERT_TRUE(list.ok() && packed.ok());
  EXPECT_TRUE(list->soft->ones.empty());
  EXPECT_GT(list->soft->values.size(), 0u);
  EXPECT_FALSE(packed->soft->ones.empty());
  EXPECT_TRUE(packed->soft->values.empty());
}

TEST(Soft, IsTheBackgroundAloneWithoutBits) {
  const Round round = MakeRound(100, 2'000'000, 1'000'000, 0.2, 5);
  const auto estimate = EstimateLinks(round.reports, {.soft = true});
  ASSERT_TRUE(estimate.ok());
  EXPECT_TRUE(estimate->soft->has_background());
  EXPECT_TRUE(estimate->soft->ones.empty());
  EXPECT_EQ(estimate->soft->links.node_count(), 0u);
}

// The seed is fixed; for fresh ones a step multiplies the mean of five rounds by 1.2 or more, and the rounds of a step
// differ by about 10 %, so that an inversion is beyond four standard errors.
TEST(MissingReports, CostErrorInStepsUpToHalfTheNodes) {
  double before = 0;
  for (const double silent : {0.0, 0.1, 0.2, 0.3, 0.4, 0.5}) {
    double mae = 0, links = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      const Round round = MakeRound(600, 6'000'000, 100'000, silent, seed);
      const auto estimate = EstimateLinks(round.reports, {.truth = &round.truth});
      ASSERT_TRUE(estimate.ok()) << estimate.status();
      mae += estimate->mae / 5;
      links += static_cast<double>(round.truth.link_count()) / 5;
    }
    std::printf("%.0f %% silent: MAE %.3g\n", 100 * silent, mae);
    EXPECT_GT(mae, before);
    EXPECT_LT(mae, 2 * links / (600.0 * 600.0)) << "the error of an answer without links";
    before = mae;
  }
}

}  // namespace
}  // namespace blink
