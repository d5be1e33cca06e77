// Nodes that lie, among honest ones. Fixed seeds; every fleet's honest nodes are flagged with probability at most
// 10^-3.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "aggregator_server/plausibility/detection_power.h"
#include "aggregator_server/plausibility/plausibility.h"
#include "tests/unit/plausibility/fleet.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using testing::List;

constexpr uint32_t kNodes = 2708;

PrivacyParameters Parameters(double epsilon, double share = 0.1, uint32_t nodes = kNodes) {
  return PrivacyParameters::Create(static_cast<uint64_t>(epsilon * 1e6), static_cast<uint32_t>(share * 1e6), nodes)
      .value();
}

const CsrGraph& Graph() {
  static const auto* const graph = new CsrGraph(testing::HeavyTailedGraph(kNodes, 3.9, 1));
  return *graph;
}

// `count` nodes, spread over all.
List Liars(uint32_t count) {
  List liars;
  for (uint32_t k = 0; k < count; ++k)
    liars.push_back(static_cast<NodeIndex>((uint64_t{k} * kNodes + kNodes / 2) / count));
  return liars;
}

std::set<NodeIndex> Flagged(const Plausibility& result) {
  std::set<NodeIndex> nodes;
  for (const ImplausibleReport& report : result.flagged) nodes.insert(report.node);
  return nodes;
}

std::string TestOf(const Plausibility& result, NodeIndex node) {
  for (const ImplausibleReport& report : result.flagged) {
    if (report.node == node) return report.test;
  }
  return "";
}

// How many of `liars` are flagged; nobody else may be.
uint32_t Caught(const Plausibility& result, const List& liars) {
  uint32_t caught = 0;
  for (const NodeIndex node : Flagged(result)) {
    const bool liar = std::find(liars.begin(), liars.end(), node) != liars.end();
    EXPECT_TRUE(liar) << "honest node " << node << " is flagged by " << TestOf(result, node);
    caught += liar;
  }
  return caught;
}

Plausibility TestLiars(const PrivacyParameters& parameters, const List& liars, const testing::Lie& lie,
                       uint64_t seed = 9) {
  return TestPlausibility(testing::Gather(parameters, testing::DrawFleet(Graph(), parameters, seed, liars, lie)), {}, 2)
      .value();
}

// The fleet of honest reports, in which the nodes of `liars` send what `forge` makes of theirs.
Plausibility TestForged(const PrivacyParameters& parameters, const List& liars,
                        const std::function<void(NodeIndex, PrivateReport&)>& forge) {
  std::vector<PrivateReport> reports = testing::DrawFleet(Graph(), parameters, 9);
  for (const NodeIndex node : liars) forge(node, reports[node]);
  return TestPlausibility(testing::Gather(parameters, reports), {}, 2).value();
}

PrivateReport Bits(const PrivateReport& like) { return {BitRow(like.bits.size()), like.noisy_degree}; }

TEST(DetectionPower, IsThatOfSimulatedLiars) {
  // 300 liars alone among honest nodes each, so binomial with a standard deviation of at most 0.03: five of them.
  for (const double epsilon : {2.0, 6.0, 8.0}) {
    const auto parameters = Parameters(epsilon, 0.0);
    const ReportTests tests = ReportTests::Create(parameters, {}).value();
    const double p = parameters.flip_probability();
    std::mt19937_64 random(4);
    for (const double goal : {0.5, 0.95}) {
      const uint32_t links = FindSmallestLieSeen(tests, goal).value();
      EXPECT_GE(ComputeDetectionProbability(tests, kNodes - 1, links), goal);
      EXPECT_LT(ComputeDetectionProbability(tests, kNodes - 1, links - 1), goal);
      std::binomial_distribution<int> noise(static_cast<int>(kNodes - 1 - links), p * (1 - p)),
          lies(static_cast<int>(links), (1 - p) * (1 - p));
      int caught = 0;
      for (int t = 0; t < 300; ++t) {
        const int count = noise(random) + lies(random);
        caught += tails::ZScore(1, tails::BinomialAtLeast(count, kNodes - 1, p * (1 - p))) > tests.threshold_z();
      }
      EXPECT_NEAR(caught / 300.0, ComputeDetectionProbability(tests, kNodes - 1, links), 0.15) << epsilon;
    }
  }
}

