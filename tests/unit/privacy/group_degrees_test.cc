// Mechanism::kGroupDegrees: its parameters, and the privatiser on groups.
#include <algorithm>
#include <limits>
#include <vector>

#include "common/privacy/discrete_laplace.h"
#include "common/privacy/privatizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

PrivacyParameters About(const NodeGroups& groups, uint64_t epsilon_micro = 2'000'000) {
  return *PrivacyParameters::CreateForGroups(epsilon_micro, static_cast<uint32_t>(groups.group_of.size()),
                                             {groups.count, {}});
}

NodeGroups Dealt(uint32_t n, uint32_t count) {
  NodeGroups groups{.count = count};
  for (uint32_t i = 0; i < n; ++i) groups.group_of.push_back(i % count);
  return groups;
}

TEST(GroupParameters, AskForNumbersAloneAndCostEpsilon) {
  const auto parameters = About(Dealt(10, 3));
  EXPECT_EQ(parameters.mechanism(), Mechanism::kGroupDegrees);
  EXPECT_FALSE(parameters.sends_bits());
  EXPECT_FALSE(parameters.sends_degree());
  EXPECT_TRUE(parameters.sends_group_degrees());
  EXPECT_EQ(parameters.bit_log_odds(), 0);
  EXPECT_EQ(parameters.achieved_epsilon(), 2);
  EXPECT_EQ(parameters.reports_of_pair(), 2);
  EXPECT_EQ(MechanismNamed("group-degrees"), Mechanism::kGroupDegrees);
  EXPECT_EQ(MechanismNumbered(3), Mechanism::kGroupDegrees);
}

TEST(GroupParameters, AreOthersForOtherGroups) {
  GroupQuestion question{3, {}};
  const auto parameters = *PrivacyParameters::CreateForGroups(2'000'000, 10, question);
  EXPECT_EQ(parameters, *PrivacyParameters::CreateForGroups(2'000'000, 10, question));
  question.map_sha256[31] = 1;
  EXPECT_NE(parameters, *PrivacyParameters::CreateForGroups(2'000'000, 10, question));
  EXPECT_NE(parameters, *PrivacyParameters::CreateForGroups(2'000'000, 10, {4, {}}));
}

TEST(GroupParameters, RefuseWhatIsOutOfRangeByItsName) {
  const auto refused = [](const absl::StatusOr<PrivacyParameters>& parameters, const char* name) {
    EXPECT_EQ(parameters.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(parameters.status().message()), HasSubstr(name));
  };
  refused(PrivacyParameters::CreateForGroups(0, 10, {3, {}}), "epsilon_micro");
  refused(PrivacyParameters::CreateForGroups(50'000'001, 10, {3, {}}), "epsilon_micro");
  refused(PrivacyParameters::CreateForGroups(1, 2, {2, {}}), "node_count");
  refused(PrivacyParameters::CreateForGroups(1, 10, {0, {}}), "group_count is 0");
  refused(PrivacyParameters::CreateForGroups(1, 10, {11, {}}), "group_count is 11");
  refused(PrivacyParameters::Create(1, 0, 10, Mechanism::kGroupDegrees), "needs groups");
}

TEST(GroupPrivatizer, AddsTheNoiseToTheLinksTowardsEachGroup) {
  const NodeGroups groups = Dealt(200, 4);
  SeededRandom random(5), again(5);
  const ReportNoise noise = *DrawNoise(About(groups), 7, random);
  ASSERT_EQ(noise.group_noise.size(), 4u);
  const auto report = ApplyNoise(About(groups), 7, *DrawNoise(About(groups), 7, again), {0, 4, 198, 3, 8}, &groups);
  ASSERT_TRUE(report.ok()) << report.status();
  const std::vector<int64_t> links = {3, 0, 1, 1};
  for (int group = 0; group < 4; ++group) {
    EXPECT_EQ(report->group_degrees[group], links[group] + noise.group_noise[group]) << group;
  }
  EXPECT_TRUE(report->bits.empty());
  EXPECT_FALSE(report->noisy_degree.has_value());
}

