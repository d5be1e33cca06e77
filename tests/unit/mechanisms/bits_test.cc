// rr, symrr and dprr: the noise and the links, against dense matrices written as the formulas read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "common/privacy/privatizer.h"
#include "mechanisms/dprr.h"
#include "mechanisms/kind.h"
#include "mechanisms/rr.h"
#include "mechanisms/symrr.h"
#include "tests/testing/random_doubles.h"
#include "tests/unit/mechanisms/small_graph.h"

namespace blink {
namespace {

using testing::Dense;
using testing::Deviations;
using testing::GraphWithHubs;
using ::testing::HasSubstr;
using testing::Message;

constexpr uint32_t kNodes = 150;

// Of each node the flips that its report is made with: the noise does not depend on the list.
std::vector<BitRow> FlipsFrom(uint64_t seed, const PrivacyParameters& parameters) {
  SeededRandom random(seed);
  std::vector<BitRow> flips;
  for (NodeIndex i = 0; i < parameters.node_count(); ++i) {
    flips.push_back(DrawNoise(parameters, i, random).value().flips);
  }
  return flips;
}

TEST(Rr, MakesADirectedLinkOfEveryFlippedEntry) {
  const CsrGraph graph = GraphWithHubs(kNodes);
  const RrNode node = RrNode::Create(2'000'000, kNodes).value();
  const std::vector<BitRow> flips = FlipsFrom(1, node.parameters());
  SeededRandom random(1);
  RrAggregator aggregator(kNodes);
  for (NodeIndex i = 0; i < kNodes; ++i) {
    const auto report = node.Report(i, graph.NeighboursOf(i), random);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_TRUE(aggregator.Add(i, *report).ok());
  }
  const std::vector<float> dense = Dense(std::move(aggregator).Links().value());
  for (NodeIndex i = 0; i < kNodes; ++i) {
    for (NodeIndex j = 0; j < kNodes; ++j) {
      const bool reported = i != j && graph.HasLink(i, j) != flips[i].Test(j);
      ASSERT_EQ(dense[j * kNodes + i], reported ? 1 : 0) << i << " says of " << j;
    }
  }
}

TEST(Rr, AcceptsReportsInAnyOrder) {
  RrAggregator forwards(3), backwards(3);
  std::vector<BitRow> bits(3, BitRow(3));
  bits[0].Set(1);
  bits[2].Set(1);
  for (NodeIndex i = 0; i < 3; ++i) ASSERT_TRUE(forwards.Add(i, bits[i]).ok());
  for (NodeIndex i = 3; i-- > 0;) ASSERT_TRUE(backwards.Add(i, bits[i]).ok());
  EXPECT_EQ(Dense(std::move(forwards).Links().value()), Dense(std::move(backwards).Links().value()));
}

TEST(Rr, RefusesABudgetOutOfRange) {
  for (const uint64_t epsilon : {uint64_t{0}, uint64_t{50'000'001}}) {
    EXPECT_THAT(Message(RrNode::Create(epsilon, kNodes).status()), HasSubstr("epsilon"));
    EXPECT_FALSE(SymRrNode::Create(epsilon, kNodes).ok());
    EXPECT_FALSE(DpRrNode::Create(epsilon, kNodes).ok());
  }
  EXPECT_FALSE(RrNode::Create(1'000'000, 2).ok());
}

TEST(Rr, RefusesReportsThatAreNoReport) {
  RrAggregator aggregator(4);
  EXPECT_THAT(Message(aggregator.Add(0, BitRow(5))), HasSubstr("5 bits instead of 4"));
  EXPECT_FALSE(aggregator.Add(4, BitRow(4)).ok());
  BitRow itself(4);
  itself.Set(1);
  EXPECT_THAT(Message(aggregator.Add(1, itself)), HasSubstr("names 1"));
  ASSERT_TRUE(aggregator.Add(1, BitRow(4)).ok());
  EXPECT_THAT(Message(aggregator.Add(1, BitRow(4))), HasSubstr("twice"));
}

TEST(Rr, FailsWhenTheRandomSourceFails) {
  FailingRandom failing;
  const RrNode node = RrNode::Create(1'000'000, kNodes).value();
  EXPECT_EQ(node.Report(0, {}, failing).status().code(), absl::StatusCode::kUnavailable);
}

// What makes a link cost epsilon and not 2 epsilon: no report depends on the other entry.
TEST(SymRr, ReportsNoEntryOfAnotherPair) {
  const SymRrNode node = SymRrNode::Create(1'000'000, 100).value();
  std::vector<NodeIndex> all, own(41);
  for (NodeIndex j = 0; j < 100; ++j) {
    if (j != 41) all.push_back(j);
  }
  std::iota(own.begin(), own.end(), 0);
  SeededRandom a(3), b(3);
  EXPECT_EQ(node.Report(41, all, a).value(), node.Report(41, own, b).value());
}

TEST(SymRr, RefusesAListThatIsNone) {
  const SymRrNode node = SymRrNode::Create(1'000'000, 100).value();
  SeededRandom random(3);
  for (const std::vector<NodeIndex>& list : {std::vector<NodeIndex>{100}, {5}, {2, 2}}) {
    EXPECT_EQ(node.Report(5, list, random).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(SymRr, MirrorsTheLowerTriangle) {
  const CsrGraph graph = GraphWithHubs(kNodes);
  const SymRrNode node = SymRrNode::Create(2'000'000, kNodes).value();
  const std::vector<BitRow> flips = FlipsFrom(2, node.parameters());
  SeededRandom random(2);
  SymRrAggregator aggregator(kNodes);
  for (NodeIndex i = 0; i < kNodes; ++i) {
    ASSERT_TRUE(aggregator.Add(i, node.Report(i, graph.NeighboursOf(i), random).value()).ok());
  }
  const LinkWeights weights = std::move(aggregator).Links().value();
  const std::vector<float> dense = Dense(weights);
  for (NodeIndex i = 0; i < kNodes; ++i) {
    for (NodeIndex j = 0; j < i; ++j) {
      const float reported = graph.HasLink(i, j) != flips[i].Test(j) ? 1 : 0;
      ASSERT_EQ(dense[i * kNodes + j], reported) << i << ", " << j;
      ASSERT_EQ(dense[j * kNodes + i], reported) << i << ", " << j;
    }
  }
}

TEST(SymRr, RefusesBitsOfAnotherTriangle) {
  SymRrAggregator aggregator(5);
  EXPECT_THAT(Message(aggregator.Add(3, BitRow(5))), HasSubstr("5 bits instead of one for each of the 3 nodes"));
  EXPECT_FALSE(aggregator.Add(5, BitRow(5)).ok());
}

// Each pair is flipped with p, over all pairs of 200 draws: error probability 6e-7.
TEST(SymRr, FlipsEveryPairWithItsProbability) {
  const SymRrNode node = SymRrNode::Create(1'500'000, 60).value();
  SeededRandom random(9);
  double ones = 0, trials = 0;
  for (int draw = 0; draw < 200; ++draw) {
    for (NodeIndex i = 0; i < 60; ++i) {
      ones += node.Report(i, {}, random).value().Count();
      trials += i;
    }
  }
  EXPECT_LT(std::abs(Deviations(ones, trials, node.parameters().flip_probability())), 5);
}

TEST(DpRr, KeepsALinkWithTheStatedProbability) {
  const auto parameters = DpRrNode::Create(4'000'000, 1000).value().parameters();
  const double p = std::exp(0.9 * 4) / (1 + std::exp(0.9 * 4));  // of keeping a bit
  for (const double d : {1.0, 5.0, 80.0, 999.0}) {
    const double wanted = std::min(1.0, d / (d * (2 * p - 1) + 999 * (1 - p)));
    EXPECT_NEAR(DpRrKeepProbability(parameters, static_cast<int64_t>(d)), wanted, 1e-9) << d;
  }
  EXPECT_EQ(DpRrKeepProbability(parameters, 0), 0);
  EXPECT_EQ(DpRrKeepProbability(parameters, -7), 0);
  EXPECT_EQ(DpRrKeepProbability(parameters, 1'000'000), 1) << "clamped";
}

// The links that are left of a node's ones, of 2,000 reports of one degree: error probability 6e-7.
TEST(DpRr, KeepsAsManyLinksAsItsProbabilitySays) {
  constexpr uint32_t kMany = 2000;
  const auto parameters = DpRrNode::Create(4'000'000, kMany).value().parameters();
  DpRrAggregator aggregator(parameters, 11);
  double ones = 0;
  for (NodeIndex i = 0; i < kMany; ++i) {
    PrivateReport report{BitRow(kMany), 12};
    for (NodeIndex j = 0; j < 40; ++j) {
      if (j != i) report.bits.Set(j);
    }
    ones += report.bits.Count();
    ASSERT_TRUE(aggregator.Add(i, report).ok());
  }
  const LinkWeights weights = std::move(aggregator).Links().value();
  EXPECT_LT(std::abs(Deviations(weights.links.neighbours().size(), ones, DpRrKeepProbability(parameters, 12))), 5);
}

TEST(DpRr, KeepsOnlyReportedLinksAndTheSameOnesOfTheSameSeed) {
  const CsrGraph graph = GraphWithHubs(kNodes);
  const DpRrNode node = DpRrNode::Create(3'000'000, kNodes).value();
  const auto links_of = [&](uint64_t seed) {
    SeededRandom random(8);
    DpRrAggregator aggregator(node.parameters(), seed);
    for (NodeIndex i = 0; i < kNodes; ++i) {
      EXPECT_TRUE(aggregator.Add(i, node.Report(i, graph.NeighboursOf(i), random).value()).ok());
    }
    return Dense(std::move(aggregator).Links().value());
  };
  const std::vector<float> kept = links_of(1);
  EXPECT_EQ(kept, links_of(1));
  EXPECT_NE(kept, links_of(2));
  SeededRandom random(8);
  for (NodeIndex i = 0; i < kNodes; ++i) {
    const PrivateReport report = node.Report(i, graph.NeighboursOf(i), random).value();
    for (NodeIndex j = 0; j < kNodes; ++j) ASSERT_LE(kept[j * kNodes + i], report.bits.Test(j) ? 1 : 0);
  }
}

TEST(DpRr, RefusesAReportWithoutItsDegree) {
  DpRrAggregator aggregator(DpRrNode::Create(3'000'000, 4).value().parameters(), 1);
  EXPECT_THAT(Message(aggregator.Add(0, {BitRow(4), std::nullopt})), HasSubstr("without a degree"));
  EXPECT_THAT(Message(aggregator.Add(0, {BitRow(3), 1})), HasSubstr("3 bits"));
}

TEST(Kinds, CostALinkTwiceWhereBothEndsReportIt) {
  const auto parameters = PrivacyParameters::Create(2'000'000, 0, 100).value();
  for (const MechanismFacts& facts : kMechanisms) {
    if (!facts.draws_noise) continue;
    const MechanismCost cost = CostOf(facts.kind, parameters);
    EXPECT_NEAR(cost.epsilon_per_entry, 2, 1e-9) << facts.name;
    EXPECT_LE(cost.epsilon_per_entry, 2) << facts.name;
    EXPECT_EQ(cost.epsilon_per_link, facts.reports_once ? cost.epsilon_per_entry : 2 * cost.epsilon_per_entry)
        << facts.name;
  }
  EXPECT_TRUE(FactsOf(MechanismKind::kOneEnd).reports_once && FactsOf(MechanismKind::kSymRr).reports_once);
}

TEST(Kinds, AreFoundByTheirNames) {
  for (const MechanismFacts& facts : kMechanisms) EXPECT_EQ(MechanismOfName(facts.name), facts.kind);
  EXPECT_EQ(MechanismOfName("ONE-END"), MechanismKind::kOneEnd);
  EXPECT_EQ(MechanismOfName("rr2"), std::nullopt);
}

}  // namespace
}  // namespace blink
