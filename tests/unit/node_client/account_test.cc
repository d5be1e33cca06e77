#include "node_client/account.h"

#include "common/base/program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "node_client/journal.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

const char kRoundC[] = "cccccccccccccccccccccccccccccccc";

// Two nodes. Epoch 1: a round at epsilon 2, one at 50 without a degree, where p' is 2^-64 and achieves 64 ln 2 =
// 44.3614195558.., and the first again; epoch 2: epsilon 2, but only for node 4, as after a crash between two batches.
class AccountTest : public ::testing::Test {
 protected:
  AccountTest() { EXPECT_TRUE(CreateJournal(folder_.path(), IdentityOf(kit_)).ok()); }
  void Draw(Journal& journal, uint32_t epoch, const PrivacyParameters& parameters, NodeIndex node) {
    CodedReport report{absl::StrCat(epoch, "x", node), 5, {}};
    report.digest = ReportDigest(parameters, report.noisy_degree, report.coded_bits);
    journal.StageDraw(epoch, parameters, node, report);
  }
  void Fill() {
    auto journal = *Journal::Open(folder_.path(), IdentityOf(kit_));
    journal->StageEpoch(1, kNow, kit_.lists);
    for (const NodeIndex node : {3, 4}) Draw(*journal, 1, small_, node);
    journal->StageRound(kRoundB, 1, small_);
    for (const NodeIndex node : {3, 4}) Draw(*journal, 1, large_, node);
    journal->StageRound(kRoundA, 1, large_);
    journal->StageRound(kRoundC, 1, small_);
    ASSERT_TRUE(journal->Commit().ok());
    journal->StageReceipt(kRoundB, 3, *journal->FindDraw(1, small_, 3), 7);
    journal->StageReceipt(kRoundB, 4, *journal->FindDraw(1, small_, 4), 7);
    journal->StageReceipt(kRoundA, 4, *journal->FindDraw(1, large_, 4), 7);
    journal->StageRoundOver(kRoundB);
    journal->StageEpoch(2, kNow + absl::Hours(25), kit_.lists);
    Draw(*journal, 2, small_, 4);
    ASSERT_TRUE(journal->Commit().ok());
  }
  Account Make(std::optional<NodeIndex> node = std::nullopt) {
    return MakeAccount(kit_.config, kit_.policy, **Journal::OpenReadOnly(folder_.path(), IdentityOf(kit_)), node,
                       false);
  }

