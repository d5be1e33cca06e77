// EstimateLinks against a dense twin that reads like Algorithms 2 and 3.
#include "aggregator_server/estimate/beta/denoise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "aggregator_server/estimate/beta/beta_prior.h"
#include "aggregator_server/estimate/beta/pair_scan.h"
#include "aggregator_server/estimate/degrees.h"
#include "aggregator_server/estimate/posterior.h"
#include "tests/unit/estimate/small_round.h"

namespace blink {
namespace {

struct Dense {
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  double sum = 0, mae = 0;
  uint64_t true_positives = 0;
};

// Algorithm 3 over all pairs, for given beta.
Dense DenoiseDensely(const Round& round, const std::vector<double>& beta_of_node) {
  const ReportSet& reports = round.reports;
  const PrivacyParameters& parameters = reports.parameters();
  const double p = parameters.flip_probability();
  const uint32_t n = reports.node_count();
  Dense dense;
  double difference = 0;
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = i + 1; j < n; ++j) {
      double logit = beta_of_node[i] + beta_of_node[j];
      for (const auto& [from, about] : {std::pair(i, j), std::pair(j, i)}) {
        if (parameters.sends_bits() && reports.reported(from))
          logit += (BitOf(reports, from, about) ? 1 : -1) * std::log((1 - p) / p);
      }
      const double probability = 1 / (1 + std::exp(-logit));
      dense.sum += probability;
      difference += std::abs(probability - round.truth.HasLink(i, j));
      if (logit > 1e-9) {  // P > 1/2, and not by rounding
        dense.links.emplace_back(i, j);
        dense.true_positives += round.truth.HasLink(i, j);
      }
    }
  }
  dense.mae = 2 * difference / (static_cast<double>(n) * n);
  return dense;
}

// d~ as section "Extremes" of the design says, in doubles over dense bits.
std::vector<int64_t> DegreesDensely(const ReportSet& reports) {
  const uint32_t n = reports.node_count();
  const double p = reports.parameters().flip_probability();
  std::vector<int64_t> degrees(n);
  double sum = 0;
  for (NodeIndex i = 0; i < n; ++i) {
    if (!reports.reported(i)) continue;
    double ones = 0;
    for (NodeIndex j = 0; j < n && reports.parameters().sends_bits(); ++j) ones += j != i && BitOf(reports, i, j);
    degrees[i] = reports.noisy_degree(i).has_value() ? *reports.noisy_degree(i)
                                                     : std::llround((ones - (n - 1) * p) / (1 - 2 * p));
    sum += std::clamp<double>(degrees[i], 1, n - 2);
  }
  for (NodeIndex i = 0; i < n; ++i) {
    if (reports.reported(i)) continue;
    const double received = reports.report_count();
    if (!reports.parameters().sends_bits()) {
      degrees[i] = std::llround(sum / received);
      continue;
    }
    double ones = 0;
    for (NodeIndex j = 0; j < n; ++j) ones += reports.reported(j) && BitOf(reports, j, i);
    degrees[i] = std::llround((ones - received * p) / (1 - 2 * p) * (n - 1) / received);
  }
  return degrees;
}

struct Case {
  uint32_t n;
  uint64_t epsilon_micro;
  uint32_t share_ppm;
  double silent;
};

class AgainstTheDenseTwin : public testing::TestWithParam<Case> {};

TEST_P(AgainstTheDenseTwin, GivesTheSameDegreesLinksAndSums) {
  const Case& c = GetParam();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const Round round = MakeRound(c.n, c.epsilon_micro, c.share_ppm, c.silent, seed);
    const DegreeEstimate degrees = EstimateDegrees(round.reports);
    const std::vector<int64_t> slow_degrees = DegreesDensely(round.reports);
    const DegreeClasses classes = ClassifyDegrees(degrees.degrees), slow_classes = ClassifyDegrees(slow_degrees);
    for (NodeIndex i = 0; i < c.n; ++i) {
      EXPECT_EQ(classes.degree[classes.class_of_node[i]], slow_classes.degree[slow_classes.class_of_node[i]])
          << "node " << i;
    }
    const auto estimate = EstimateLinks(round.reports, {.threads = 2, .truth = &round.truth});
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    EXPECT_EQ(estimate->nodes_without_report, c.n - round.reports.report_count());
    std::vector<double> beta;
    for (NodeIndex i = 0; i < c.n; ++i) beta.push_back(estimate->beta_fit->mle.beta[classes.class_of_node[i]]);
    const Dense dense = DenoiseDensely(round, beta);
    const CsrGraph expected = *CsrGraph::FromLinks(c.n, dense.links);
    EXPECT_TRUE(estimate->links().neighbours() == expected.neighbours());
    EXPECT_TRUE(estimate->links().offsets() == expected.offsets());
    EXPECT_NEAR(estimate->expected_links, dense.sum, 1e-9 * (1 + dense.sum));
    EXPECT_NEAR(estimate->mae, dense.mae, 1e-9 * dense.mae + 1e-15);
    EXPECT_EQ(estimate->true_positives, dense.true_positives);
  }
}