// The table of docs/THREAT_MODEL.md.
TEST(DetectionPower, IsThatOfTheDocumentation) {
  const std::vector<std::tuple<double, uint32_t, uint32_t>> cora = {
      {1, 388, 508}, {2, 155, 202}, {4, 54, 69}, {6, 24, 30}, {8, 12, 14}};
  for (const auto& [epsilon, half, most] : cora) {
    const ReportTests tests = ReportTests::Create(Parameters(epsilon), {}).value();
    EXPECT_EQ(FindSmallestLieSeen(tests, 0.5), half) << epsilon;
    EXPECT_EQ(FindSmallestLieSeen(tests, 0.95), most) << epsilon;
  }
  const std::vector<std::tuple<double, uint32_t, uint32_t>> facebook = {
      {1, 1175, 1512}, {2, 467, 599}, {4, 156, 198}, {6, 64, 81}, {8, 29, 36}};
  for (const auto& [epsilon, half, most] : facebook) {
    const ReportTests tests = ReportTests::Create(Parameters(epsilon, 0.1, 22470), {}).value();
    EXPECT_EQ(FindSmallestLieSeen(tests, 0.5), half) << epsilon;
    EXPECT_EQ(FindSmallestLieSeen(tests, 0.95), most) << epsilon;
  }
}

TEST(DetectionPower, IsNoneWithoutBits) {
  const ReportTests tests = ReportTests::Create(Parameters(4, 1), {}).value();
  EXPECT_EQ(ComputeDetectionProbability(tests, kNodes - 1, 100), 0);
  EXPECT_FALSE(FindSmallestLieSeen(tests, 0.5).has_value());
  EXPECT_FALSE(FindSmallestLieSeen(ReportTests::Create(Parameters(0.01), {}).value(), 0.5).has_value());
}

TEST(Adversary, ThatInflatesItsListIsSeenFromTheStatedSizeOn) {
  for (const double epsilon : {1.0, 2.0, 4.0, 6.0, 8.0}) {
    const auto parameters = Parameters(epsilon);
    const uint32_t links = FindSmallestLieSeen(ReportTests::Create(parameters, {}).value(), 0.95).value();
    const List liars = Liars(27);  // 1 % of the nodes
    const Plausibility result = TestLiars(parameters, liars, testing::Inflate(kNodes, 2 * links, 3));
    EXPECT_EQ(Caught(result, liars), 27u) << "epsilon " << epsilon << ", " << 2 * links << " links";
    EXPECT_TRUE(result.symmetric) << result.note;
    for (const NodeIndex liar : liars) EXPECT_EQ(TestOf(result, liar), "unconfirmed");
  }
}

TEST(Adversary, ThatLiesAboutAFewLinksIsNotSeen) {
  for (const double epsilon : {1.0, 4.0, 8.0}) {
    const auto parameters = Parameters(epsilon);
    const uint32_t links = FindSmallestLieSeen(ReportTests::Create(parameters, {}).value(), 0.5).value();
    const List liars = Liars(5);
    EXPECT_EQ(Caught(TestLiars(parameters, liars, testing::Inflate(kNodes, links / 4, 3)), liars), 0u)
        << "epsilon " << epsilon;
  }
}

TEST(Adversary, ThatHidesAllItsLinksIsSeenWhereItHasEnough) {
  const auto parameters = Parameters(8);
  const uint32_t links = FindSmallestLieSeen(ReportTests::Create(parameters, {}).value(), 0.95).value();
  List hubs;
  for (NodeIndex i = 0; i < kNodes; ++i) {
    if (Graph().DegreeOf(i) >= 2 * links) hubs.push_back(i);
  }
  ASSERT_GE(hubs.size(), 3u);
  const Plausibility result = TestLiars(parameters, hubs, testing::HideAll);
  EXPECT_EQ(Caught(result, hubs), hubs.size());
  for (const NodeIndex hub : hubs) EXPECT_EQ(TestOf(result, hub), "omitted");
  const List small = {2000, 2001, 2002};  // a few links each
  EXPECT_EQ(Caught(TestLiars(parameters, small, testing::HideAll), small), 0u);
}

