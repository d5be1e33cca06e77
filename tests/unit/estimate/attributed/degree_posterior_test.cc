#include "aggregator_server/estimate/attributed/degree_posterior.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "aggregator_server/estimate/attributed/column_sums.h"
#include "aggregator_server/estimate/attributed/degree_distribution.h"
#include "aggregator_server/estimate/received_rows.h"
#include "tests/testing/instruction_sets.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

class ColumnSumsOf : public testing::EveryInstructionSet {};

TEST_P(ColumnSumsOf, CountTheOnesAboutEachNode) {
  for (const uint32_t n : {3u, 64u, 65u, 300u, 1100u}) {
    for (const double silent : {0.0, 0.5}) {
      const Round round = MakeRound(n, 1'000'000, 0, silent, n);
      std::vector<uint32_t> expected(n, 0);
      for (NodeIndex i = 0; i < n; ++i) {
        for (NodeIndex j = 0; j < n && round.reports.reported(i); ++j) expected[j] += BitOf(round.reports, i, j);
      }
      EXPECT_EQ(ColumnSums(round.reports, 1), expected);
      EXPECT_EQ(ColumnSums(round.reports, 3), expected);
    }
  }
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(ColumnSumsOf);

TEST(ColumnSums, HoldCountsBeyondOneCountersRangeAndRowsBeyondOneBlock) {
  constexpr uint32_t kNodes = 33'000;  // more words than one block, and 600 rows that are all ones
  ReportSet reports(*PrivacyParameters::Create(1'000'000, 0, kNodes));
  for (NodeIndex i = 0; i < 600; ++i) {
    PrivateReport report{BitRow(kNodes), std::nullopt};
    for (uint64_t& word : report.bits.mutable_words()) word = ~uint64_t{0};
    report.bits.ClearTail();
    report.bits.Clear(i);
    ASSERT_TRUE(reports.Add(i, std::move(report)).ok());
  }
  const std::vector<uint32_t> sums = ColumnSums(reports, 2);
  for (NodeIndex j = 0; j < kNodes; ++j) ASSERT_EQ(sums[j], j < 600 ? 599u : 600u) << j;
}

TEST(ColumnSums, AreZeroWithoutBits) {
  EXPECT_EQ(ColumnSums(MakeRound(50, 1'000'000, 1'000'000, 0, 1).reports, 1), std::vector<uint32_t>(50, 0));
  EXPECT_EQ(ColumnSums(ReportSet(*PrivacyParameters::Create(1'000'000, 0, 50)), 1), std::vector<uint32_t>(50, 0));
}

// What the comments of degree_posterior.cc say, pair by pair.
std::vector<DegreeEvidence> EvidenceSlowly(const ReportSet& reports) {
  const uint32_t n = reports.node_count();
  const double p = reports.parameters().flip_probability();
  std::vector<DegreeEvidence> nodes(n);
  for (NodeIndex i = 0; i < n; ++i) {
    double sum = 0, variance = 0, seen = 0;
    for (NodeIndex j = 0; j < n; ++j) {
      if (j == i || !reports.parameters().sends_bits()) continue;
      double bits = 0, ones = 0;
      if (reports.reported(i)) bits += 1, ones += BitOf(reports, i, j);
      if (reports.reported(j)) bits += 1, ones += BitOf(reports, j, i);
      if (bits == 0) continue;
      seen += 1;
      sum += (ones / bits - p) / (1 - 2 * p);
      variance += p * (1 - p) / ((1 - 2 * p) * (1 - 2 * p)) / bits;
    }
    if (seen > 0) {
      const double scale = (n - 1) / seen;
      nodes[i].sum = scale * sum;
      nodes[i].variance = scale * scale * variance + std::max(1.0, scale * sum) * (scale - 1);
    }
    if (reports.noisy_degree(i)) {
      nodes[i].noisy = *reports.noisy_degree(i);
      nodes[i].epsilon = reports.parameters().epsilon_degree();
    }
  }
  return nodes;
}

struct Case {
  uint32_t n;
  uint64_t epsilon_micro;
  uint32_t share_ppm;
  double silent;
};

class DegreePosteriorOf : public ::testing::TestWithParam<Case> {
 protected:
  const Case& c = GetParam();
  const Round round = MakeRound(c.n, c.epsilon_micro, c.share_ppm, c.silent, 7);
  const std::vector<DegreeEvidence> nodes = EvidenceSlowly(round.reports);
  const DegreeDistribution law = DegreeDistribution::Fit(nodes, 1);
  const DegreePosterior posterior = EstimateDegreePosterior(round.reports, 1);
};

TEST_P(DegreePosteriorOf, IsThatOfTheEvidencePairByPair) {
  ASSERT_EQ(posterior.mean.size(), c.n);
  for (NodeIndex i = 0; i < c.n; ++i) {
    EXPECT_NEAR(posterior.mean[i], law.PosteriorMean(nodes[i]), 1e-3 * posterior.mean[i]) << i;
    EXPECT_GT(posterior.mean[i], 0);
    EXPECT_LT(posterior.mean[i], c.n);
    const double deviation = std::sqrt(law.PosteriorMoments(nodes[i]).variance);
    EXPECT_NEAR(posterior.deviation[i], deviation, 1e-3 * deviation + 1e-6) << i;
  }
  EXPECT_EQ(posterior.mean, EstimateDegreePosterior(round.reports, 3).mean);
  EXPECT_EQ(std::isfinite(posterior.links_variance), c.share_ppm > 0 && round.reports.report_count() > 0);
}

INSTANTIATE_TEST_SUITE_P(Rounds, DegreePosteriorOf,
                         ::testing::Values(Case{3, 1'000'000, 100'000, 0}, Case{200, 1'000'000, 50'000, 0},
                                           Case{200, 4'000'000, 0, 0}, Case{200, 4'000'000, 1'000'000, 0},
                                           Case{300, 2'000'000, 20'000, 0.3}, Case{300, 8'000'000, 0, 0.9},
                                           Case{300, 2'000'000, 1'000'000, 0.5}, Case{100, 2'000'000, 20'000, 1.0},
                                           Case{100, 50'000'000, 500'000, 0.1}, Case{100, 1, 500'000, 0.1}));

// By the definition: the mean once more, from a sum that is a little larger. Then with a bit turned over.
TEST_P(DegreePosteriorOf, SaysHowFarThePairsOwnBitsHavePulledIt) {
  ASSERT_EQ(posterior.influence.size(), c.n);
  for (NodeIndex i = 0; i < c.n; ++i) {
    EXPECT_GE(posterior.influence[i], 0);
    EXPECT_LE(posterior.influence[i], DegreePosterior::kInfluenceMax);
    if (!nodes[i].sum.has_value()) {
      EXPECT_EQ(posterior.influence[i], 0);
      continue;
    }
    const double scale = round.reports.reported(i) ? 1 : (c.n - 1.0) / round.reports.report_count();
    const double step = 1e-3 * std::sqrt(nodes[i].variance);
    DegreeEvidence more = nodes[i], less = nodes[i];
    *more.sum += step;
    *less.sum -= step;
    const double slope = (std::log(law.PosteriorMean(more)) - std::log(law.PosteriorMean(less))) / (2 * step);
    const double bounded = std::min(DegreePosterior::kInfluenceMax, scale * std::min(slope, 1 / posterior.mean[i]));
    EXPECT_NEAR(posterior.influence[i], bounded, 2e-2 * bounded + 1e-4) << i;
  }
  EXPECT_EQ(posterior.influence, EstimateDegreePosterior(round.reports, 3).influence);
}

// The rule that no prior of a pair contains its bits, by the definition: turn one over, estimate again. What is left is
// the second order, and what the bit did to the law of all degrees.
TEST(DegreePosterior, WithoutAPairsOwnBitsIsTheSameWhateverTheyAre) {
  constexpr uint32_t kNodes = 300;
  const Round round = MakeRound(kNodes, 1'500'000, 50'000, 0.1, 3);
  const double p = round.reports.parameters().flip_probability();
  const auto base = [&](const DegreePosterior& degrees, const ReportSet& reports, NodeIndex i, NodeIndex j) {
    const Evidence evidence = EvidenceOf(reports, i, j);
    return std::log(degrees.mean[i]) + std::log(degrees.mean[j]) -
           (degrees.influence[i] + degrees.influence[j]) * DegreePosterior::OwnBits(evidence.reports, evidence.ones, p);
  };
  const DegreePosterior before = EstimateDegreePosterior(round.reports, 1);
  double with = 0, without = 0;
  for (NodeIndex i = 1; i < kNodes; i += 29) {
    const NodeIndex j = (i * 7 + 11) % kNodes;
    if (!round.reports.reported(i) || i == j) continue;
    ReportSet turned(round.reports.parameters());
    for (NodeIndex k = 0; k < kNodes; ++k) {
      if (!round.reports.reported(k)) continue;
      PrivateReport report{BitRow(kNodes), round.reports.noisy_degree(k)};
      for (NodeIndex m = 0; m < kNodes; ++m) {
        if (m != k && (BitOf(round.reports, k, m) == 1) != (k == i && m == j)) report.bits.Set(m);
      }
      ASSERT_TRUE(turned.Add(k, std::move(report)).ok());
    }
    const DegreePosterior after = EstimateDegreePosterior(turned, 1);
    with += std::abs(std::log(after.mean[i] * after.mean[j] / before.mean[i] / before.mean[j]));
    without += std::abs(base(after, turned, i, j) - base(before, round.reports, i, j));
  }
  EXPECT_GT(with, 0.1);
  EXPECT_LT(without, 0.15 * with);
}

TEST(DegreePosterior, CountsAPairsOwnBitsAsTheSumOfTheNodeDoes) {
  EXPECT_EQ(DegreePosterior::OwnBits(0, 0, 0.25), 0);
  EXPECT_EQ(DegreePosterior::OwnBits(1, 0, 0.25), -0.5);
  EXPECT_EQ(DegreePosterior::OwnBits(1, 1, 0.25), 1.5);
  EXPECT_EQ(DegreePosterior::OwnBits(2, 1, 0.25), 0.5);
  EXPECT_EQ(DegreePosterior::OwnBits(2, 2, 0.25), 1.5);
}

TEST(DegreePosterior, IsPulledByNoBitWithoutEmpiricalBayes) {
  const Round round = MakeRound(50, 2'000'000, 100'000, 0, 1);
  EXPECT_EQ(EstimateDegreePosterior(round.reports, 1, false).influence, std::vector<double>(50, 0.0));
}

double RootMeanSquare(const std::vector<double>& degrees, const CsrGraph& truth) {
  double sum = 0;
  for (NodeIndex i = 0; i < truth.node_count(); ++i) sum += std::pow(degrees[i] - truth.DegreeOf(i), 2);
  return std::sqrt(sum / truth.node_count());
}

TEST(DegreePosterior, IsNearerToTheDegreesThanWhatWasSent) {
  for (const double silent : {0.0, 0.2}) {
    const Round round = MakeRound(800, 2'000'000, 50'000, silent, 8);
    const double with = RootMeanSquare(EstimateDegreePosterior(round.reports, 1).mean, round.truth);
    const double without = RootMeanSquare(EstimateDegreePosterior(round.reports, 1, false).mean, round.truth);
    EXPECT_LT(with, 0.5 * without);
  }
}

// Of 1,000 degrees about 950 lie within two deviations; fewer than 900 have a chance below 1e-9 if they were
// independent and normal.
TEST(DegreePosterior, KnowsHowFarItErrs) {
  const uint32_t n = 1000;
  const Round round = MakeRound(n, 2'000'000, 100'000, 0.1, 11);
  const DegreePosterior posterior = EstimateDegreePosterior(round.reports, 2);
  uint32_t within = 0;
  for (NodeIndex i = 0; i < n; ++i) {
    within += std::abs(posterior.mean[i] - round.truth.DegreeOf(i)) <= 2 * posterior.deviation[i] + 0.5 ? 1 : 0;
  }
  EXPECT_GT(within, 900u);
  EXPECT_LT(within, n) << "a deviation that no degree exceeds says nothing";
}

TEST(DegreePosterior, WithoutEmpiricalBayesIsWhatWasSentClipped) {
  const Round round = MakeRound(100, 1'000'000, 500'000, 0, 9);
  const DegreePosterior posterior = EstimateDegreePosterior(round.reports, 1, false);
  for (NodeIndex i = 0; i < 100; ++i)
    EXPECT_EQ(posterior.mean[i], std::clamp<double>(*round.reports.noisy_degree(i), 1, 98));
}

TEST(DegreePosterior, KnowsTheDegreesWhenTheBudgetIsLarge) {
  const Round round = MakeRound(300, 40'000'000, 500'000, 0, 10);
  const DegreePosterior posterior = EstimateDegreePosterior(round.reports, 1);
  for (NodeIndex i = 0; i < 300; ++i) {
    const double degree = round.truth.DegreeOf(i);
    EXPECT_NEAR(posterior.mean[i], degree, degree == 0 ? 0.4 : 0.02 * degree + 0.02);
  }
}

ReportSet AllDegrees(uint32_t n, int64_t degree, uint32_t reporting, uint64_t epsilon_micro = 2'000'000) {
  ReportSet reports(*PrivacyParameters::Create(epsilon_micro, 1'000'000, n));
  for (NodeIndex i = 0; i < reporting; ++i) EXPECT_TRUE(reports.Add(i, {BitRow(), degree}).ok());
  return reports;
}

TEST(DegreePosterior, OfEqualDegreesIsEqual) {
  const DegreePosterior posterior = EstimateDegreePosterior(AllDegrees(500, 12, 500), 1);
  for (const double mean : posterior.mean) EXPECT_NEAR(mean, 12, 1.5);
  EXPECT_EQ(std::count(posterior.mean.begin(), posterior.mean.end(), posterior.mean[0]), 500);
}

TEST(DegreePosterior, GivesASilentNodeTheMeanWhenThereAreNoBits) {
  const DegreePosterior posterior = EstimateDegreePosterior(AllDegrees(500, 12, 400), 1);
  EXPECT_NEAR(posterior.mean[499], 12, 2);
}

TEST(DegreePosterior, ObservesHalfTheSumOfTheNoisyDegrees) {
  const double noise = 2 * std::exp(-2.0) / std::pow(1 - std::exp(-2.0), 2);
  const DegreePosterior all = EstimateDegreePosterior(AllDegrees(500, 12, 500), 1);
  EXPECT_NEAR(all.links, 3000, 1e-9);
  EXPECT_NEAR(all.links_variance, 500 * noise / 4 + 3000, 1e-6);
  const DegreePosterior some = EstimateDegreePosterior(AllDegrees(500, 12, 250), 1);
  EXPECT_NEAR(some.links, 3000, 1e-9);
  EXPECT_NEAR(some.links_variance, 4 * 250 * noise / 4 + 3000, 1e-6);
}

TEST(DegreePosterior, TrustsTheTotalLessWhenDegreesThatDifferAreMissing) {
  ReportSet reports(*PrivacyParameters::Create(20'000'000, 1'000'000, 100));
  for (NodeIndex i = 0; i < 50; ++i) ASSERT_TRUE(reports.Add(i, {BitRow(), i % 2 == 0 ? 0 : 20}).ok());
  // deviation 10 of 50 degrees, half of them missing: (100 / 2)^2 * 100 / 50 * (1 - 50 / 100)
  EXPECT_NEAR(EstimateDegreePosterior(reports, 1).links_variance, 2500 + 500, 1);
}

TEST(DegreePosterior, ObservesNoTotalWithoutDegreesOrReports) {
  EXPECT_EQ(EstimateDegreePosterior(MakeRound(50, 1'000'000, 0, 0, 1).reports, 1).links_variance,
            std::numeric_limits<double>::infinity());
  const DegreePosterior nothing = EstimateDegreePosterior(AllDegrees(50, 3, 0), 1);
  EXPECT_EQ(nothing.links_variance, std::numeric_limits<double>::infinity());
  for (const double mean : nothing.mean) EXPECT_TRUE(mean > 0 && mean < 50);
}

TEST(DegreePosterior, OfAbsurdNoisyDegreesIsStillADegree) {
  for (const int64_t degree : {int64_t{-1'000'000'000'000}, int64_t{1'000'000'000'000}}) {
    const DegreePosterior posterior = EstimateDegreePosterior(AllDegrees(50, degree, 50, 1), 1);
    for (const double mean : posterior.mean) EXPECT_TRUE(mean > 0 && mean < 50) << mean;
  }
}

}  // namespace
}  // namespace blink