// The whole of the proof's step: one entry, one number, by 1.
TEST(GroupPrivatizer, OneEntryChangesOneNumberByOne) {
  const NodeGroups groups = Dealt(65, 7);
  SeededRandom random(1);
  const ReportNoise noise = *DrawNoise(About(groups), 0, random);
  const std::vector<NodeIndex> list = {1, 9, 33};
  const PrivateReport without = *ApplyNoise(About(groups), 0, noise, list, &groups);
  for (NodeIndex j = 1; j < 65; ++j) {
    if (std::find(list.begin(), list.end(), j) != list.end()) continue;
    std::vector<NodeIndex> more = list;
    more.push_back(j);
    PrivateReport with = *ApplyNoise(About(groups), 0, noise, more, &groups);
    --with.group_degrees[j % 7];
    EXPECT_EQ(with, without) << j;
  }
}

TEST(GroupPrivatizer, DrawsTheDiscreteLaplaceOfTheWholeEpsilon) {
  const NodeGroups groups = Dealt(10, 5);
  SeededRandom random(4), again(4);
  const ReportNoise noise = *DrawNoise(About(groups, 1'500'000), 3, random);
  RandomBits bits(again, 5 * 64);
  for (const int64_t drawn : noise.group_noise) EXPECT_EQ(drawn, DrawDiscreteLaplace(3, 2, bits));
}

TEST(GroupPrivatizer, HasNoEdgeWhereNumbersAreLarge) {
  const NodeGroups groups = Dealt(10, 2);
  const ReportNoise noise{BitRow(), std::nullopt, {std::numeric_limits<int64_t>::max(), 0}};
  const PrivateReport report = *ApplyNoise(About(groups), 1, noise, {0}, &groups);
  EXPECT_EQ(report.group_degrees[0], std::numeric_limits<int64_t>::min()) << "modulo 2^64";
}

TEST(GroupPrivatizer, RefusesGroupsThatAreNoPartitionWhoeverTheNeighboursAre) {
  const NodeGroups asked = Dealt(10, 3);
  SeededRandom random(1);
  const ReportNoise noise = *DrawNoise(About(asked), 0, random);
  NodeGroups beyond = asked, one_short = asked, one_more = asked, other = asked;
  beyond.group_of[9] = 3;
  one_short.group_of.pop_back();
  one_more.group_of.push_back(0);
  other.count = 4;
  const std::vector<const NodeGroups*> wrong = {nullptr, &beyond, &one_short, &one_more, &other};
  for (const NodeGroups* groups : wrong) {
    const absl::Status with = ApplyNoise(About(asked), 0, noise, {9}, groups).status();
    EXPECT_EQ(with.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(with, ApplyNoise(About(asked), 0, noise, {1}, groups).status());
  }
}

TEST(GroupPrivatizer, RefusesAListThatIsNoneAndTheNoiseOfAnotherMechanism) {
  const NodeGroups groups = Dealt(100, 3);
  const auto both = *PrivacyParameters::Create(2'000'000, 100'000, 100);
  SeededRandom random(1);
  const ReportNoise noise = *DrawNoise(About(groups), 6, random);
  for (const std::vector<NodeIndex>& list : {std::vector<NodeIndex>{100}, {6}, {2, 2}}) {
    EXPECT_EQ(ApplyNoise(About(groups), 6, noise, list, &groups).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(ApplyNoise(both, 6, noise, {}).ok());
  EXPECT_FALSE(ApplyNoise(About(groups), 6, *DrawNoise(both, 6, random), {}, &groups).ok());
  EXPECT_FALSE(ApplyNoise(About(Dealt(100, 4)), 6, noise, {}, &groups).ok());
}

TEST(GroupPrivatizer, FailsWhereverTheRandomSourceFails) {
  const NodeGroups groups = Dealt(5000, 1000);
  SeededRandom good(1);
  CountingRandom counting(good);
  ASSERT_TRUE(DrawNoise(About(groups), 0, counting).ok());
  for (int good_calls = 0; good_calls < static_cast<int>(counting.calls()); ++good_calls) {
    FailingRandom failing(good_calls);
    EXPECT_EQ(DrawNoise(About(groups), 0, failing).status().code(), absl::StatusCode::kUnavailable) << good_calls;
  }
}

}  // namespace
}  // namespace blink
