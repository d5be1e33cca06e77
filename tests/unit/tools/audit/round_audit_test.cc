#include "tools/audit/round_audit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/audited_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kSmallRound = 100;

PrivacyParameters SmallParameters(uint32_t share_ppm) {
  return *PrivacyParameters::Create(2'000'000, share_ppm, kSmallRound);
}

Canaries TwoCanaries() {
  SeededRandom random(3);
  return *MakeCanaries(kSmallRound, {{7, 8}}, 0, random);
}

TEST(AuditRound, CountsWhatItLookedAt) {
  const Lists lists = RandomLists(kSmallRound, 4, 1);
  ReportSet reports = DrawRound(SmallParameters(100'000), lists, 1);
  reports.Drop(50);
  KnownLists known(kSmallRound);
  uint64_t ones = 0;
  for (NodeIndex node = 45; node < 55; ++node) {
    ASSERT_TRUE(known.Add(node, lists[node]).ok());
    if (node != 50) ones += lists[node].size();
  }
  const absl::StatusOr<RoundAudit> audit = AuditRound(reports, known, nullptr);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_EQ(audit->reports, 99u);
  EXPECT_EQ(audit->audited, 9u);
  EXPECT_EQ(audit->without_report, 1u);
  EXPECT_EQ(audit->bits, 9u * 99);
  EXPECT_EQ(audit->ones, ones);
  EXPECT_TRUE(audit->passed());
  EXPECT_EQ(audit->coins, 0u);
}

TEST(AuditRound, JudgesOneListOfOneNode) {
  KnownLists known(kSmallRound);
  const Lists lists = RandomLists(kSmallRound, 4, 1);
  ASSERT_TRUE(known.Add(3, lists[3]).ok());
  const absl::StatusOr<RoundAudit> audit = AuditRound(DrawRound(SmallParameters(100'000), lists, 1), known, nullptr);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_TRUE(audit->passed());
}

TEST(AuditRound, JudgesReportsWithoutBitsOrWithoutDegrees) {
  const Lists lists = RandomLists(kSmallRound, 4, 1);
  for (const uint32_t share : {0u, 1'000'000u}) {
    const absl::StatusOr<RoundAudit> audit =
        AuditRound(DrawRound(SmallParameters(share), lists, 1), KnownOf(lists), nullptr);
    ASSERT_TRUE(audit.ok()) << audit.status();
    EXPECT_TRUE(audit->passed());
    EXPECT_EQ(audit->bits, share == 0 ? kSmallRound * (kSmallRound - 1) : 0);
    for (const EpsilonBound& bound : audit->bounds) EXPECT_EQ(bound.of == "a degree", share != 0) << bound.of;
  }
}

TEST(AuditRound, GuessesCoinsOnlyOfCanariesThatReported) {
  const Canaries canaries = TwoCanaries();
  Lists lists = RandomLists(kSmallRound, 4, 1);
  for (const NodeIndex node : {7u, 8u}) lists[node] = canaries.ListOf(node);
  ReportSet reports = DrawRound(SmallParameters(0), lists, 1);
  reports.Drop(8);
  const absl::StatusOr<RoundAudit> audit = AuditRound(reports, KnownOf(lists), &canaries);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_EQ(audit->canaries, 1u);
  EXPECT_EQ(audit->coins, 99u);
  EXPECT_GT(audit->coins_guessed, 60u);
}

TEST(AuditRound, SaysThatCoinsCannotBeGuessedWithoutBits) {
  const Canaries canaries = TwoCanaries();
  Lists lists(kSmallRound);
  for (const NodeIndex node : {7u, 8u}) lists[node] = canaries.ListOf(node);
  const absl::StatusOr<RoundAudit> audit =
      AuditRound(DrawRound(SmallParameters(1'000'000), lists, 1), KnownLists(kSmallRound), &canaries);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_THAT(audit->notes, ::testing::Contains(HasSubstr("cannot be guessed")));
}

TEST(AuditRoundRefuses, ListsOrCanariesOfAnotherNumberOfNodes) {
  const ReportSet reports = DrawRound(SmallParameters(0), Lists(kSmallRound), 1);
  const auto lists = AuditRound(reports, KnownLists(kSmallRound - 1), nullptr);
  EXPECT_THAT(std::string(lists.status().message()), HasSubstr("of 99 nodes, and the round has 100"));
  SeededRandom random(1);
  const Canaries canaries = *MakeCanaries(64, {{1, 1}}, 0, random);
  const auto coins = AuditRound(reports, KnownLists(kSmallRound), &canaries);
  EXPECT_THAT(std::string(coins.status().message()), HasSubstr("canaries are those of 64 nodes"));
}

TEST(AuditRoundRefuses, ListsOfNobodyWhoReported) {
  ReportSet reports = DrawRound(SmallParameters(0), Lists(kSmallRound), 1);
  reports.Drop(4);
  KnownLists known(kSmallRound);
  ASSERT_TRUE(known.Add(4, {}).ok());
  const auto audit = AuditRound(reports, known, nullptr);
  EXPECT_EQ(audit.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(audit.status().message()), HasSubstr("none of the 1 nodes"));
  EXPECT_FALSE(AuditRound(reports, KnownLists(kSmallRound), nullptr).ok());
}

TEST(AuditRoundRefuses, ACanaryThatHadAnotherList) {
  const Canaries canaries = TwoCanaries();
  const auto audit =
      AuditRound(DrawRound(SmallParameters(0), Lists(kSmallRound), 1), KnownOf(Lists(kSmallRound)), &canaries);
  EXPECT_THAT(std::string(audit.status().message()), HasSubstr("node 7 has two different lists"));
}

TEST(KnownListsRefuse, TwoListsOfOneNode) {
  KnownLists known(10);
  EXPECT_TRUE(known.Add(3, {1, 2}).ok());
  EXPECT_TRUE(known.Add(3, {1, 2}).ok()) << "the same one may come twice";
  EXPECT_EQ(known.Add(3, {1}).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace blink