  TempFolder folder_;
  const Kit kit_ = MakeKit(3, 4);
  const PrivacyParameters small_ = *PrivacyParameters::Create(2'000'000, 100'000, 34);
  const PrivacyParameters large_ = *PrivacyParameters::Create(50'000'000, 0, 34);
};

TEST_F(AccountTest, OfANewJournalIsEmpty) {
  EXPECT_EQ(AccountToText(Make()), R"(nodes-3-4, deployment demo, roster version 1 with n = 34
draws 0, receipts 0, anchor: none

epsilon spent by the node that spent most
              draws   a list entry        (achieved)         a link
in all            0              0                 0              0
left: 64 of 64 for a list entry. An undirected link stands in two lists and costs twice that if both ends report.
)");
}

TEST_F(AccountTest, ShowsRoundsEpochsAndWhatIsLeftForPeople) {
  Fill();
  EXPECT_EQ(AccountToText(Make()), R"(nodes-3-4, deployment demo, roster version 1 with n = 34
draws 5, receipts 3, anchor: none

round                             epoch    epsilon  degree share  receipts
fedcba9876543210fedcba9876543210      1          2           0.1  2 of 2, over
0123456789abcdef0123456789abcdef      1         50             0  1 of 2
cccccccccccccccccccccccccccccccc      1          2           0.1  0 of 2, the bytes of an earlier round

epsilon spent by the node that spent most
              draws   a list entry        (achieved)         a link
epoch 1           4             52      46.361419556            104  begun 2023-11-14T22:13:20Z
epoch 2           1              2                 2              4  begun 2023-11-15T23:13:20Z
in all            5             54      48.361419556            108
left: 10 of 64 for a list entry. An undirected link stands in two lists and costs twice that if both ends report.
)");
}

TEST_F(AccountTest, ShowsOneNode) {
  Fill();
  EXPECT_EQ(AccountToText(Make(3)), R"(node 3 of nodes-3-4, deployment demo, roster version 1 with n = 34
draws 2, receipts 1, anchor: none

round                             epoch    epsilon  degree share  receipts
fedcba9876543210fedcba9876543210      1          2           0.1  1 of 1, over
0123456789abcdef0123456789abcdef      1         50             0  0 of 1
cccccccccccccccccccccccccccccccc      1          2           0.1  0 of 1, the bytes of an earlier round

epsilon spent by this node
              draws   a list entry        (achieved)         a link
epoch 1           2             52      46.361419556            104  begun 2023-11-14T22:13:20Z
epoch 2           0              0                 0              0  begun 2023-11-15T23:13:20Z
in all            2             52      46.361419556            104
left: 12 of 64 for a list entry. An undirected link stands in two lists and costs twice that if both ends report.
)");
}

TEST_F(AccountTest, IsOneJsonObject) {
  Fill();
  auto json = nlohmann::ordered_json::parse(AccountToJson(Make(4)));
  EXPECT_EQ(json.at("program").at("version"), ProgramVersion());
  json.erase("program");  // its commit changes
  EXPECT_EQ(json.dump(),
            R"({"deployment":"demo","first_node":4,"last_node":4,"nodes":1,"node_count":34,"roster_version":1,)"
            R"("anchor":"none",)"
            R"("draws":3,"receipts":2,"rounds":[)"
            R"({"round_id":"fedcba9876543210fedcba9876543210","epoch":1,"epsilon_micro":2000000,)"
            R"("epsilon_nano_achieved":2000000000,)"
            R"("degree_share_ppm":100000,"node_count":34,"mechanism":"both-ends",)"
            R"("groups":null,"receipts":1,"again":false,"over":true},)"
            R"({"round_id":"0123456789abcdef0123456789abcdef","epoch":1,"epsilon_micro":50000000,)"
            R"("epsilon_nano_achieved":44361419556,)"
            R"("degree_share_ppm":0,"node_count":34,"mechanism":"both-ends",)"
            R"("groups":null,"receipts":1,"again":false,"over":false},)"
            R"({"round_id":"cccccccccccccccccccccccccccccccc","epoch":1,"epsilon_micro":2000000,)"
            R"("epsilon_nano_achieved":2000000000,)"
            R"("degree_share_ppm":100000,"node_count":34,"mechanism":"both-ends",)"
            R"("groups":null,"receipts":0,"again":true,)"
            R"("over":false}],"epochs":[)"
            R"({"epoch":1,"started":"2023-11-14T22:13:20Z","draws":2,"epsilon_micro_spent_max":52000000,)"
            R"("epsilon_nano_achieved_max":46361419556,"epsilon_micro_link_max":104000000},)"
            R"({"epoch":2,"started":"2023-11-15T23:13:20Z","draws":1,"epsilon_micro_spent_max":2000000,)"
            R"("epsilon_nano_achieved_max":2000000000,"epsilon_micro_link_max":4000000}],)"
            R"("epsilon_micro_spent_max":54000000,"epsilon_nano_achieved_max":48361419556,)"
            R"("epsilon_micro_link_max":108000000,)"
            R"("epsilon_micro_lifetime_max":64000000,"epsilon_micro_left":10000000})");
}

// The same parameters but for the mechanism are another draw. Its link costs once what its entry does.
TEST_F(AccountTest, CountsADrawByOneEndOnceForALink) {
  const auto one_end = *PrivacyParameters::Create(2'000'000, 100'000, 34, Mechanism::kOneEnd);
  {
    auto journal = *Journal::Open(folder_.path(), IdentityOf(kit_));
    journal->StageEpoch(1, kNow, kit_.lists);
    for (const NodeIndex node : {3, 4}) Draw(*journal, 1, small_, node);
    journal->StageRound(kRoundB, 1, small_);
    for (const NodeIndex node : {3, 4}) Draw(*journal, 1, one_end, node);
    journal->StageRound(kRoundA, 1, one_end);
    ASSERT_TRUE(journal->Commit().ok());
  }
  const Account account = Make();
  EXPECT_EQ(account.draws, 4u);
  EXPECT_EQ(account.largest.promised_micro, 4'000'000u);
  EXPECT_EQ(account.largest.link_micro, 6'000'000u);
  ASSERT_EQ(account.rounds.size(), 2u);
  EXPECT_FALSE(account.rounds[1].again);
  EXPECT_THAT(AccountToText(account), HasSubstr("0.1  0 of 2, one-end\n"));
  const auto json = nlohmann::ordered_json::parse(AccountToJson(account));
  EXPECT_EQ(json["rounds"][0]["mechanism"], "both-ends");
  EXPECT_EQ(json["rounds"][1]["mechanism"], "one-end");
  EXPECT_EQ(json["epsilon_micro_link_max"], 6'000'000);
}

TEST_F(AccountTest, LeavesNothingWhenThePolicyBecameSmallerThanWhatIsSpent) {
  Fill();
  Account account = Make();
  account.policy.epsilon_micro_lifetime_max = 1;
  EXPECT_EQ(account.left_micro(), 0u);
  EXPECT_THAT(AccountToText(account), HasSubstr("left: 0 of 0.000001"));
}

TEST_F(AccountTest, CanBeAskedWhileAProcessHoldsTheJournal) {
  const auto running = *Journal::Open(folder_.path(), IdentityOf(kit_));
  running->StageEpoch(1, kNow, kit_.lists);
  Draw(*running, 1, small_, 3);
  EXPECT_EQ(Make().draws, 0u) << "what is not committed is not there";
  ASSERT_TRUE(running->Commit().ok());
  EXPECT_EQ(Make().draws, 1u);
  // In the middle of its next write.
  WriteText(folder_ / "journal.blj", ReadText(folder_ / "journal.blj") + std::string(7, 'x'));
  EXPECT_EQ(Make().draws, 1u);
}

}  // namespace
}  // namespace blink