TEST(Adversary, ThatSendsNothingButOnesIsSeen) {
  for (const double epsilon : {1.0, 4.0, 8.0}) {
    const List liars = Liars(27);
    const Plausibility result = TestForged(Parameters(epsilon), liars, [](NodeIndex self, PrivateReport& report) {
      for (NodeIndex j = 0; j < kNodes; ++j) report.bits.Set(j);
      report.bits.Clear(self);
    });
    EXPECT_EQ(Caught(result, liars), 27u) << epsilon;
    EXPECT_TRUE(result.symmetric);
  }
}

TEST(Adversary, ThatSendsNothingButZerosIsSeenWhereNoiseIs) {
  const List liars = Liars(27);
  const auto zeros = [](NodeIndex, PrivateReport& report) { report = Bits(report); };
  EXPECT_EQ(Caught(TestForged(Parameters(1), liars, zeros), liars), 27u);
  EXPECT_EQ(Caught(TestForged(Parameters(4), liars, zeros), liars), 27u);
  // At epsilon 8 a node without links sends two ones: only who hides many links by it can be seen.
  for (const NodeIndex node : Flagged(TestForged(Parameters(8), liars, zeros))) EXPECT_GE(Graph().DegreeOf(node), 12u);
}

TEST(Adversary, ThatSendsItsListWithoutNoiseIsSeenWhereNoiseIs) {
  const List liars = Liars(27);
  const auto raw = [](NodeIndex self, PrivateReport& report) {
    report = Bits(report);
    for (const NodeIndex j : Graph().NeighboursOf(self)) report.bits.Set(j);
  };
  EXPECT_EQ(Caught(TestForged(Parameters(1), liars, raw), liars), 27u);
  EXPECT_EQ(Caught(TestForged(Parameters(4), liars, raw), liars), 27u);
}

TEST(Adversary, ThatSendsFairCoinsIsSeen) {
  const List liars = Liars(27);
  std::mt19937_64 random(8);
  for (const double epsilon : {1.0, 4.0, 8.0}) {
    const auto garbage = [&](NodeIndex self, PrivateReport& report) {
      for (uint64_t& word : report.bits.mutable_words()) word = random();
      report.bits.ClearTail();
      report.bits.Clear(self);
    };
    EXPECT_EQ(Caught(TestForged(Parameters(epsilon), liars, garbage), liars), 27u) << epsilon;
  }
}

TEST(Adversary, ThatCopiesAnothersReportIsSeenWhereThatOneHasEnoughLinks) {
  const auto parameters = Parameters(8);
  const std::vector<PrivateReport> honest = testing::DrawFleet(Graph(), parameters, 9);
  const uint32_t links = FindSmallestLieSeen(ReportTests::Create(parameters, {}).value(), 0.95).value();
  NodeIndex hub = 0;
  for (NodeIndex i = 0; i < kNodes; ++i) hub = Graph().DegreeOf(i) > Graph().DegreeOf(hub) ? i : hub;
  ASSERT_GT(Graph().DegreeOf(hub), 2 * links);
  const List liars = {2000};
  const Plausibility result = TestForged(parameters, liars, [&](NodeIndex self, PrivateReport& report) {
    report = honest[hub];
    report.bits.Clear(self);
  });
  EXPECT_EQ(Caught(result, liars), 1u);
  EXPECT_EQ(TestOf(result, 2000), "unconfirmed");
}

TEST(Adversary, ThatNamesAWrongDegreeIsSeenBeyondTheNoise) {
  for (const double epsilon : {1.0, 4.0, 8.0}) {
    const double scale = 1 / (0.1 * epsilon) + std::sqrt(kNodes * Parameters(epsilon).flip_probability());
    for (const double wrong : {-9.2e18, -1e6, -40 * scale, 40 * scale, 1e6, 9.2e18}) {
      const List liars = {100, 2000};
      const Plausibility result = TestForged(Parameters(epsilon), liars, [&](NodeIndex, PrivateReport& report) {
        report.noisy_degree = static_cast<int64_t>(wrong);
      });
      EXPECT_EQ(Caught(result, liars), 2u) << epsilon << " " << wrong;
      EXPECT_EQ(TestOf(result, 100), "degree");
    }
  }
}

