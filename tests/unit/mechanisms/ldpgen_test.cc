#include "mechanisms/ldpgen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "mechanisms/fine_laplace.h"
#include "tests/testing/random_doubles.h"
#include "tests/unit/mechanisms/small_graph.h"

namespace blink {
namespace {

using testing::GraphWithHubs;
using ::testing::HasSubstr;
using testing::Message;

// Asks every node the open question.
absl::Status Ask(const LdpGenNode& node, const CsrGraph& graph, RandomSource& random, LdpGenAggregator& aggregator) {
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    const auto answer = node.Answer(aggregator.groups(), i, graph.NeighboursOf(i), random);
    if (!answer.ok()) return answer.status();
    if (const absl::Status added = aggregator.Add(i, *answer); !added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::StatusOr<LinkWeights> LinksOf(const CsrGraph& graph, uint64_t epsilon_micro, uint64_t seed) {
  const LdpGenNode node = LdpGenNode::Create(epsilon_micro, graph.node_count()).value();
  SeededRandom random(seed + 100);
  LdpGenAggregator aggregator(node.parameters(), seed, /*threads=*/2);
  for (int question = 1; question <= 2; ++question) {
    if (const absl::Status asked = Ask(node, graph, random, aggregator); !asked.ok()) return asked;
    if (question == 1) {
      EXPECT_TRUE(aggregator.NextQuestion().ok());
    }
  }
  return std::move(aggregator).Links();
}

// The degree vector as it reads, plus noise that the same source draws.
TEST(LdpGen, AnswersWithTheLinksTowardsEachGroup) {
  constexpr uint32_t kNodes = 70;
  const CsrGraph graph = GraphWithHubs(kNodes);
  const LdpGenNode node = LdpGenNode::Create(3'000'000, kNodes).value();
  NodeGroups groups{.count = 5};
  for (NodeIndex i = 0; i < kNodes; ++i) groups.group_of.push_back(i * i % 5);
  SeededRandom random(4), same(4);
  for (NodeIndex i = 0; i < kNodes; ++i) {
    const std::vector<int64_t> answer = node.Answer(groups, i, graph.NeighboursOf(i), random).value();
    RandomBits bits(same);
    for (uint32_t j = 0; j < 5; ++j) {
      int64_t links = 0;
      for (const NodeIndex v : graph.NeighboursOf(i)) links += groups.group_of[v] == j ? 1 : 0;
      ASSERT_EQ(answer[j], links * kUnitsPerLink + DrawFineLaplace(3'000'000, 2, bits)) << "node " << i;
    }
  }
}

// By hand: eta = 4 and 10, epsilon = 2: f(2) = 2 + (4 - 4 (1 + sqrt 5) + 1), f(5) = 5 + (25 - 10 (1 + sqrt 5) + 1).
TEST(LdpGen, ChoosesItsGroupsByTheFormula) {
  const double f2 = 2 + 4 - 4 * (1 + std::sqrt(5.0)) + 1, f5 = 5 + 25 - 10 * (1 + std::sqrt(5.0)) + 1;
  ASSERT_LT((f2 + f5) / 2, 1);
  EXPECT_EQ(LdpGenGroupCount(std::vector<uint32_t>{4, 10}, 2), 1u) << "at least one";
  const double f20 = 20 + 400 - 40 * (1 + std::sqrt(5.0)) + 1;
  std::vector<uint32_t> degrees(1000, 4);
  for (int k = 0; k < 100; ++k) degrees[k] = 40;
  EXPECT_EQ(LdpGenGroupCount(degrees, 2), static_cast<uint32_t>(std::ceil((100 * f20 + 900 * f2) / 1000)));
  EXPECT_EQ(LdpGenGroupCount(std::vector<uint32_t>(10, 9), 0.001), 1u) << "f(4.5) is negative";
  EXPECT_EQ(LdpGenGroupCount(std::vector<uint32_t>(10, 50), 0.001), 10u) << "at most n";
}

// delta_i = sum over j of answer_j |groups j and i| / |group j|, as it reads. Some asked groups are empty.
TEST(LdpGen, SpreadsItsAnswersOverTheFinalGroups) {
  constexpr uint32_t kNodes = 150, kGroups = 9;
  NodeGroups asked{.count = kGroups}, final_groups{.count = kGroups};
  std::vector<float> answers;
  for (NodeIndex u = 0; u < kNodes; ++u) {
    asked.group_of.push_back(u * u % (kGroups - 2));
    final_groups.group_of.push_back(u % kGroups);
    for (uint32_t j = 0; j < kGroups; ++j) answers.push_back(static_cast<float>((u * 3 + j * 7) % 11));
  }
  const std::vector<float> vectors = LdpGenVectors(answers, asked, final_groups);
  ASSERT_EQ(vectors.size(), size_t{kNodes} * kGroups);
  for (NodeIndex u = 0; u < kNodes; ++u) {
    for (uint32_t i = 0; i < kGroups; ++i) {
      double delta = 0;
      for (uint32_t j = 0; j < kGroups; ++j) {
        double both = 0, members = 0;
        for (NodeIndex v = 0; v < kNodes; ++v) {
          members += asked.group_of[v] == j ? 1 : 0;
          both += asked.group_of[v] == j && final_groups.group_of[v] == i ? 1 : 0;
        }
        if (members > 0) delta += answers[u * kGroups + j] * both / members;
      }
      ASSERT_NEAR(vectors[u * kGroups + i], delta, 1e-4) << "node " << u << " towards " << i;
    }
  }
}

// Of each node how many nodes it names: in expectation between half of its degree and all of it.
TEST(LdpGen, KeepsTheDegreesWhereTheNoiseIsSmall) {
  constexpr uint32_t kNodes = 400;
  const CsrGraph truth = GraphWithHubs(kNodes);
  const auto weights = LinksOf(truth, 50'000'000, 3);
  ASSERT_TRUE(weights.ok()) << weights.status();
  std::vector<double> names(kNodes, 0);
  for (const NodeIndex u : weights->links.neighbours()) ++names[u];
  double a = 0, b = 0, aa = 0, bb = 0, ab = 0;
  for (NodeIndex i = 0; i < kNodes; ++i) {
    const double x = truth.DegreeOf(i), y = names[i];
    a += x / kNodes;
    b += y / kNodes;
    aa += x * x / kNodes;
    bb += y * y / kNodes;
    ab += x * y / kNodes;
  }
  EXPECT_GT(b, 0.45 * a);
  EXPECT_LT(b, 1.05 * a);
  EXPECT_GT((ab - a * b) / std::sqrt((aa - a * a) * (bb - b * b)), 0.8) << "their correlation";
}

TEST(LdpGen, RepeatsWithItsSeeds) {
  const CsrGraph graph = GraphWithHubs(120);
  const auto dense = [&](uint64_t seed) { return testing::Dense(LinksOf(graph, 2'000'000, seed).value()); };
  EXPECT_EQ(dense(1), dense(1));
  EXPECT_NE(dense(1), dense(2));
}

TEST(LdpGen, RefusesGroupsThatAreNoPartition) {
  const LdpGenNode node = LdpGenNode::Create(1'000'000, 4).value();
  SeededRandom random(1);
  EXPECT_THAT(Message(node.Answer({{0, 1, 0}, 2}, 0, {}, random).status()), HasSubstr("3 nodes have a group"));
  EXPECT_THAT(Message(node.Answer({{0, 1, 2, 0}, 2}, 0, {}, random).status()), HasSubstr("below 2"));
  EXPECT_FALSE(node.Answer({{0, 0, 0, 0}, 0}, 0, {}, random).ok());
}

TEST(LdpGen, RefusesWhatIsNoListOrBudget) {
  EXPECT_FALSE(LdpGenNode::Create(0, 4).ok());
  const LdpGenNode node = LdpGenNode::Create(1'000'000, 4).value();
  const NodeGroups groups{{0, 1, 0, 1}, 2};
  SeededRandom random(1);
  for (const std::vector<NodeIndex>& list : {std::vector<NodeIndex>{4}, {0}, {1, 1}}) {
    EXPECT_EQ(node.Answer(groups, 0, list, random).status().code(), absl::StatusCode::kInvalidArgument);
  }
  FailingRandom failing;
  EXPECT_EQ(node.Answer(groups, 0, {}, failing).status().code(), absl::StatusCode::kUnavailable);
}

TEST(LdpGen, WaitsForEveryAnswer) {
  const auto parameters = LdpGenNode::Create(1'000'000, 3).value().parameters();
  LdpGenAggregator aggregator(parameters, 1, 1);
  EXPECT_THAT(Message(aggregator.NextQuestion()), HasSubstr("3 of 3 nodes have not answered question 1"));
  for (NodeIndex i = 0; i < 3; ++i) ASSERT_TRUE(aggregator.Add(i, std::vector<int64_t>(2, 1024)).ok());
  EXPECT_THAT(Message(aggregator.Add(0, std::vector<int64_t>(2))), HasSubstr("twice"));
  EXPECT_FALSE(aggregator.Add(3, std::vector<int64_t>(2)).ok());
  ASSERT_TRUE(aggregator.NextQuestion().ok());
  EXPECT_EQ(aggregator.groups().count, 1u);
  EXPECT_THAT(Message(aggregator.Add(0, std::vector<int64_t>(2))), HasSubstr("expected are 1"));
  ASSERT_TRUE(aggregator.Add(0, std::vector<int64_t>(1)).ok());
  EXPECT_THAT(Message(std::move(aggregator).Links().status()), HasSubstr("2 of 3 nodes"));
}

TEST(LdpGen, MakesNoLinksBeforeTheSecondQuestion) {
  LdpGenAggregator aggregator(LdpGenNode::Create(1'000'000, 3).value().parameters(), 1, 1);
  EXPECT_EQ(std::move(aggregator).Links().status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace blink
