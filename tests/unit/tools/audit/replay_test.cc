// The replay passes the shipped node, and finds each claim broken by a node that breaks it.
#include "tools/audit/replay.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/logging.h"
#include "common/privacy/privatizer.h"
#include "common/wire/groups_codec.h"
#include "common/wire/report_codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node_client/journal.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Thousands of commits: in memory where the machine has such a folder.
[[maybe_unused]] const int kInMemory = ::setenv("TMPDIR", testing::TempFolder::InMemory().c_str(), 1);

// The audit of the first `cases` combinations: n, hosted nodes and degree shares at epsilon 1.
absl::StatusOr<ReplayAudit> ReplayOf(const NodeProcess& process, int cases,
                                     std::optional<Mechanism> mechanism = std::nullopt) {
  std::atomic<bool> stop = false;
  int lives = 0;
  return AuditReplay({.mechanism = mechanism, .stop = &stop}, [&](const NodeLife& life) {
    stop = ++lives >= 4 * cases;  // two worlds of two processes
    return process(life);
  });
}

std::vector<ReplayClaim> Broken(const ReplayAudit& audit) {
  std::vector<ReplayClaim> broken;
  for (int claim = 0; claim < kReplayClaims; ++claim) {
    if (audit.claims[claim].broken > 0) broken.push_back(ReplayClaim(claim));
  }
  return broken;
}

// A node of a few lines. It does in another way what the shipped one does, so that a fault can be put in anywhere.
class SmallNode {
 public:
  virtual ~SmallNode() = default;
  absl::StatusOr<AgentOutcome> Run(const NodeLife& life) {
    life_ = &life;
    kit = *LoadKit(life.kit_folder);
    const KitConfig& config = kit.config;
    const auto journal = *Journal::Open(life.journal_folder, {config.deployment, config.first_node, config.last_node,
                                                              config.node_count, config.roster_version});
    const auto answer = life.link.GetRounds(config.first_node, "");
    const RoundView round = *answer.value->front().view;
    Begin(*journal);
    NodeGroups groups;
    if (round.parameters.sends_group_degrees()) {
      const uint32_t n = config.node_count;
      const auto coded = life.link.GetGroups(config.first_node, round.round_id, GroupsBytes(n));
      groups = *DecodeGroups(*coded.value, n, round.parameters.question().count);
    }
    if (!journal->epoch().has_value()) journal->StageEpoch(1, life.clock.Now(), kit.lists);
    for (NodeIndex node = config.first_node; node <= config.last_node; ++node) {
      if (journal->FindDraw(1, round.parameters, node).has_value() && !DrawsAgain()) continue;
      ReportNoise noise = *DrawNoise(round.parameters, node, life.random);
      SpoilNoise(node, noise);
      PrivateReport report = *ApplyNoise(round.parameters, node, std::move(noise), kit.lists.Of(node), &groups);
      SpoilReport(node, report);
      drawn_[node] = EncodeReport(round.parameters, report);
      if (!journal->FindDraw(1, round.parameters, node).has_value())
        journal->StageDraw(1, round.parameters, node, drawn_[node]);
    }
    journal->StageRound(round.round_id, 1, round.parameters);
    if (const absl::Status committed = journal->Commit(); !committed.ok()) return committed;
    for (NodeIndex node = config.first_node; node <= config.last_node; ++node) {
      if (config.IsRetired(node)) continue;
      const bool again = DrawsAgain() && drawn_.contains(node);
      OutgoingReport outgoing{node, round.parameters,
                              again ? drawn_[node] : *journal->LoadReport(1, round.parameters, node)};
      SpoilSending(outgoing);
      (void)life.link.SubmitReport(round.round_id, outgoing);
    }
    return AgentOutcome{};
  }

 protected:
  virtual void Begin(Journal& journal) {}
  virtual void SpoilNoise(NodeIndex node, ReportNoise& noise) {}
  virtual void SpoilReport(NodeIndex node, PrivateReport& report) {}
  virtual void SpoilSending(OutgoingReport& report) {}
  virtual bool DrawsAgain() const { return false; }
  // Of all lists together. The two worlds differ in one entry, so one of them is odd.
  bool IsOdd() const { return kit.lists.neighbours.size() % 2 == 1; }
  bool IsOdd(NodeIndex node) const { return kit.lists.Of(node).size() % 2 == 1; }
  const NodeLife& life() const { return *life_; }

  Kit kit;