TEST(Adversary, InOneOfTwentyNodesMakesNoHonestNodeLookGuilty) {
  for (const double epsilon : {1.0, 4.0, 8.0}) {
    const List liars = Liars(135);
    const Plausibility result = TestLiars(Parameters(epsilon), liars, testing::Inflate(kNodes, 1000, 3));
    EXPECT_EQ(Caught(result, liars), 135u) << epsilon;
    EXPECT_TRUE(result.symmetric) << result.note;
  }
}

TEST(Adversary, TwoNodesCanInventALinkBetweenThem) {
  std::vector<std::pair<NodeIndex, NodeIndex>> links = {{7, 2500}};
  const auto parameters = Parameters(8);
  const List liars = {7, 2500};
  EXPECT_EQ(Caught(TestLiars(parameters, liars,
                             [](NodeIndex self, List list) {
                               const NodeIndex other = self == 7 ? 2500 : 7;
                               if (std::find(list.begin(), list.end(), other) == list.end()) list.push_back(other);
                               return list;
                             }),
                   liars),
            0u);
}

TEST(Adversary, AMajorityThatClaimsLinksToOneNodeIsBelieved) {
  // 60 nodes claim one link each to node 2000, which has few: it looks as if it hid them, and they do not look guilty.
  List liars;
  for (NodeIndex i = 0; i < 60; ++i) liars.push_back(1000 + i);
  const Plausibility result = TestLiars(Parameters(8), liars, [](NodeIndex, List list) {
    if (std::find(list.begin(), list.end(), 2000) == list.end()) list.push_back(2000);
    return list;
  });
  EXPECT_EQ(Flagged(result), std::set<NodeIndex>{2000});
}

TEST(DirectedLists, AreNotedOnceAndFlagNobody) {
  List everybody(kNodes);
  std::iota(everybody.begin(), everybody.end(), 0);
  // Of every link only the end with the smaller number knows: hubs have the small numbers.
  const auto outgoing = [](NodeIndex self, List list) {
    list.erase(std::remove_if(list.begin(), list.end(), [&](NodeIndex j) { return j < self; }), list.end());
    return list;
  };
  const auto half = [](NodeIndex self, List list) {
    list.erase(std::remove_if(list.begin(), list.end(), [&](NodeIndex j) { return (self + j) % 2 == (j < self); }),
               list.end());
    return list;
  };
  for (const double epsilon : {1.0, 4.0, 8.0}) {
    for (const testing::Lie& lie : {testing::Lie(outgoing), testing::Lie(half)}) {
      const Plausibility result = TestLiars(Parameters(epsilon), everybody, lie);
      EXPECT_TRUE(result.flagged.empty()) << epsilon << ": " << result.flagged.size();
      EXPECT_EQ(result.symmetric, epsilon < 4) << "at epsilon 1 the difference drowns in noise";
      EXPECT_EQ(result.note.empty(), epsilon < 4) << result.note;
    }
  }
}

