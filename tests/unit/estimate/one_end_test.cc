// Rounds in which one end alone reports a pair (Mechanism::kOneEnd): from reports to evidence, degrees and P, against
// twins that read each pair's one bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/attributed/degree_posterior.h"
#include "aggregator_server/estimate/beta/beta_model.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "aggregator_server/estimate/degrees.h"
#include "aggregator_server/estimate/received_rows.h"
#include "common/privacy/privatizer.h"
#include "tests/testing/random_doubles.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

struct Drawn {
  CsrGraph truth;
  std::vector<std::optional<PrivateReport>> sent;  // [n]
  ReportSet reports;                               // mirrored

  // What was received about a pair: nothing, or the bit of its own end.
  std::optional<bool> BitOfPair(NodeIndex i, NodeIndex j) const {
    const NodeIndex end = OwnsPair(i, j) ? i : j, other = end == i ? j : i;
    if (!sent[end].has_value() || sent[end]->bits.empty()) return std::nullopt;
    return sent[end]->bits.Test(OwnPairPlace(end, other));
  }
};

Drawn Draw(uint32_t n, uint64_t epsilon_micro, uint32_t share_ppm, double silent, uint64_t seed) {
  const auto parameters = *PrivacyParameters::Create(epsilon_micro, share_ppm, n, Mechanism::kOneEnd);
  CsrGraph truth = MakeRound(n, epsilon_micro, share_ppm, 0, seed).truth;
  Drawn drawn{std::move(truth), std::vector<std::optional<PrivateReport>>(n), ReportSet(parameters)};
  SeededRandom random(seed);
  std::mt19937_64 dice(seed);
  for (NodeIndex i = 0; i < n; ++i) {
    if (static_cast<double>(dice() >> 11) * 0x1p-53 < silent) continue;
    drawn.sent[i] = *ApplyNoise(parameters, i, *DrawNoise(parameters, i, random), drawn.truth.NeighboursOf(i));
    EXPECT_TRUE(drawn.reports.Add(i, *drawn.sent[i]).ok());
  }
  EXPECT_TRUE(drawn.reports.Mirror().ok());
  return drawn;
}

struct Case {
  uint32_t n;
  uint64_t epsilon_micro;
  uint32_t share_ppm;
  double silent;
};
class OneEnd : public ::testing::TestWithParam<Case> {
 protected:
  const Drawn drawn_ = Draw(GetParam().n, GetParam().epsilon_micro, GetParam().share_ppm, GetParam().silent, 3);
  const uint32_t n_ = GetParam().n;
  const double weight_ = drawn_.reports.parameters().bit_log_odds();