 private:
  const NodeLife* life_ = nullptr;
  std::map<NodeIndex, CodedReport> drawn_;
};

template <typename Node>
std::vector<ReplayClaim> BrokenBy(int cases = 24, std::optional<Mechanism> mechanism = std::nullopt) {
  const absl::StatusOr<ReplayAudit> audit =
      ReplayOf([](const NodeLife& life) { return Node().Run(life); }, cases, mechanism);
  EXPECT_TRUE(audit.ok()) << audit.status();
  return audit.ok() ? Broken(*audit) : std::vector<ReplayClaim>{};
}

TEST(Replay, PassesTheShippedNode) {
  const absl::StatusOr<ReplayAudit> audit = ReplayOf(RunShippedNode, 864);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_EQ(audit->cases, 864u);
  EXPECT_FALSE(audit->partial());
  EXPECT_TRUE(audit->passed());
  for (const ClaimCount& count : audit->claims) {
    EXPECT_GE(count.compared, 864u);
    EXPECT_EQ(count.broken, 0u) << count.example;
  }
  EXPECT_GT(audit->reports, 1500u);
}

TEST(Replay, PassesAnotherNodeThatKeepsThePromise) { EXPECT_THAT(BrokenBy<SmallNode>(), IsEmpty()); }

class SecondEntry final : public SmallNode {  // the last bit says whether the number of links is odd
  void SpoilReport(NodeIndex node, PrivateReport& report) override {
    if (report.bits.empty() || !IsOdd(node)) return;
    report.bits.Flip(node == kit.config.node_count - 1 ? 0 : kit.config.node_count - 1);
  }
};

TEST(Replay, FindsAReportThatDependsOnASecondEntry) { EXPECT_THAT(BrokenBy<SecondEntry>(), ElementsAre(kEntryBit)); }

class OneGroupMore final : public SmallNode {  // each link counts in the first group as well
  void SpoilReport(NodeIndex node, PrivateReport& report) override {
    if (report.group_degrees.size() > 1) report.group_degrees[0] += static_cast<int64_t>(kit.lists.Of(node).size());
  }
};

class OrdersItsGroups final : public SmallNode {  // a list of odd length is answered by other groups
  void SpoilReport(NodeIndex node, PrivateReport& report) override {
    if (IsOdd(node)) std::reverse(report.group_degrees.begin(), report.group_degrees.end());
  }
};

TEST(Replay, FindsAnAnswerAboutGroupsThatTellsMoreThanOneNumberOfTheEntry) {
  constexpr auto kGroups = Mechanism::kGroupDegrees;
  EXPECT_THAT(BrokenBy<SmallNode>(72, kGroups), IsEmpty());
  EXPECT_THAT(BrokenBy<OneGroupMore>(72, kGroups), ElementsAre(kEntryBit));
  EXPECT_THAT(BrokenBy<OrdersItsGroups>(72, kGroups), ElementsAre(kEntryBit));
}

class NoNoise final : public SmallNode {  // the entry is sent as it is when there are enough links
  void SpoilNoise(NodeIndex node, ReportNoise& noise) override {
    if (!noise.flips.empty() && IsOdd(node)) noise.flips = BitRow(noise.flips.size());
  }
};

TEST(Replay, FindsNoiseThatDependsOnTheList) { EXPECT_THAT(BrokenBy<NoNoise>(), ElementsAre(kEntryBit)); }

class DegreeTwice final : public SmallNode {  // every link counts twice
  void SpoilReport(NodeIndex node, PrivateReport& report) override {
    if (report.noisy_degree.has_value()) *report.noisy_degree += static_cast<int64_t>(kit.lists.Of(node).size());
  }
};

TEST(Replay, FindsADegreeThatCountsALinkTwice) { EXPECT_THAT(BrokenBy<DegreeTwice>(72), ElementsAre(kEntryDegree)); }

class OtherNodes final : public SmallNode {  // a gateway mixes its nodes up
  void SpoilReport(NodeIndex node, PrivateReport& report) override {
    if (node == kit.config.first_node || report.bits.empty() || !IsOdd()) return;
    report.bits.Flip(kit.config.first_node);
  }
};

TEST(Replay, FindsAReportThatDependsOnAnotherNodesList) {
  EXPECT_THAT(BrokenBy<OtherNodes>(), ::testing::Contains(kOtherReports));
}

