// A journal over several rosters: newer kits of the same node.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node_client/agent.h"
#include "node_client/journal.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

Kit KitOf(uint64_t roster_version, uint32_t node_count, uint32_t extra_links = 0) {
  Kit kit = MakeKit(5, 6, extra_links, node_count);
  kit.config.roster_version = roster_version;
  return kit;
}

class RosterTest : public ::testing::Test {
 protected:
  RosterTest() { EXPECT_TRUE(CreateJournal(folder_.path(), IdentityOf(KitOf(1, 34))).ok()); }
  absl::Status Open(uint64_t roster_version, uint32_t node_count) {
    return Journal::Open(folder_.path(), IdentityOf(KitOf(roster_version, node_count))).status();
  }
  AgentOutcome Run(const Kit& kit, const RoundView& round) {
    int steps = 0;
    AgentOptions options;
    options.stopped = [&] { return ++steps > 300; };
    link_.rounds = {round};
    link_.expected_reports = 2;
    auto journal = Journal::Open(folder_.path(), IdentityOf(kit));
    EXPECT_TRUE(journal.ok()) << journal.status();
    return Agent(kit, **journal, link_, clock_, random_, options).Run();
  }
  std::unique_ptr<Journal> Reader() { return *Journal::OpenReadOnly(folder_.path(), IdentityOf(KitOf(1, 34))); }

  TempFolder folder_;
  FakeClock clock_;
  FakeRandom random_;
  FakeLink link_;
};

TEST_F(RosterTest, ANewerKitIsRememberedAndAnOlderOneRefusedAfterwards) {
  EXPECT_TRUE(Open(1, 34).ok());
  EXPECT_EQ(Reader()->identity().roster_version, 1u);
  EXPECT_TRUE(Open(3, 34).ok()) << "versions may be left out";
  EXPECT_EQ(Reader()->identity().roster_version, 3u);
  EXPECT_TRUE(Open(4, 50).ok());
  EXPECT_EQ(Reader()->identity().node_count, 50u);
  for (const uint64_t older : {1, 3}) {
    const absl::Status status = Open(older, 50);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("does not go back"));
  }
  EXPECT_TRUE(Open(4, 50).ok());
}

TEST_F(RosterTest, ARosterNeverBecomesSmallerAndAnotherNIsAnotherVersion) {
  const std::string before = ReadText(folder_ / "journal.blj");
  EXPECT_THAT(std::string(Open(2, 33).message()), HasSubstr("never becomes smaller"));
  EXPECT_THAT(std::string(Open(1, 35).message()), HasSubstr("another version"));
  EXPECT_FALSE(Open(1, 33).ok());
  EXPECT_EQ(ReadText(folder_ / "journal.blj"), before);
}

TEST_F(RosterTest, AnotherRangeIsNeverTheSameNodes) {
  JournalIdentity other = IdentityOf(KitOf(2, 50));
  other.last_node = 7;
  EXPECT_EQ(Journal::Open(folder_.path(), other).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(RosterTest, TheSameRosterIsNotWrittenTwice) {
  EXPECT_TRUE(Open(2, 40).ok());
  const size_t size = ReadText(folder_ / "journal.blj").size();
  EXPECT_TRUE(Open(2, 40).ok());
  EXPECT_EQ(ReadText(folder_ / "journal.blj").size(), size);
}

TEST_F(RosterTest, SpendingGoesOnAndAnotherNIsAnotherDraw) {
  EXPECT_EQ(Run(KitOf(1, 34), MakeRound(kRoundA)).code, ExitCode::kOk);
  EXPECT_EQ(Run(KitOf(2, 40), MakeRound(kRoundB, 2'000'000, 100'000, 40, 2)).code, ExitCode::kOk);
  EXPECT_EQ(Reader()->draws(), 4u);
  EXPECT_EQ(Reader()->SpentMicro(5), 4'000'000u);
  EXPECT_EQ(Reader()->epoch()->index, 1u) << "a new roster begins no epoch";
  EXPECT_NE(link_.held[kRoundA][5].digest, link_.held[kRoundB][5].digest);
}

TEST_F(RosterTest, ANewVersionWithTheSameNGetsTheSameReport) {
  EXPECT_EQ(Run(KitOf(1, 34), MakeRound(kRoundA)).code, ExitCode::kOk);
  EXPECT_EQ(Run(KitOf(2, 34), MakeRound(kRoundB, 2'000'000, 100'000, 34, 2)).code, ExitCode::kOk);
  EXPECT_EQ(Reader()->draws(), 2u);
  EXPECT_EQ(link_.held[kRoundA][5].digest, link_.held[kRoundB][5].digest);
}

// At epsilon 50 without a degree the report is, but for a chance of 80 e^-44, the list.
TEST_F(RosterTest, TheSnapshotOfTheEpochStaysWhatItWas) {
  Kit kit = KitOf(1, 34), changed = KitOf(2, 40, /*extra_links=*/3);
  changed.policy.epsilon_micro_per_round_max = 50'000'000;
  EXPECT_EQ(Run(kit, MakeRound(kRoundA)).code, ExitCode::kOk);
  const RoundView round = MakeRound(kRoundB, 50'000'000, 0, 40, 2);
  EXPECT_EQ(Run(changed, round).code, ExitCode::kOk);
  EXPECT_EQ(DecodeReport(round.parameters, 5, link_.held[kRoundB][5])->bits.Count(), 2u);
  EXPECT_EQ(Reader()->snapshot(), kit.lists);
}

TEST_F(RosterTest, TheLifetimeLimitHoldsOverRosters) {
  Kit kit = KitOf(1, 34), newer = KitOf(2, 40);
  newer.policy.epsilon_micro_lifetime_max = 3'999'999;
  EXPECT_EQ(Run(kit, MakeRound(kRoundA)).code, ExitCode::kOk);
  const AgentOutcome outcome = Run(newer, MakeRound(kRoundB, 2'000'000, 100'000, 40, 2));
  EXPECT_EQ(outcome.code, ExitCode::kRefusedByPolicy);
  EXPECT_THAT(outcome.message, HasSubstr("2 of 3.999999 are spent"));
  EXPECT_EQ(Reader()->draws(), 2u);
}

TEST_F(RosterTest, ARoundOfAnOlderRosterIsRefusedWithTheNewerKit) {
  const AgentOutcome outcome = Run(KitOf(2, 40), MakeRound(kRoundA));
  EXPECT_EQ(outcome.code, ExitCode::kRefusedByPolicy);
  EXPECT_EQ(Reader()->draws(), 0u);
}

TEST_F(RosterTest, TheAccountMayBeAskedWithAnyKitOfTheNode) {
  EXPECT_TRUE(Open(2, 40).ok());
  EXPECT_TRUE(Journal::OpenReadOnly(folder_.path(), IdentityOf(KitOf(1, 34))).ok());
  EXPECT_TRUE(Journal::OpenReadOnly(folder_.path(), IdentityOf(KitOf(3, 90))).ok());
}

}  // namespace
}  // namespace blink