  double EvidenceOfPair(NodeIndex i, NodeIndex j) const {
    const std::optional<bool> bit = drawn_.BitOfPair(i, j);
    return !bit ? 0 : *bit ? weight_ : -weight_;
  }
};
INSTANTIATE_TEST_SUITE_P(Rounds, OneEnd,
                         ::testing::Values(Case{3, 2'000'000, 100'000, 0}, Case{120, 2'000'000, 200'000, 0},
                                           Case{129, 2'000'000, 200'000, 0.3}, Case{130, 4'000'000, 0, 0.3},
                                           Case{64, 1'000'000, 100'000, 0.9}, Case{600, 3'000'000, 50'000, 0.1},
                                           Case{100, 4'000'000, 1'000'000, 0.3}, Case{100, 50'000'000, 500'000, 0.2}),
                         [](const ::testing::TestParamInfo<Case>& info) {
                           return absl::StrCat("Of", info.param.n, "NodesCase", info.index);
                         });

TEST_P(OneEnd, HasTheOneBitOfEachPairAsItsEvidence) {
  ASSERT_TRUE(drawn_.reports.mirrored());
  for (NodeIndex i = 0; i < n_; ++i) {
    if (drawn_.sent[i] && drawn_.sent[i]->noisy_degree) {
      EXPECT_EQ(*drawn_.reports.noisy_degree(i), 2 * *drawn_.sent[i]->noisy_degree);
    }
    for (NodeIndex j = 0; j < n_; ++j) {
      if (i == j) continue;
      const Evidence evidence = EvidenceOf(drawn_.reports, i, j);
      ASSERT_EQ((2 * evidence.ones - evidence.reports) * drawn_.reports.bit_log_odds(), EvidenceOfPair(i, j))
          << i << ", " << j;
    }
  }
}

// P as the formula reads: logit P_ij = beta_i + beta_j +- ln((1 - p) / p) of the pair's one bit, if it came.
TEST_P(OneEnd, HasThePosteriorOfOneBit) {
  if (drawn_.reports.report_count() == 0) GTEST_SKIP() << "by this seed nobody reports";
  std::vector<int64_t> degrees;
  for (NodeIndex i = 0; i < n_; ++i) degrees.push_back(drawn_.truth.DegreeOf(i) + i % 2);
  const LinkEstimate estimate =
      EstimateLinks(drawn_.reports, {.soft = true, .truth = &drawn_.truth, .degrees = degrees}).value();
  const DegreeClasses classes = ClassifyDegrees(degrees);
  const BetaModel model = FitBetaModel(classes).value();
  std::vector<float> row(n_);
  double expected = 0, error = 0;
  for (NodeIndex i = 0; i < n_; ++i) {
    FillRow(*estimate.soft, i, row.data());
    for (NodeIndex j = 0; j < n_; ++j) {
      if (i == j) continue;
      const double logit =
          model.beta[classes.class_of_node[i]] + model.beta[classes.class_of_node[j]] + EvidenceOfPair(i, j);
      const double probability = 1 / (1 + std::exp(-logit));
      ASSERT_NEAR(row[j], probability, 1e-5) << i << ", " << j;
      if (std::abs(logit) > 1e-6) {
        ASSERT_EQ(estimate.links().HasLink(i, j), logit > 0) << i << ", " << j;
      }
      expected += probability / 2;
      error += std::abs(probability - (drawn_.truth.HasLink(i, j) ? 1 : 0));
    }
  }
  EXPECT_NEAR(estimate.expected_links, expected, 1e-6 * expected + 1e-9);
  EXPECT_NEAR(estimate.mae, error / n_ / n_, 1e-9);
  EXPECT_EQ(estimate.nodes_without_report, n_ - drawn_.reports.report_count());
}

TEST_P(OneEnd, CountsThePairsThatTheirOwnEndReported) {
  if (!drawn_.reports.parameters().sends_bits()) GTEST_SKIP() << "no bits are sent";
  for (NodeIndex i = 0; i < n_; ++i) {
    uint32_t pairs = 0, ones = 0;
    for (NodeIndex j = 0; j < n_; ++j) {
      if (j == i) continue;
      const std::optional<bool> bit = drawn_.BitOfPair(i, j);
      pairs += bit.has_value();
      ones += bit.value_or(false);
    }
    const ObservedPairs seen = CountObservedPairs(drawn_.reports, i);
    ASSERT_EQ(seen.pairs, pairs) << i;
    ASSERT_EQ(seen.ones, ones) << i;
  }
}

TEST_P(OneEnd, EstimatesTheDegreeOfEveryNode) {
  if (drawn_.reports.report_count() == 0) GTEST_SKIP() << "by this seed nobody reports";
  const DegreePosterior posterior = EstimateDegreePosterior(drawn_.reports, /*threads=*/2);
  for (NodeIndex i = 0; i < n_; ++i) {
    EXPECT_GT(posterior.mean[i], 0) << i;
    EXPECT_LT(posterior.mean[i], n_) << i;
    EXPECT_LE(posterior.influence[i], DegreePosterior::kInfluenceMax) << i;
  }
  EXPECT_EQ(posterior.mean, EstimateDegreePosterior(drawn_.reports, /*threads=*/1).mean);
  EXPECT_EQ(EstimateDegreePosterior(drawn_.reports, 1, /*empirical_bayes=*/false).mean.size(), n_);
}

// The noisy half, the bits about the node and the other degrees together, against the noisy half alone.
TEST(OneEndDegrees, AreBetterThanTwiceTheNoisyHalf) {
  for (const uint64_t epsilon : {2'000'000, 6'000'000}) {
    const Drawn drawn = Draw(600, epsilon, 200'000, 0, 4);
    const DegreePosterior posterior = EstimateDegreePosterior(drawn.reports, /*threads=*/1);
    double doubled = 0, estimated = 0;
    for (NodeIndex i = 0; i < 600; ++i) {
      const double degree = drawn.truth.DegreeOf(i);
      doubled += std::abs(static_cast<double>(*drawn.reports.noisy_degree(i)) - degree);
      estimated += std::abs(posterior.mean[i] - degree);
    }
    EXPECT_LT(estimated, 0.7 * doubled) << epsilon;
    const double links = static_cast<double>(drawn.truth.link_count());
    EXPECT_LT(std::abs(posterior.links - links), 5 * std::sqrt(posterior.links_variance)) << "error probability 6e-7";
  }
}

// The sums of the degrees are those of the graph, whoever is silent: error probability 6e-7 each.
TEST(OneEndDegrees, HaveNoBiasWhereNodesAreSilent) {
  const Drawn drawn = Draw(600, 6'000'000, 0, 0.3, 5);
  for (const bool silent : {false, true}) {
    double sum = 0, expected = 0, variance = 0;
    for (NodeIndex i = 0; i < 600; ++i) {
      if (drawn.reports.reported(i) == silent) continue;
      const ObservedPairs seen = CountObservedPairs(drawn.reports, i);
      const double p = drawn.reports.parameters().flip_probability(), scale = 599.0 / seen.pairs;
      sum += (seen.ones - seen.pairs * p) / (1 - 2 * p) * scale;
      expected += drawn.truth.DegreeOf(i);
      variance += scale * scale * seen.pairs * p / (1 - 2 * p) + drawn.truth.DegreeOf(i) * (scale - 1);
    }
    EXPECT_LT(std::abs(sum - expected), 5 * std::sqrt(2 * variance)) << "a pair may be in two of the sums";
  }
}

// Of pairs without links, over 100 rounds: error probability 6e-7.
TEST(OneEndReports, FlipEveryPairOnceWithItsProbability) {
  const auto parameters = *PrivacyParameters::Create(1'200'000, 250'000, 50, Mechanism::kOneEnd);
  double ones = 0, pairs = 0;
  for (uint64_t round = 0; round < 100; ++round) {
    SeededRandom random(round);
    for (NodeIndex i = 0; i < 50; ++i) {
      const PrivateReport report = *ApplyNoise(parameters, i, *DrawNoise(parameters, i, random), {});
      ones += report.bits.Count();
      pairs += report.bits.size();
    }
  }
  EXPECT_EQ(pairs, 100 * 50 * 49 / 2.0);
  const double p = parameters.flip_probability();
  EXPECT_LT(std::abs(ones - pairs * p), 5 * std::sqrt(pairs * p * (1 - p)));
}

TEST(OneEndReports, StandWithTheirOwnPairsAlone) {
  ReportSet reports(*PrivacyParameters::Create(1'000'000, 100'000, 10, Mechanism::kOneEnd));
  PrivateReport report{BitRow(OwnPairCount(4, 10)), 1};
  for (uint32_t place = 0; place < report.bits.size(); ++place) report.bits.Set(place);
  ASSERT_TRUE(reports.Add(4, report).ok());
  for (NodeIndex j = 0; j < 10; ++j) EXPECT_EQ(BitOf(reports, 4, j), j != 4 && OwnsPair(4, j)) << j;
  reports.Drop(4);
  EXPECT_THAT(reports.row(4), ::testing::Each(0u));
}

TEST(OneEndReports, RefuseTheBitsOfAllPairs) {
  ReportSet reports(*PrivacyParameters::Create(1'000'000, 100'000, 10, Mechanism::kOneEnd));
  const absl::Status status = reports.Add(4, {BitRow(10), 1});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("10 bits instead of 4"));
}

TEST(OneEndReports, AreNotEstimatedFromBeforeTheyAreMirrored) {
  ReportSet reports(*PrivacyParameters::Create(1'000'000, 100'000, 10, Mechanism::kOneEnd));
  ASSERT_TRUE(reports.Add(4, {BitRow(4), 1}).ok());
  const absl::Status status = EstimateLinks(reports, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("call ReportSet::Mirror"));
  ASSERT_TRUE(reports.Mirror().ok());
  EXPECT_TRUE(EstimateLinks(reports, {}).ok());
}

TEST(OneEndReports, TakeADegreeAtTheEndOfAllNumbers) {
  ReportSet reports(*PrivacyParameters::Create(1'000'000, 1'000'000, 3, Mechanism::kOneEnd));
  for (NodeIndex i = 0; i < 3; ++i) ASSERT_TRUE(reports.Add(i, {BitRow(), std::numeric_limits<int64_t>::min()}).ok());
  ASSERT_TRUE(reports.Mirror().ok());
  EXPECT_LT(*reports.noisy_degree(0), 0);
}

}  // namespace
}  // namespace blink