// The slow twin: every score as its formula says, from the reports one by one.
TEST(TestPlausibility, ScoresAreTheirFormulas) {
  constexpr uint32_t kFew = 70;
  const auto parameters = Parameters(2, 0.3, kFew);
  const CsrGraph graph = testing::HeavyTailedGraph(kFew, 5, 2);
  const std::vector<PrivateReport> drawn = testing::DrawFleet(graph, parameters, 5);
  ReportSet reports(parameters);
  for (NodeIndex i = 0; i < kFew; ++i) {
    if (i % 9 == 2) continue;
    ASSERT_TRUE(reports.Add(i, drawn[i]).ok());
  }
  const Plausibility result = TestPlausibility(reports, {}, 1).value();
  ASSERT_TRUE(result.flagged.empty());
  const double p = 1 / (1 + std::exp(2 * 0.7)), rate = p * (1 - p);
  const ReportTests tests = ReportTests::Create(parameters, {}).value();
  const auto z = [](int64_t count, int64_t trials, double probability) {
    return tails::ZScore(tails::BinomialAtMost(count, trials, probability),
                         tails::BinomialAtLeast(count, trials, probability));
  };
  for (NodeIndex i = 0; i < kFew; ++i) {
    if (!reports.reported(i)) continue;
    int64_t unconfirmed = 0, omitted = 0, witnesses = 0;
    for (NodeIndex j = 0; j < kFew; ++j) {
      if (j == i || !reports.reported(j)) continue;
      ++witnesses;
      unconfirmed += drawn[i].bits.Test(j) && !drawn[j].bits.Test(i);
      omitted += !drawn[i].bits.Test(j) && drawn[j].bits.Test(i);
    }
    EXPECT_NEAR(result.scores[i].unconfirmed, z(unconfirmed, witnesses, rate), 1e-9);
    EXPECT_NEAR(result.scores[i].omitted, z(omitted, witnesses, rate), 1e-9);
    EXPECT_EQ(result.scores[i].ones, tests.ScoreOnes(drawn[i].bits.Count()));
    EXPECT_EQ(result.scores[i].degree, tests.ScoreDegree(drawn[i].bits.Count(), *drawn[i].noisy_degree));
  }
}

// One end alone speaks of a pair: what is wrong with a report by itself is seen, and what the other end would
// contradict is not.
TEST(TestPlausibility, WithOneEndComparesNoTwoReports) {
  const auto parameters = PrivacyParameters::Create(2'000'000, 100'000, kNodes, Mechanism::kOneEnd).value();
  std::vector<PrivateReport> reports = testing::DrawFleet(Graph(), parameters, 3);
  const Plausibility honest = TestPlausibility(testing::Gather(parameters, reports), {}, 2).value();
  EXPECT_TRUE(honest.flagged.empty()) << "error probability 1e-3, fixed seed";
  EXPECT_THAT(honest.note, HasSubstr("the tests of pairs were not made"));
  EXPECT_TRUE(std::isnan(honest.scores[5].unconfirmed) && std::isnan(honest.scores[5].omitted));
  EXPECT_FALSE(std::isnan(honest.scores[5].ones) || std::isnan(honest.scores[5].degree));
  for (uint64_t& word : reports[4].bits.mutable_words()) word = ~uint64_t{0};
  reports[4].bits.ClearTail();
  *reports[7].noisy_degree = 1'000'000;
  const Plausibility liars = TestPlausibility(testing::Gather(parameters, reports), {}, 2).value();
  ASSERT_EQ(liars.flagged.size(), 2u);
  EXPECT_THAT((std::vector<NodeIndex>{liars.flagged[0].node, liars.flagged[1].node}),
              ::testing::UnorderedElementsAre(4, 7));
  const testing::List claimer = {9};
  const auto claimed = testing::DrawFleet(Graph(), parameters, 3, claimer, testing::Inflate(kNodes, 300, 1));
  EXPECT_TRUE(TestPlausibility(testing::Gather(parameters, claimed), {}, 2)->flagged.empty());
}

TEST(TestPlausibility, DoesNotDependOnTheNumberOfThreads) {
  const auto parameters = Parameters(4);
  const List liars = Liars(27);
  const ReportSet reports =
      testing::Gather(parameters, testing::DrawFleet(Graph(), parameters, 9, liars, testing::Inflate(kNodes, 300, 3)));
  const Plausibility a = TestPlausibility(reports, {}, 1).value(), b = TestPlausibility(reports, {}, 3).value();
  ASSERT_EQ(a.flagged.size(), b.flagged.size());
  for (size_t k = 0; k < a.flagged.size(); ++k) {
    EXPECT_EQ(a.flagged[k].node, b.flagged[k].node);
    EXPECT_EQ(a.flagged[k].z, b.flagged[k].z);
  }
  for (size_t k = 1; k < a.flagged.size(); ++k)
    EXPECT_GE(std::abs(a.flagged[k - 1].z), std::abs(a.flagged[k].z)) << "worst first";
}

TEST(TestPlausibility, RefusesABoundOutOfRange) {
  const ReportSet reports(Parameters(4));
  EXPECT_EQ(TestPlausibility(reports, {.degree_max = kNodes}, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace blink
