#include "tools/link_audit/node_groups.h"

#include <gtest/gtest.h>

#include <set>

#include "tools/link_audit/attack_runner.h"

namespace blink {
namespace {

// Node 0 has 20 neighbours, of which 1 and 2 are linked too. Node 21 has no link.
CsrGraph Star() {
  std::vector<std::pair<NodeIndex, NodeIndex>> links = {{1, 2}};
  for (NodeIndex j = 1; j <= 20; ++j) links.emplace_back(0, j);
  return CsrGraph::FromLinks(22, links).value();
}

TEST(MakeNodeGroups, TakesTheTenthsOfTheNodesThatHaveALink) {
  const auto groups = MakeNodeGroups(Star());
  EXPECT_EQ(groups[kEveryNode].nodes.size(), 22u);
  EXPECT_EQ(groups[kEveryNode].links, 21u);
  EXPECT_EQ(groups[kEveryNode].pairs, 22u * 21 / 2);
  EXPECT_EQ(groups[kLowDegree].nodes.size(), 18u) << "all that have as few links";
  EXPECT_EQ(groups[kLowDegree].degree_max, 1u);
  EXPECT_EQ(groups[kLowDegree].links, 18u);
  EXPECT_EQ(groups[kHighDegree].nodes, (std::vector<NodeIndex>{0, 1, 2}));
  EXPECT_EQ(groups[kHighDegree].degree_min, 2u);
  EXPECT_EQ(groups[kHighDegree].degree_max, 20u);
  EXPECT_EQ(groups[kHighDegree].links, 24u) << "a link between two of them counts for both";
}

TEST(MakeNodeGroups, LeavesNodesWithoutALinkOutOfTheLowDegrees) {
  const auto groups = MakeNodeGroups(Star());
  for (const NodeIndex node : groups[kLowDegree].nodes) EXPECT_NE(node, 21u);
}

TEST(MakeNodeGroups, GivesARegularGraphTheSameGroupTwice) {
  const CsrGraph ring = CsrGraph::FromLinks(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}).value();
  const auto groups = MakeNodeGroups(ring);
  EXPECT_EQ(groups[kLowDegree].nodes, groups[kHighDegree].nodes);
  EXPECT_DOUBLE_EQ(groups[kLowDegree].density(), groups[kEveryNode].density());
}

TEST(SampleNodes, TakesEachNodeEquallyOften) {
  const NodeIndex nodes[] = {3, 5, 8, 13};
  std::vector<int> taken(14);
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const std::vector<NodeIndex> sample = SampleNodes(nodes, 2, seed);
    ASSERT_EQ(sample.size(), 2u);
    ASSERT_LT(sample[0], sample[1]);
    for (const NodeIndex node : sample) ++taken[node];
  }
  // 2,000 are expected, with a deviation of 32: beyond 6 of them by chance once in 10^8.
  for (const NodeIndex node : nodes) EXPECT_NEAR(taken[node], 2000, 6 * 32);
}

TEST(SampleNodes, TakesAllWhereThereAreNoMore) {
  const NodeIndex nodes[] = {1, 4};
  EXPECT_EQ(SampleNodes(nodes, 5, 1), (std::vector<NodeIndex>{1, 4}));
}

TEST(ChooseRows, LooksAtEveryPairOfASmallGraphAndAtASampleOfALargeOne) {
  EXPECT_EQ(NodesToSample(4096), std::nullopt);
  EXPECT_EQ(NodesToSample(16'384), 1024u);
  EXPECT_EQ(NodesToSample(100'000'000), 1u);
  const auto groups = MakeNodeGroups(Star());
  EXPECT_TRUE(ChooseRows(groups, std::nullopt, 1).every_pair);
  const GroupRows sample = ChooseRows(groups, 2, 1);
  EXPECT_FALSE(sample.every_pair);
  for (const auto& rows : sample.rows) EXPECT_EQ(rows.size(), 2u);
}

TEST(ChooseRows, NamesEveryRowOnce) {
  const GroupRows rows = ChooseRows(MakeNodeGroups(Star()), 3, 5);
  const std::vector<NodeIndex> all = rows.AllRows();
  std::set<NodeIndex> expected;
  for (const auto& of_group : rows.rows) expected.insert(of_group.begin(), of_group.end());
  EXPECT_EQ(all, std::vector<NodeIndex>(expected.begin(), expected.end()));
}

}  // namespace
}  // namespace blink
