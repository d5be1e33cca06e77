#include "node_client/draw_reports.h"

#include <atomic>
#include <memory>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

constexpr uint32_t kNodes = 1000;
constexpr NodeIndex kFirst = 10, kLast = 509;
const absl::Time kDrawn = absl::FromUnixSeconds(1'700'000'000);

Kit MakeGateway(NodeIndex last = kLast) {
  Kit kit;
  kit.config.deployment = "test";
  kit.config.first_node = kFirst;
  kit.config.last_node = last;
  kit.config.node_count = kNodes;
  kit.config.roster_version = 1;
  kit.lists = {kFirst, {0}, {}};
  for (NodeIndex node = kFirst; node <= last; ++node) {
    for (NodeIndex j = node % 7; j < kNodes; j += 50 + node % 11) {
      if (j != node) kit.lists.neighbours.push_back(j);
    }
    kit.lists.offsets.push_back(kit.lists.neighbours.size());
  }
  return kit;
}
// NOT PRIVATE: a source with a seed for each node, so that it does not matter which thread draws for it.
class SeedOfNode {
 public:
  RandomSource& operator()(NodeIndex node) const { return *sources_[node]; }
  SeedOfNode() {
    for (NodeIndex node = 0; node < kNodes; ++node) sources_.push_back(std::make_unique<SeededRandom>(node + 1));
  }

 private:
  std::vector<std::unique_ptr<RandomSource>> sources_;
};

class DrawReportsTest : public ::testing::Test {
 protected:
  // Draws for `kit` into the journal of `folder`, and returns what the journal then has as bytes.
  std::string Draw(const Kit& kit, const std::string& folder, int threads, RandomOfNode random,
                   std::optional<DrawFailure>* failure = nullptr) {
    if (!std::filesystem::exists(folder + "/journal.blj")) {
      EXPECT_TRUE(CreateJournal(folder, IdentityOf(kit)).ok());
      std::filesystem::copy(folder, folder + "-empty", std::filesystem::copy_options::recursive);
    }
    auto journal = *Journal::Open(folder, IdentityOf(kit));
    const DrawDecision decision{1, !journal->epoch().has_value(), false};
    const DrawTask task{kit, round_, decision, kDrawn, groups_, threads};
    HiddenWork hidden_work(clock_);
    const auto failed = DrawReports(task, random, hidden_work, *journal);
    if (failure != nullptr) *failure = failed;
    drawn_ = journal->draws();
    is_bound_ = journal->RoundBinding(round_.round_id).has_value();
    return ReadText(folder + "/journal.blj");
  }

  TempFolder temp_{TempFolder::InMemory()};
  FakeClock clock_;
  RoundView round_ = MakeRound(kRoundA, 1'000'000, 100'000, kNodes);
  const NodeGroups* groups_ = nullptr;
  uint64_t drawn_ = 0;
  bool is_bound_ = false;
};

// Records in the journal of a node begin with a random identity, which is in the chain of all checksums: the comparison
// starts each journal from a copy of one empty journal.
TEST_F(DrawReportsTest, MakesTheSameJournalWithAnyNumberOfThreads) {
  const NodeGroups groups = DealGroups(5, kNodes);
  for (const RoundView& round :
       {MakeRound(kRoundA, 1'000'000, 100'000, kNodes), MakeGroupRound(kRoundA, groups),
        RoundView{kRoundA, *PrivacyParameters::Create(6'000'000, 0, kNodes, Mechanism::kOneEnd), 1,
                  v1::ROUND_STATE_OPEN, absl::FromUnixSeconds(1'800'000'000), std::nullopt}}) {
    round_ = round;
    groups_ = round.parameters.sends_group_degrees() ? &groups : nullptr;
    const Kit kit = MakeGateway();
    TempFolder folder{TempFolder::InMemory()};
    SeedOfNode alone;
    const std::string one = Draw(kit, folder.path() + "/1", 1, alone);
    EXPECT_EQ(drawn_, kit.config.hosted());
    for (const int threads : {2, 8}) {
      const std::string of_many = folder.path() + "/" + std::to_string(threads);
      std::filesystem::copy(folder.path() + "/1-empty", of_many, std::filesystem::copy_options::recursive);
      SeedOfNode shared;
      EXPECT_TRUE(Draw(kit, of_many, threads, shared) == one) << threads << " threads";
    }
  }
}

TEST_F(DrawReportsTest, DrawsEachNodeFromItsOwnRandomnessOnEightThreads) {
  const Kit kit = MakeGateway();
  round_ = MakeRound(kRoundA, 1, 0, kNodes);  // nearly fair coins: two independent rows differ in half of their bits
  Draw(kit, temp_.path() + "/j", 8, [](NodeIndex) -> RandomSource& { return SecureRandom(); });
  const auto journal = *Journal::OpenReadOnly(temp_.path() + "/j", IdentityOf(kit));
  std::vector<BitRow> rows;
  for (NodeIndex node = kFirst; node <= kLast; ++node) {
    const auto coded = journal->LoadReport(1, round_.parameters, node);
    ASSERT_TRUE(coded.ok());
    const auto report = DecodeReport(round_.parameters, node, *coded);
    ASSERT_TRUE(report.ok()) << report.status();
    rows.push_back(report->bits);
  }
  for (size_t a = 0; a < rows.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      uint32_t differ = 0;
      for (size_t w = 0; w < rows[a].words().size(); ++w) {
        differ += std::popcount(rows[a].words()[w] ^ rows[b].words()[w]);
      }
      // 125,000 pairs, each beyond 350 .. 650 with probability 10^-21.
      ASSERT_GT(differ, 350u);
      ASSERT_LT(differ, 650u);
    }
  }
}

TEST_F(DrawReportsTest, DrawsOnlyForNodesThatHaveNoDraw) {
  const Kit kit = MakeGateway();
  std::atomic<int> asked = 0;
  const auto count = [&](NodeIndex) -> RandomSource& {
    ++asked;
    return SecureRandom();
  };
  Draw(kit, temp_.path() + "/j", 4, count);
  EXPECT_EQ(asked, 500);
  round_.round_id = kRoundB;  // the same parameters in the same epoch
  Draw(kit, temp_.path() + "/j", 4, count);
  EXPECT_EQ(asked, 500);
  EXPECT_TRUE(is_bound_);
}

TEST_F(DrawReportsTest, AFailureOnOneThreadLeavesNothingOfItsBatch) {
  const Kit kit = MakeGateway();
  FailingRandom fails;
  for (const int threads : {1, 8}) {
    std::optional<DrawFailure> failure;
    Draw(
        kit, temp_.path() + std::to_string(threads), threads,
        [&](NodeIndex node) -> RandomSource& { return node == kLast ? fails : SecureRandom(); }, &failure);
    ASSERT_TRUE(failure.has_value());
    EXPECT_EQ(failure->code, ExitCode::kInternal);
    EXPECT_TRUE(absl::IsUnavailable(failure->why)) << failure->why;
    EXPECT_EQ(drawn_, 0u);
    EXPECT_FALSE(is_bound_);
  }
}

TEST_F(DrawReportsTest, WhatWasCommittedBeforeACrashIsKeptAndOnlyTheRestIsDrawn) {
  constexpr uint32_t kMany = 60'000;
  Kit kit = MakeKit(0, 2999, 0, kMany);
  round_ = MakeRound(kRoundA, 1, 0, kMany);
  const std::string folder = temp_.path() + "/j";
  FailingRandom fails;
  std::optional<DrawFailure> failure;
  Draw(
      kit, folder, 4, [&](NodeIndex node) -> RandomSource& { return node == 2500 ? fails : SecureRandom(); }, &failure);
  ASSERT_TRUE(failure.has_value());
  const uint64_t before = drawn_;
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, 2500u) << "the batch of the node that failed";
  EXPECT_FALSE(is_bound_);
  const auto digests = [&](NodeIndex end) {
    const auto journal = *Journal::OpenReadOnly(folder, IdentityOf(kit));
    std::vector<Digest> found;
    for (NodeIndex node = 0; node < end; ++node) found.push_back(*journal->FindDraw(1, round_.parameters, node));
    return found;
  };
  const auto kept = digests(static_cast<NodeIndex>(before));
  std::atomic<uint64_t> asked = 0;
  Draw(kit, folder, 8, [&](NodeIndex node) -> RandomSource& {
    ++asked;
    EXPECT_GE(node, before);
    return SecureRandom();
  });
  EXPECT_EQ(asked, 3000 - before);
  EXPECT_EQ(drawn_, 3000u);
  EXPECT_TRUE(is_bound_);
  EXPECT_EQ(digests(static_cast<NodeIndex>(before)), kept);
}

TEST_F(DrawReportsTest, MeasuresWithoutLeavingATraceAndWithoutTheListsOfTheKit) {
  Kit kit = MakeGateway();
  ASSERT_TRUE(CreateJournal(temp_.path(), IdentityOf(kit)).ok());
  const std::string before = ReadText(temp_.path() + "/journal.blj");
  auto journal = *Journal::Open(temp_.path(), IdentityOf(kit));
  kit.lists = {};  // there is nothing that it could look at
  const DrawDecision begins{1, true, false}, complete{1, false, true};
  for (const NodeIndex last : {kFirst, kLast}) {
    kit.config.last_node = last;
    const auto took = MeasureHiddenWork({kit, round_, begins, kDrawn, nullptr, 4}, SystemClock(), *journal);
    ASSERT_TRUE(took.ok()) << took.status();
    EXPECT_GT(*took, absl::ZeroDuration());
    EXPECT_LT(*took, absl::Minutes(1));
    EXPECT_EQ(*MeasureHiddenWork({kit, round_, complete, kDrawn, nullptr, 4}, SystemClock(), *journal),
              absl::ZeroDuration());
  }
  EXPECT_EQ(journal->staged_bytes(), 0u);
  EXPECT_EQ(ReadText(temp_.path() + "/journal.blj"), before);
}

TEST(DrawingThreads, AreNeverMoreThanNodesOrThanMemoryHasRoomFor) {
  KitConfig kit;
  kit.node_count = 8'000'000;
  kit.last_node = 99;
  EXPECT_EQ(DrawingThreads(kit, 16, uint64_t{1} << 40), 16);
  EXPECT_EQ(DrawingThreads(kit, 1000, uint64_t{1} << 40), 100);
  EXPECT_EQ(DrawingThreads(kit, 16, uint64_t{100} << 20), 4);  // 6 MB a thread, of a quarter
  EXPECT_EQ(DrawingThreads(kit, 16, 0), 1);
  EXPECT_GE(DrawingThreads(kit, 0, uint64_t{1} << 40), 1);
  kit.last_node = 0;
  EXPECT_EQ(DrawingThreads(kit, 16, uint64_t{1} << 40), 1);
}

TEST(HiddenWork, AddsUpTheStepsThatAreHidden) {
  FakeClock clock;
  HiddenWork work(clock);
  work.Time([&] { clock.now += absl::Seconds(1); });
  clock.now += absl::Seconds(10);  // seen by everybody
  work.Time([&] { clock.now += absl::Seconds(2); });
  EXPECT_EQ(work.total(), absl::Seconds(3));
  FillQuantum(clock, work.total(), absl::Seconds(2));
  EXPECT_EQ(clock.sleeps.back(), absl::Seconds(1));
  FillQuantum(clock, absl::Seconds(4), absl::Seconds(2));
  EXPECT_EQ(clock.sleeps.back(), absl::Seconds(2)) << "never nothing";
}

TEST(PreparationQuantum, ComesFromPublicSizesAndTheMeasurementAlone) {
  KitConfig kit;
  kit.node_count = 100'000;
  kit.last_node = 49'999;
  EXPECT_EQ(HiddenLinks(kit), 1000u);
  EXPECT_EQ(PreparationQuantum(kit, absl::ZeroDuration(), false), absl::Milliseconds(250));
  EXPECT_EQ(PreparationQuantum(kit, absl::Seconds(1), false), absl::Milliseconds(2250));
  EXPECT_EQ(PreparationQuantum(kit, absl::Seconds(1), true), absl::Milliseconds(4250)) << "200 MB at 100 MB a second";
  kit.last_node = 0;
  EXPECT_EQ(HiddenLinks(kit), 99'999u) << "a node's list fits whatever it is";
  kit.node_count = 10'000'000;
  kit.last_node = 9'999'999;
  EXPECT_EQ(HiddenLinks(kit), 26u) << "a kit holds no more";
}

TEST(StartQuantum, IsAMinuteAtMostHoweverManyNodesAGatewayHosts) {
  KitConfig kit;
  kit.node_count = 100'000;
  kit.last_node = 999;
  EXPECT_EQ(StartQuantum(kit), absl::Milliseconds(250 + 30 + 200)) << "2 ns a pair";
  kit.node_count = 1'000'000;
  for (const NodeIndex last : {249'999u, 999'999u}) {  // by pairs alone 500 s, 2000 s
    kit.last_node = last;
    EXPECT_LT(StartQuantum(kit), absl::Minutes(1));
    EXPECT_GE(StartQuantum(kit), absl::Nanoseconds(200) * kKitEntriesMax) << "loading the fullest kit fits";
  }
}

}  // namespace
}  // namespace blink
