#include "mechanisms/one_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "aggregator_server/estimate/attributed/degree_posterior.h"
#include "aggregator_server/estimate/beta/beta_model.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "aggregator_server/estimate/received_rows.h"
#include "mechanisms/own_pairs.h"
#include "tests/testing/random_doubles.h"
#include "tests/unit/mechanisms/small_graph.h"

namespace blink {
namespace {

using testing::GraphWithHubs;
using ::testing::HasSubstr;
using testing::Message;

constexpr uint32_t kEnds = 120;

struct Drawn {
  std::vector<PrivateReport> sent;
  ReportSet reports;
};

Drawn Draw(const CsrGraph& graph, const PrivacyParameters& parameters, uint64_t seed) {
  SeededRandom random(seed);
  const OneEndNode node(parameters);
  OneEndAggregator aggregator(parameters);
  std::vector<PrivateReport> sent;
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    sent.push_back(node.Report(i, graph.NeighboursOf(i), random).value());
    EXPECT_TRUE(aggregator.Add(i, sent.back()).ok());
  }
  return {std::move(sent), std::move(aggregator).Reports().value()};
}

TEST(OneEnd, PutsEveryBitIntoBothRows) {
  const CsrGraph graph = GraphWithHubs(kEnds);
  const Drawn drawn = Draw(graph, PrivacyParameters::Create(2'000'000, 200'000, kEnds).value(), 1);
  ASSERT_TRUE(drawn.reports.mirrored());
  for (NodeIndex i = 0; i < kEnds; ++i) {
    EXPECT_EQ(*drawn.reports.noisy_degree(i), 2 * *drawn.sent[i].noisy_degree);
    for (NodeIndex j = 0; j < kEnds; ++j) {
      if (i == j) continue;
      const bool sent =
          drawn.sent[Owns(PairRule::kParity, i, j) ? i : j].bits.Test(Owns(PairRule::kParity, i, j) ? j : i);
      EXPECT_EQ(EvidenceOf(drawn.reports, i, j).ones, sent ? 2 : 0) << i << ", " << j;
    }
  }
}

// P as the formula reads: logit P_ij = beta_i + beta_j +- ln((1 - p) / p) of the pair's one bit.
TEST(OneEnd, HasThePosteriorOfOneBit) {
  const CsrGraph graph = GraphWithHubs(kEnds);
  const auto parameters = PrivacyParameters::Create(2'000'000, 200'000, kEnds).value();
  const Drawn drawn = Draw(graph, parameters, 2);
  std::vector<int64_t> degrees;
  for (NodeIndex i = 0; i < kEnds; ++i) degrees.push_back(graph.DegreeOf(i) + i % 2);
  const LinkEstimate estimate =
      EstimateLinks(drawn.reports, {.soft = true, .truth = &graph, .degrees = degrees}).value();
  const DegreeClasses classes = ClassifyDegrees(degrees);
  const BetaModel model = FitBetaModel(classes).value();
  const double p = parameters.flip_probability(), weight = std::log((1 - p) / p);
  const std::vector<float> soft = testing::Dense(*estimate.soft);
  double expected = 0, error = 0;
  for (NodeIndex i = 0; i < kEnds; ++i) {
    for (NodeIndex j = 0; j < kEnds; ++j) {
      if (i == j) continue;
      const bool own = Owns(PairRule::kParity, i, j);
      const bool bit = drawn.sent[own ? i : j].bits.Test(own ? j : i);
      const double logit =
          model.beta[classes.class_of_node[i]] + model.beta[classes.class_of_node[j]] + (bit ? weight : -weight);
      const double probability = 1 / (1 + std::exp(-logit));
      ASSERT_NEAR(soft[i * kEnds + j], probability, 1e-5) << i << ", " << j;
      expected += probability / 2;
      error += std::abs(probability - (graph.HasLink(i, j) ? 1 : 0));
    }
  }
  EXPECT_NEAR(estimate.expected_links, expected, 1e-6 * expected);
  EXPECT_NEAR(estimate.mae, error / kEnds / kEnds, 1e-9);
}

// The noisy half, the bits about the node and the other degrees together, against the noisy half alone.
TEST(OneEnd, EstimatesDegreesBetterThanTwiceTheNoisyHalf) {
  const CsrGraph graph = GraphWithHubs(600);
  for (const uint64_t epsilon : {2'000'000, 6'000'000}) {
    const Drawn drawn = Draw(graph, PrivacyParameters::Create(epsilon, 200'000, 600).value(), 4);
    const DegreePosterior posterior = EstimateDegreePosterior(drawn.reports, /*threads=*/1);
    double doubled = 0, estimated = 0;
    for (NodeIndex i = 0; i < 600; ++i) {
      const double degree = graph.DegreeOf(i);
      doubled += std::abs(static_cast<double>(*drawn.reports.noisy_degree(i)) - degree);
      estimated += std::abs(posterior.mean[i] - degree);
    }
    EXPECT_LT(estimated, 0.7 * doubled) << epsilon;
    const double links = static_cast<double>(graph.link_count());
    EXPECT_LT(std::abs(posterior.links - links), 5 * std::sqrt(posterior.links_variance)) << "error probability 6e-7";
  }
}

// Of pairs without links, over 100 rounds: error probability 6e-7.
TEST(OneEnd, FlipsEveryPairOnceWithItsProbability) {
  const auto parameters = PrivacyParameters::Create(1'200'000, 250'000, 50).value();
  const CsrGraph empty = CsrGraph::FromLinks(50, {}).value();
  double ones = 0;
  for (uint64_t round = 0; round < 100; ++round) {
    for (const PrivateReport& report : Draw(empty, parameters, round).sent) ones += report.bits.Count();
  }
  EXPECT_LT(std::abs(testing::Deviations(ones, 100 * 50 * 49 / 2.0, parameters.flip_probability())), 5);
}

TEST(OneEnd, SendsNoBitsOrNoDegreeAtTheEndsOfTheShare) {
  const CsrGraph graph = GraphWithHubs(kEnds);
  const Drawn bits = Draw(graph, PrivacyParameters::Create(4'000'000, 0, kEnds).value(), 3);
  EXPECT_FALSE(bits.sent[0].noisy_degree.has_value());
  EXPECT_TRUE(EstimateLinks(bits.reports, {}).ok());
  const Drawn degrees = Draw(graph, PrivacyParameters::Create(4'000'000, 1'000'000, kEnds).value(), 3);
  EXPECT_TRUE(degrees.sent[0].bits.empty());
  EXPECT_TRUE(EstimateLinks(degrees.reports, {}).ok());
}

TEST(OneEnd, RefusesAOneAboutAnothersPair) {
  OneEndAggregator aggregator(PrivacyParameters::Create(1'000'000, 100'000, 10).value());
  PrivateReport report{BitRow(10), 1};
  report.bits.Set(3);  // 4 + 3 is odd: 4, the larger, reports it
  ASSERT_TRUE(aggregator.Add(4, report).ok());
  EXPECT_THAT(Message(aggregator.Add(5, report)), HasSubstr("that its other end reports")) << "5 + 3 is even";
  EXPECT_FALSE(aggregator.Add(4, report).ok()) << "twice";
  EXPECT_FALSE(aggregator.Add(10, report).ok());
}

TEST(OneEnd, WaitsForEveryReport) {
  OneEndAggregator aggregator(PrivacyParameters::Create(1'000'000, 100'000, 10).value());
  ASSERT_TRUE(aggregator.Add(4, {BitRow(10), 1}).ok());
  const auto reports = std::move(aggregator).Reports();
  EXPECT_EQ(reports.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(reports.status()), HasSubstr("9 of 10 nodes"));
}

TEST(OneEnd, TakesADegreeAtTheEndOfAllNumbers) {
  OneEndAggregator aggregator(PrivacyParameters::Create(1'000'000, 1'000'000, 3).value());
  for (NodeIndex i = 0; i < 3; ++i) {
    ASSERT_TRUE(aggregator.Add(i, {BitRow(), std::numeric_limits<int64_t>::min()}).ok());
  }
  EXPECT_LT(*std::move(aggregator).Reports().value().noisy_degree(0), 0);
}

}  // namespace
}  // namespace blink