INSTANTIATE_TEST_SUITE_P(Rounds, AgainstTheDenseTwin,
                         testing::Values(Case{3, 2000000, 100000, 0}, Case{40, 500000, 100000, 0},
                                         Case{63, 4000000, 0, 0.2}, Case{64, 1000000, 0, 0},
                                         Case{65, 8000000, 100000, 0.3}, Case{130, 6000000, 500000, 0.1},
                                         Case{130, 2000000, 1000000, 0.2}, Case{150, 4000000, 1000000, 0},
                                         Case{200, 500000, 0, 0.5}, Case{300, 8000000, 100000, 0},
                                         Case{300, 6000000, 0, 0.9}, Case{290, 3000000, 100000, 0.05},
                                         Case{600, 5000000, 100000, 0.1}));

TEST(EstimateLinks, DoesNotDependOnTheNumberOfThreads) {
  const Round round = MakeRound(1300, 4000000, 100000, 0.1, 5);
  const auto one = EstimateLinks(round.reports, {.threads = 1, .truth = &round.truth});
  const auto many = EstimateLinks(round.reports, {.threads = 7, .truth = &round.truth});
  ASSERT_TRUE(one.ok() && many.ok());
  EXPECT_TRUE(one->links().neighbours() == many->links().neighbours());
  EXPECT_EQ(one->expected_links, many->expected_links);
  EXPECT_EQ(one->mae, many->mae);
}

TEST(EstimateLinks, FindsTheTrueGraphWithALargeBudget) {
  const Round round = MakeRound(200, 40000000, 100000, 0, 9);
  const auto estimate = EstimateLinks(round.reports, {.truth = &round.truth});
  ASSERT_TRUE(estimate.ok());
  EXPECT_TRUE(estimate->links().neighbours() == round.truth.neighbours());
  EXPECT_LT(estimate->mae, 1e-6);
}

TEST(EstimateLinks, ReportsProgressUpToOne) {
  const Round round = MakeRound(1100, 6000000, 100000, 0, 3);
  double last = -1;
  ASSERT_TRUE(EstimateLinks(round.reports, {.threads = 2,
                                            .progress =
                                                [&](double fraction) {
                                                  EXPECT_GE(fraction, last);
                                                  last = fraction;
                                                }})
                  .ok());
  EXPECT_EQ(last, 1.0);
}

TEST(EstimateLinks, RefusesARoundWithoutReports) {
  const ReportSet reports(*PrivacyParameters::Create(1000000, 100000, 10));
  EXPECT_EQ(EstimateLinks(reports, {}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(EstimateLinks, RefusesATruthOfAnotherSize) {
  const Round round = MakeRound(30, 1000000, 100000, 0, 3);
  const CsrGraph other = *CsrGraph::FromLinks(31, {});
  EXPECT_EQ(EstimateLinks(round.reports, {.truth = &other}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(EstimateLinks, SurvivesOneReportAndTheSmallestBudget) {
  for (const uint32_t share : {0u, 500000u, 999999u, 1000000u}) {
    Round round = MakeRound(50, 1, share, 0, 3);
    ReportSet alone(round.reports.parameters());
    PrivateReport report;
    if (round.reports.parameters().sends_bits()) report.bits = BitRow(50);
    if (share > 0) report.noisy_degree = -1'000'000'000'000;
    ASSERT_TRUE(alone.Add(7, report).ok());
    for (const ReportSet* reports : {&round.reports, &alone}) {
      const auto estimate = EstimateLinks(*reports, {});
      ASSERT_TRUE(estimate.ok()) << estimate.status();
      EXPECT_TRUE(std::isfinite(estimate->expected_links));
    }
  }
}

TEST(Posterior, TakesALinkOnlyAboveOneHalf) {
  const DegreeClasses classes =
      ClassifyDegrees({2, 2, 2, 2, 2});  // d = (n-1)/2: beta = 0, and P without bits is exactly 1/2
  BetaModel model;
  model.beta = {0.0};
  const BetaPrior prior(classes, model);
  const Posterior posterior(prior, 1.0);
  EXPECT_FALSE(posterior.IsLink(0, 0, {0, 0}));
  EXPECT_FALSE(posterior.IsLink(0, 0, {1, 0}));
  EXPECT_TRUE(posterior.IsLink(0, 0, {1, 1}));
  EXPECT_FALSE(posterior.IsLink(0, 0, {2, 1}));  // one of each cancels
  EXPECT_TRUE(posterior.IsLink(0, 0, {2, 2}));
  EXPECT_DOUBLE_EQ(posterior.Probability(0, 0, {2, 1}), 0.5);
}

TEST(Transpose64, MovesEveryBit) {
  std::mt19937_64 random(1);
  uint64_t block[64], original[64];
  for (int r = 0; r < 64; ++r) block[r] = original[r] = random();
  Transpose64(block);
  for (int r = 0; r < 64; ++r) {
    for (int c = 0; c < 64; ++c) ASSERT_EQ((block[c] >> r) & 1, (original[r] >> c) & 1);
  }
}

}  // namespace
}  // namespace blink
