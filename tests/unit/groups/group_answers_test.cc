#include "aggregator_server/groups/group_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace blink {
namespace {

using ::testing::HasSubstr;

// Half of the nodes have 2 links in either of two groups, the other half 40 and 1. Everybody answered, without noise.
GroupAnswersRead TwoKinds(uint32_t n) {
  GroupAnswersRead answers{.answered = BitRow(n)};
  answers.asked.count = 2;
  for (NodeIndex i = 0; i < n; ++i) {
    answers.asked.group_of.push_back(i / 2 % 2);
    answers.answered.Set(i);
    answers.degrees.push_back(i % 2 == 0 ? 2 : 40);
    answers.degrees.push_back(i % 2 == 0 ? 2 : 1);
  }
  return answers;
}

TEST(FindNextGroups, GroupsWhatIsAlikeAndLeavesEmptyGroupsOut) {
  const auto next = FindNextGroups(TwoKinds(200), /*epsilon=*/2, {});
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->wanted, 2u) << "more than there are different answers";
  EXPECT_EQ(next->groups.count, 2u);
  ASSERT_TRUE(next->groups.IsPartitionOf(200));
  for (NodeIndex i = 0; i < 200; ++i) EXPECT_EQ(next->groups.group_of[i], next->groups.group_of[i % 2]) << i;
  EXPECT_NE(next->groups.group_of[0], next->groups.group_of[1]);
}

TEST(FindNextGroups, MakesNoMoreGroupsThanAreAllowed) {
  const auto next = FindNextGroups(TwoKinds(200), 2, {.groups_max = 1});
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->wanted, 1u);
  EXPECT_EQ(next->groups.count, 1u);
}

TEST(FindNextGroups, CountsAndGroupsASilentNodeByTheOthers) {
  GroupAnswersRead answers = TwoKinds(200);
  const uint32_t wanted = FindNextGroups(answers, 2, {})->wanted;
  for (const NodeIndex silent : {10u, 11u}) {
    answers.answered.Clear(silent);
    answers.degrees[2 * silent] = answers.degrees[2 * silent + 1] = 1e6f;  // not read
  }
  const auto next = FindNextGroups(answers, 2, {});
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->wanted, wanted);
  EXPECT_EQ(next->groups.group_of[10], next->groups.group_of[11]) << "both had the mean answer";
  ASSERT_TRUE(next->groups.IsPartitionOf(200));
}

TEST(FindNextGroups, LetsNoLiarDecideHowManyGroupsThereAre) {
  for (const float lie : {200.0f, 9e18f, -9e18f}) {
    GroupAnswersRead answers = TwoKinds(200);
    const NextGroupsOptions trimmed{.groups_max = 3, .trimmed = 0.05};
    const uint32_t wanted = FindNextGroups(answers, 2, trimmed)->wanted;
    answers.degrees[0] = answers.degrees[1] = lie;
    EXPECT_GT(FindNextGroups(answers, 2, {})->wanted, lie > 0 ? wanted + 40 : 0) << "without it: " << lie;
    const auto next = FindNextGroups(answers, 2, trimmed);
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_LE(next->wanted, wanted + 5) << lie;
    EXPECT_NE(next->groups.group_of[2], next->groups.group_of[1]) << "the two kinds are still apart: " << lie;
  }
}

TEST(FindImplausibleAnswers, FindsNumbersThatNoNoiseMakesAndNoOthers) {
  GroupAnswersRead answers = TwoKinds(200);  // two groups of 100 nodes
  EXPECT_THAT(FindImplausibleAnswers(answers, 2), ::testing::IsEmpty());
  const float noise = std::log(2.0f * 200 * 2 * 1000) / 2;  // reached once in a thousand rounds
  answers.degrees[2 * 7] = -noise - 1;
  answers.degrees[2 * 9 + 1] = 100 + noise + 1;
  answers.degrees[2 * 11] = -noise + 1;
  answers.degrees[2 * 13 + 1] = 100 + noise - 1;
  answers.degrees[2 * 15] = 9e18f;
  answers.degrees[2 * 17] = 9e18f;
  answers.answered.Clear(17);
  EXPECT_THAT(FindImplausibleAnswers(answers, 2), ::testing::ElementsAre(7, 9, 15));
}

TEST(DrawGroupLinks, LetsNobodyNameMoreNodesOfAGroupThanItHas) {
  GroupAnswersRead answers = TwoKinds(200);
  for (float& degree : answers.degrees) degree = 0;
  answers.degrees[2 * 5] = 9e18f;  // of 100 nodes
  const auto links = DrawGroupLinks(answers, 1, 2);
  ASSERT_TRUE(links.ok()) << links.status();
  EXPECT_LE(links->links.neighbours().size(), 200u);
}

TEST(GroupsInAnHour, AreAllThatMayBeForSmallGraphsAndFewerForLargeOnes) {
  EXPECT_GE(GroupsInAnHour(3600), 3600u);
  EXPECT_GE(GroupsInAnHour(300'000), 1000u);
  EXPECT_LT(GroupsInAnHour(10'000'000), 200u);
  EXPECT_GE(GroupsInAnHour(10'000'000), 100u);
}

TEST(DrawGroupLinks, LetsASilentNodeNameNobody) {
  GroupAnswersRead answers = TwoKinds(200);
  answers.answered.Clear(11);
  answers.degrees[22] = answers.degrees[23] = 1e6f;
  const auto links = DrawGroupLinks(answers, 3, 2);
  ASSERT_TRUE(links.ok()) << links.status();
  std::set<NodeIndex> naming(links->links.neighbours().begin(), links->links.neighbours().end());
  EXPECT_FALSE(naming.contains(11));
  EXPECT_TRUE(naming.contains(13));
}

TEST(DrawGroupLinks, RepeatsWithItsSeed) {
  const auto drawn = [](uint64_t seed) {
    const LinkWeights links = DrawGroupLinks(TwoKinds(100), seed, 2).value();
    return std::vector<NodeIndex>(links.links.neighbours().begin(), links.links.neighbours().end());
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(GroupAnswers, OfNobodyOrOfOtherSizesAreRefused) {
  const auto refused = [](const GroupAnswersRead& answers, const char* why) {
    const absl::Status next = FindNextGroups(answers, 2, {.threads = 1}).status();
    EXPECT_EQ(next.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(next.message()), HasSubstr(why));
    EXPECT_EQ(DrawGroupLinks(answers, 1, 1).status(), next);
  };
  GroupAnswersRead answers = TwoKinds(10);
  answers.degrees.pop_back();
  refused(answers, "19 numbers of 10 nodes towards 2 groups");
  answers = TwoKinds(10);
  answers.asked.group_of[3] = 2;
  refused(answers, "must partition the nodes");
  answers = TwoKinds(10);
  answers.answered = BitRow(10);
  refused(answers, "nobody has answered");
}

}  // namespace
}  // namespace blink
