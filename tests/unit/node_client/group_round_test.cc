// A node and a round of Mechanism::kGroupDegrees: what it asks for, checks, draws and debits.
#include <algorithm>
#include <utility>

#include "common/wire/groups_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node_client/agent.h"
#include "tests/testing/log_capture.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class GroupRoundTest : public ::testing::Test {
 protected:
  GroupRoundTest() {
    options_.stopped = [this] { return ++steps_ > 300; };
    kit_.policy.mechanisms = {Mechanism::kGroupDegrees};
    EXPECT_TRUE(CreateJournal(folder_.path(), IdentityOf(kit_)).ok());
  }
  AgentOutcome Run() {
    steps_ = 0;
    auto journal = Journal::Open(folder_.path(), IdentityOf(kit_));
    EXPECT_TRUE(journal.ok()) << journal.status();
    return Agent(kit_, **journal, link_, clock_, random_, options_).Run();
  }
  std::unique_ptr<Journal> Reader() { return *Journal::OpenReadOnly(folder_.path(), IdentityOf(kit_)); }
  void ExpectRefused(const std::string& why) {
    const AgentOutcome outcome = Run();
    EXPECT_EQ(outcome.code, ExitCode::kRefusedByPolicy);
    EXPECT_THAT(outcome.message, HasSubstr(why));
    EXPECT_EQ(link_.Submissions(), 0u);
    EXPECT_EQ(Reader()->draws(), 0u);
    EXPECT_FALSE(Reader()->epoch().has_value()) << "no list was read";
  }

  Kit kit_ = MakeKit(5, 5);
  TempFolder folder_;
  FakeClock clock_;
  FakeRandom random_;
  FakeLink link_;
  AgentOptions options_;
  LogCapture log_;
  int steps_ = 0;
};

TEST_F(GroupRoundTest, AnswersTwoQuestionsAndDebitsEach) {
  const NodeGroups first = DealGroups(2), second = DealGroups(7);
  link_.rounds = {MakeGroupRound(kRoundA, first, 1'000'000)};
  link_.groups = EncodeGroups(first);
  EXPECT_EQ(Run().code, ExitCode::kOk);
  EXPECT_EQ(Reader()->SpentMicro(5), 1'000'000u);
  link_.rounds = {MakeGroupRound(kRoundB, second, 1'000'000)};
  link_.groups = EncodeGroups(second);
  EXPECT_EQ(Run().code, ExitCode::kOk);
  EXPECT_EQ(Reader()->SpentMicro(5), 2'000'000u);
  for (const auto& [id, groups] : {std::pair{kRoundA, first}, std::pair{kRoundB, second}}) {
    const auto report = DecodeReport(MakeGroupRound(id, groups, 1'000'000).parameters, 5, link_.held[id][5]);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->group_degrees.size(), groups.count);
  }
}

TEST_F(GroupRoundTest, AsksForTheGroupsOnceAndNotForADrawThatItHas) {
  link_.rounds = {MakeGroupRound(kRoundA, DealGroups(2))};
  link_.groups = EncodeGroups(DealGroups(2));
  EXPECT_EQ(Run().code, ExitCode::kOk);
  EXPECT_EQ(std::count(link_.calls.begin(), link_.calls.end(), absl::StrCat("GetGroups 5 ", kRoundA, " 68")), 1);
  link_.rounds.push_back(MakeGroupRound(kRoundB, DealGroups(2)));
  link_.groups = absl::NotFoundError("not asked");
  EXPECT_EQ(Run().code, ExitCode::kOk);
  EXPECT_EQ(link_.held[kRoundB][5].coded_bits, link_.held[kRoundA][5].coded_bits);
  EXPECT_EQ(Reader()->SpentMicro(5), 2'000'000u);
}

TEST_F(GroupRoundTest, RefusesGroupsThatDoNotPartitionTheRoster) {
  NodeGroups groups = DealGroups(3);
  groups.group_of[33] = 3;  // a retired node or not: every node of the roster counts
  link_.rounds = {MakeGroupRound(kRoundA, groups)};
  link_.groups = EncodeGroups(groups);
  ExpectRefused("the groups do not partition the nodes: node 33 is of group 3 of 3");
}

TEST_F(GroupRoundTest, RefusesGroupsThatAreNotThoseOfTheParameters) {
  NodeGroups other = DealGroups(2);
  other.group_of[0] = 1;
  link_.rounds = {MakeGroupRound(kRoundA, DealGroups(2))};
  link_.groups = EncodeGroups(other);
  ExpectRefused("the aggregator's groups are not those that the round's parameters name");
}

TEST_F(GroupRoundTest, RefusesGroupsOfAnotherNumberOfNodes) {
  link_.rounds = {MakeGroupRound(kRoundA, DealGroups(2))};
  link_.groups = EncodeGroups(DealGroups(2, 33));
  ExpectRefused("66 bytes, but 34 nodes have 68");
}

TEST_F(GroupRoundTest, DoesNotAskForTheGroupsOfARoundThatThePolicyRefuses) {
  kit_.policy.mechanisms = {Mechanism::kBothEnds, Mechanism::kOneEnd};
  link_.rounds = {MakeGroupRound(kRoundA, DealGroups(2))};
  ExpectRefused("the mechanism group-degrees");
  kit_.policy.mechanisms = {Mechanism::kGroupDegrees};
  kit_.policy.epsilon_micro_lifetime_max = 1'999'999;
  ExpectRefused("epsilon_micro_lifetime_max");
  for (const std::string& call : link_.calls) EXPECT_TRUE(call.starts_with("GetRounds")) << call;
}

TEST_F(GroupRoundTest, TriesAgainWhereTheGroupsCannotBeHadNow) {
  link_.rounds = {MakeGroupRound(kRoundA, DealGroups(2))};
  link_.groups = absl::UnavailableError("restarting");
  int polls = 0;
  link_.on_get_rounds = [&] {
    if (++polls <= 4) {
      EXPECT_EQ(Reader()->draws(), 0u) << "nothing is drawn without them";
    }
    if (polls == 4) link_.groups = EncodeGroups(DealGroups(2));
  };
  EXPECT_EQ(Run().code, ExitCode::kOk);
  EXPECT_EQ(Reader()->draws(), 1u);
}

TEST_F(GroupRoundTest, GivesUpARoundWhoseGroupsTheAggregatorRefuses) {
  link_.rounds = {MakeGroupRound(kRoundA, DealGroups(2))};
  link_.groups = absl::NotFoundError("there are none");
  EXPECT_EQ(Run().code, ExitCode::kRefusedByPeer);
  EXPECT_EQ(Reader()->draws(), 0u);
}

}  // namespace
}  // namespace blink