class DrawsTwice final : public SmallNode {  // until the list pleases
  void SpoilNoise(NodeIndex node, ReportNoise& noise) override {
    std::array<uint8_t, 8> more;
    if (IsOdd(node)) (void)life().random.Fill(absl::MakeSpan(more));
  }
};

TEST(Replay, FindsANodeThatDrawsMoreForSomeLists) {
  EXPECT_THAT(BrokenBy<DrawsTwice>(), ::testing::Contains(kSameRandomness));
}

class AsksAgain final : public SmallNode {
  void Begin(Journal&) override {
    if (IsOdd()) (void)life().link.GetRounds(kit.config.first_node, "");
  }
};

class SleepsLonger final : public SmallNode {
  void Begin(Journal&) override { life().clock.SleepFor(absl::Nanoseconds(kit.lists.neighbours.size())); }
};

TEST(Replay, FindsACallOrASleepThatDependsOnTheList) {
  EXPECT_THAT(BrokenBy<AsksAgain>(), ElementsAre(kSameCalls));
  EXPECT_THAT(BrokenBy<SleepsLonger>(), ElementsAre(kSameCalls));
}

class Talks final : public SmallNode {
  void Begin(Journal&) override { spdlog::info("{} links", kit.lists.neighbours.size()); }
};

TEST(Replay, FindsALineOfTheLogThatDependsOnTheList) { EXPECT_THAT(BrokenBy<Talks>(), ElementsAre(kSameLog)); }

class KeepsMore final : public SmallNode {
  void Begin(Journal& journal) override {
    if (IsOdd()) journal.StageClock(life().clock.Now());
  }
};

TEST(Replay, FindsARecordThatDependsOnTheList) { EXPECT_THAT(BrokenBy<KeepsMore>(), ElementsAre(kSameRecords)); }

class LeavesAFile final : public SmallNode {
  void Begin(Journal&) override {
    if (IsOdd()) std::ofstream(life().journal_folder + "/note") << "odd";
  }
};

TEST(Replay, FindsAFileThatDependsOnTheList) { EXPECT_THAT(BrokenBy<LeavesAFile>(), ElementsAre(kSameFiles)); }

class SendsOthers final : public SmallNode {
  void SpoilSending(OutgoingReport& report) override { report.report.digest[0] ^= 1; }
};

TEST(Replay, FindsThatWhatIsSentIsNotWhatTheJournalHolds) {
  EXPECT_THAT(BrokenBy<SendsOthers>(), ElementsAre(kSentAsDrawn, kSameAnswer));
}

class OneDrawForEachRound final : public SmallNode {
  bool DrawsAgain() const override { return true; }
};

TEST(Replay, FindsASecondDrawInOneEpoch) {
  EXPECT_THAT(BrokenBy<OneDrawForEachRound>(), ::testing::Contains(kSameAnswer));
}

TEST(Replay, SaysHowMuchOfItWasDone) {
  const absl::StatusOr<ReplayAudit> audit = ReplayOf(RunShippedNode, 2);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_TRUE(audit->partial());
  EXPECT_EQ(audit->cases, 2u);
  EXPECT_EQ(audit->cases_asked, 864u);
}

TEST(Replay, NamesTheCaseThatBreaksAClaim) {
  const absl::StatusOr<ReplayAudit> audit = ReplayOf([](const NodeLife& life) { return Talks().Run(life); }, 1);
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_FALSE(audit->passed());
  EXPECT_THAT(audit->claims[kSameLog].example, HasSubstr("both-ends, n = 3, nodes "));
}

TEST(Replay, RefusesANodeThatCannotRun) {
  const absl::StatusOr<ReplayAudit> audit =
      ReplayOf([](const NodeLife&) { return absl::StatusOr<AgentOutcome>(absl::DataLossError("broken")); }, 1);
  EXPECT_EQ(audit.status().code(), absl::StatusCode::kDataLoss);
}

TEST(Replay, RefusesAFolderForTemporaryFilesThatIsNotThere) {
  const char* const before = ::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  const absl::StatusOr<ReplayAudit> audit = ReplayOf(RunShippedNode, 1);
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_THAT(std::string(audit.status().message()), HasSubstr("/nowhere/at/all"));
}

TEST(Replay, LeavesNoFolderBehind) {
  const auto folders = [] {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path()))
      count += entry.path().filename().string().starts_with("blink-replay-");
    return count;
  };
  const int before = folders();
  ASSERT_TRUE(ReplayOf(RunShippedNode, 1).ok());
  EXPECT_LE(folders(), before);
}

}  // namespace
}  // namespace blink
