#include "node_client/agent.h"

#include <signal.h>
#include <sys/resource.h>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "node_client/policy.h"
#include "tests/testing/log_capture.h"
#include "tests/unit/node_client/fakes.h"

namespace blink {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A kit with its journal, and the aggregator, which outlives the restarts of the node.
class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    options_.stopped = [this] { return stop_ || ++steps_ > 300; };
  }

  void MakeJournal(const Kit& kit) { ASSERT_TRUE(CreateJournal(folder_.path(), IdentityOf(kit)).ok()); }
  // One life of the process: opens the journal, runs, ends.
  AgentOutcome Run(const Kit& kit) {
    steps_ = 0;
    auto journal = Journal::Open(folder_.path(), IdentityOf(kit));
    EXPECT_TRUE(journal.ok()) << journal.status();
    return Agent(kit, **journal, link_, clock_, random_, options_).Run();
  }
  std::unique_ptr<Journal> Reader(const Kit& kit) { return *Journal::OpenReadOnly(folder_.path(), IdentityOf(kit)); }

  TempFolder folder_;
  FakeClock clock_;
  FakeRandom random_;
  FakeLink link_;
  AgentOptions options_;
  bool stop_ = false;
  int steps_ = 0;
};

TEST_F(AgentTest, OneNodeReportsAndStaysUntilTheRoundIsSealed) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  link_.seal_when_all = false;
  int polls = 0;
  link_.on_get_rounds = [&] {
    if (++polls == 4) link_.Find(kRoundA).state = v1::ROUND_STATE_SEALED;
  };
  const AgentOutcome outcome = Run(kit);
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.message;
  EXPECT_EQ(link_.Submissions(), 1u);
  EXPECT_EQ(link_.calls.back(), absl::StrCat("GetRounds 5 ", kRoundA));
  EXPECT_EQ(Reader(kit)->draws(), 1u);
  EXPECT_EQ(Reader(kit)->receipts(), 1u);
}

TEST_F(AgentTest, LeavesAtTheReceiptWhenToldSo) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  link_.seal_when_all = false;
  options_.leave_at_receipt = true;
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_THAT(link_.calls, ElementsAre("GetRounds 5 ", absl::StrCat("SubmitReport ", kRoundA, " 5")));
}

TEST_F(AgentTest, AGatewaySendsOneReportForEachOfItsNodes) {
  const Kit kit = MakeKit(0, 33);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  link_.expected_reports = 34;
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_EQ(link_.Submissions(), 34u);
  EXPECT_EQ(Reader(kit)->draws(), 34u);
  EXPECT_EQ(Reader(kit)->receipts(), 34u);
  for (NodeIndex node = 0; node < 34; ++node) {
    EXPECT_TRUE(DecodeReport(link_.rounds[0].parameters, node, link_.held[kRoundA][node]).ok()) << node;
  }
}

TEST_F(AgentTest, AReportIsDurableBeforeItIsSent) {
  const Kit kit = MakeKit(2, 9);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  link_.expected_reports = 8;
  link_.before_take = [&](const OutgoingReport& report) {
    // Another process reads the file at the very moment of the call.
    const auto journal = Reader(kit);
    EXPECT_EQ(journal->draws(), 8u);
    const auto stored = journal->LoadReport(1, report.parameters, report.node);
    EXPECT_TRUE(stored.ok());
    EXPECT_EQ(stored->coded_bits, report.report.coded_bits);
    EXPECT_EQ(stored->noisy_degree, report.report.noisy_degree);
    EXPECT_EQ(journal->SpentMicro(report.node), 2'000'000u);
    return absl::OkStatus();
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
}

TEST_F(AgentTest, ALostReceiptIsAnsweredWithTheSameBytesAfterARestart) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  link_.seal_when_all = false;
  link_.after_take = [&](const OutgoingReport&) {
    stop_ = true;  // the process dies before it hears of the receipt
    return absl::UnavailableError("connection lost");
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kInterrupted);
  EXPECT_EQ(Reader(kit)->receipts(), 0u);
  link_.after_take = [&](const OutgoingReport&) { return absl::OkStatus(); };
  stop_ = false;
  options_.leave_at_receipt = true;
  const AgentOutcome outcome = Run(MakeKit(5, 5, /*extra_links=*/4));  // and the list has changed meanwhile
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.message;
  EXPECT_EQ(Reader(kit)->draws(), 1u);
  EXPECT_EQ(Reader(kit)->receipts(), 1u);
}

TEST_F(AgentTest, AGatewayFetchesReceiptsThatWereLostAfterItsReportsArrived) {
  const Kit kit = MakeKit(5, 12);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  link_.seal_when_all = false;
  link_.after_take = [&](const OutgoingReport& report) {
    if (report.node < 12) return absl::OkStatus();  // whose receipts are in memory, not yet in the journal
    stop_ = true;
    return absl::UnavailableError("connection lost");
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kInterrupted);
  EXPECT_EQ(link_.held[kRoundA].size(), 8u);
  EXPECT_LT(Reader(kit)->receipts(), 8u);
  link_.after_take = [](const OutgoingReport&) { return absl::OkStatus(); };
  stop_ = false;
  options_.leave_at_receipt = true;
  const AgentOutcome outcome = Run(kit);
  EXPECT_EQ(outcome.code, ExitCode::kOk) << outcome.message;
  EXPECT_EQ(Reader(kit)->draws(), 8u);
  EXPECT_EQ(Reader(kit)->receipts(), 8u);
}

TEST_F(AgentTest, AnAggregatorRestoredFromABackupGetsTheSameBytesAgain) {
  for (const NodeIndex last : {5u, 12u}) {  // a node, and a gateway
    link_ = FakeLink();
    TempFolder folder;
    const Kit kit = MakeKit(5, last);
    ASSERT_TRUE(CreateJournal(folder.path(), IdentityOf(kit)).ok());
    auto journal = *Journal::Open(folder.path(), IdentityOf(kit));
    link_.rounds = {MakeRound(kRoundA)};
    link_.seal_when_all = false;
    std::map<NodeIndex, CodedReport> first;
    int polls = 0;
    link_.on_get_rounds = [&] {
      ++polls;
      if (polls == 3) {
        first = link_.held[kRoundA];
        link_.held.clear();
      }
      if (polls == 5) link_.Find(kRoundA).state = v1::ROUND_STATE_SEALED;
    };
    steps_ = 0;
    EXPECT_EQ(Agent(kit, *journal, link_, clock_, random_, options_).Run().code, ExitCode::kOk);
    ASSERT_EQ(first.size(), kit.config.hosted());
    ASSERT_EQ(link_.held[kRoundA].size(), kit.config.hosted());
    for (const auto& [node, report] : first) {
      EXPECT_EQ(report.coded_bits, link_.held[kRoundA][node].coded_bits);
      EXPECT_EQ(report.digest, link_.held[kRoundA][node].digest);
    }
    EXPECT_EQ(journal->draws(), kit.config.hosted());
  }
}

TEST_F(AgentTest, TheSameParametersGetTheSameReportWhetherOrNotTheListChanged) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  link_.rounds.push_back(MakeRound(kRoundB));
  EXPECT_EQ(Run(MakeKit(5, 5, 4)).code, ExitCode::kOk);
  EXPECT_EQ(link_.held[kRoundA][5].digest, link_.held[kRoundB][5].digest);
  EXPECT_EQ(Reader(kit)->draws(), 1u);
}

TEST_F(AgentTest, OtherParametersAreADrawFromTheSnapshotAndADebit) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  // At epsilon 50 with no degree the report is, but for a chance of 34 e^-50, the list.
  Kit loose = kit, changed = MakeKit(5, 5, 4);
  loose.policy.epsilon_micro_per_round_max = changed.policy.epsilon_micro_per_round_max = 50'000'000;
  link_.rounds = {MakeRound(kRoundA, 1'000'000)};
  EXPECT_EQ(Run(loose).code, ExitCode::kOk);
  link_.rounds.push_back(MakeRound(kRoundB, 50'000'000, 0));
  EXPECT_EQ(Run(changed).code, ExitCode::kOk);
  EXPECT_EQ(Reader(kit)->draws(), 2u);
  EXPECT_EQ(Reader(kit)->SpentMicro(5), 51'000'000u);
  EXPECT_EQ(DecodeReport(link_.rounds[1].parameters, 5, link_.held[kRoundB][5])->bits.Count(), 2u) << "the old list";
}

TEST_F(AgentTest, TheNextEpochDrawsAnewFromTheListsAsTheyAreThen) {
  Kit kit = MakeKit(5, 5), changed = MakeKit(5, 5, 4);
  kit.policy.epsilon_micro_per_round_max = changed.policy.epsilon_micro_per_round_max = 50'000'000;
  kit.policy.epsilon_micro_lifetime_max = changed.policy.epsilon_micro_lifetime_max = 200'000'000;
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA, 50'000'000, 0)};
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  clock_.now += absl::Hours(25);
  link_.rounds.push_back(MakeRound(kRoundB, 50'000'000, 0));
  EXPECT_EQ(Run(changed).code, ExitCode::kOk);
  EXPECT_EQ(Reader(kit)->epoch()->index, 2u);
  EXPECT_EQ(Reader(kit)->draws(), 2u);
  EXPECT_EQ(DecodeReport(link_.rounds[1].parameters, 5, link_.held[kRoundB][5])->bits.Count(), 6u);
}

TEST_F(AgentTest, AClockThatIsSetBackDoesNotLengthenNorSetForwardOnceAndBackShortenAnEpochTwice) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  clock_.now -= absl::Hours(1000);
  link_.rounds.push_back(MakeRound(kRoundB));
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_EQ(Reader(kit)->epoch()->index, 1u);
  EXPECT_EQ(Reader(kit)->draws(), 1u);
}

TEST_F(AgentTest, RefusalsSendNothingAndDebitNothing) {
  Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  kit.policy.epsilon_micro_lifetime_max = 5'000'000;
  const RoundView rounds[] = {
      MakeRound(kRoundA, 2'000'000, 100'000, 35),     // another n
      MakeRound(kRoundA, 2'000'000, 100'000, 34, 7),  // another roster
      MakeRound(kRoundA, 8'000'001),                  // above the round's maximum
      MakeRound(kRoundA, 6'000'000),                  // above the lifetime's
  };
  for (const RoundView& round : rounds) {
    link_ = FakeLink();
    link_.rounds = {round};
    const AgentOutcome outcome = Run(kit);
    EXPECT_EQ(outcome.code, ExitCode::kRefusedByPolicy) << outcome.message;
    EXPECT_THAT(link_.calls, ElementsAre("GetRounds 5 "));
    EXPECT_EQ(Reader(kit)->draws(), 0u);
    EXPECT_FALSE(Reader(kit)->epoch().has_value());
  }
  link_ = FakeLink();
  link_.malformed = {{kRoundA, absl::InvalidArgumentError("mechanism 9 is not known")}};
  const AgentOutcome outcome = Run(kit);
  EXPECT_EQ(outcome.code, ExitCode::kRefusedByPolicy);
  EXPECT_THAT(outcome.message, HasSubstr("mechanism 9"));
}

TEST_F(AgentTest, ARefusedRoundDoesNotKeepAnotherFromBeingAnswered) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundB, 9'000'000), MakeRound(kRoundA)};
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_EQ(link_.Submissions(), 1u);
  EXPECT_TRUE(link_.held[kRoundA].contains(5));
}

TEST_F(AgentTest, SeveralOpenRoundsAreAllAnswered) {
  const Kit kit = MakeKit(0, 3);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA), MakeRound(kRoundB, 1'000'000)};
  link_.expected_reports = 4;
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_EQ(link_.Submissions(), 8u);
  EXPECT_EQ(Reader(kit)->draws(), 8u);
  EXPECT_EQ(Reader(kit)->SpentMicroMax(), 3'000'000u);
}

TEST_F(AgentTest, AFailingRandomSourceDebitsNothingAndSendsNothing) {
  const Kit kit = MakeKit(0, 3);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  for (const int fills : {0, 1, 2, 3}) {
    random_.fills_left = fills;
    EXPECT_EQ(Run(kit).code, ExitCode::kInternal) << fills;
    EXPECT_EQ(link_.Submissions(), 0u);
    EXPECT_EQ(Reader(kit)->draws(), 0u);
  }
  random_.fills_left = -1;
  link_.expected_reports = 4;
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_EQ(Reader(kit)->draws(), 4u);
}

// The whole kind: the k-th call of the random source fails, for every k that a round makes, whatever is drawn.
TEST_F(AgentTest, ARandomSourceThatFailsAtAnyCallLeavesNothingHalfDone) {
  for (const uint32_t share_ppm : {0u, 100'000u, 1'000'000u}) {
    for (const NodeIndex last : {5u, 8u}) {
      const Kit kit = MakeKit(5, last);
      const uint64_t hosted = last - 5 + 1;
      bool succeeded = false;
      for (int k = 0; !succeeded; ++k) {
        ASSERT_LT(k, 100);
        TempFolder folder;
        ASSERT_TRUE(CreateJournal(folder.path(), IdentityOf(kit)).ok());
        link_ = FakeLink();
        link_.rounds = {MakeRound(kRoundA, 2'000'000, share_ppm)};
        link_.expected_reports = hosted;
        random_.fills_left = k;
        const auto live = [&] {
          steps_ = 0;
          auto journal = *Journal::Open(folder.path(), IdentityOf(kit));
          return Agent(kit, *journal, link_, clock_, random_, options_).Run().code;
        };
        const ExitCode code = live();
        succeeded = code == ExitCode::kOk;
        const uint64_t draws = (*Journal::OpenReadOnly(folder.path(), IdentityOf(kit)))->draws();
        if (link_.Submissions() == 0) {
          EXPECT_EQ(code, ExitCode::kInternal) << k;
          // All were drawn, debited and written before what failed, or none was.
          EXPECT_TRUE(draws == 0 || draws == hosted) << k << ": " << draws;
        } else {
          EXPECT_EQ(draws, hosted) << k << ": nothing is sent that is not durable";
        }
        // With a source that works again every node has one draw, and no other report than the one that was sent.
        random_.fills_left = -1;
        const bool sent = link_.Submissions() > 0;  // the round may be sealed by now, and then nobody lists it
        EXPECT_TRUE(live() == ExitCode::kOk || sent) << k;
        EXPECT_EQ((*Journal::OpenReadOnly(folder.path(), IdentityOf(kit)))->draws(), hosted) << k;
        EXPECT_EQ(link_.held[kRoundA].size(), hosted) << k;
      }
    }
  }
}

TEST_F(AgentTest, AFullDiskSendsNothing) {
  const Kit kit = MakeKit(0, 3);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{ReadText(folder_ / "journal.blj").size() + 50, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const AgentOutcome outcome = Run(kit);
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(outcome.code, ExitCode::kNoResources) << outcome.message;
  EXPECT_EQ(link_.Submissions(), 0u);
  EXPECT_EQ(Reader(kit)->draws(), 0u);
}

TEST_F(AgentTest, AReportThatTheAggregatorHoldsAndTheJournalDoesNotKnowStopsTheNodeBeforeItDraws) {
  const std::pair<NodeIndex, NodeIndex> cases[] = {{5, 5}, {8, 5}, {8, 6}, {8, 8}};  // last node, whose report is held
  for (const auto& [last, foreign] : cases) {
    TempFolder folder;
    link_ = FakeLink();
    const Kit kit = MakeKit(5, last);
    ASSERT_TRUE(CreateJournal(folder.path(), IdentityOf(kit)).ok());
    auto journal = *Journal::Open(folder.path(), IdentityOf(kit));
    link_.rounds = {MakeRound(kRoundA)};
    link_.held[kRoundA][foreign] = CodedReport{"other", 1, Sha256Of("other")};
    steps_ = 0;
    const AgentOutcome outcome = Agent(kit, *journal, link_, clock_, random_, options_).Run();
    EXPECT_EQ(outcome.code, ExitCode::kJournal);
    EXPECT_THAT(outcome.message, HasSubstr(absl::StrCat("holds a report of node ", foreign)));
    EXPECT_THAT(outcome.message, HasSubstr("older copy of the journal was restored"));
    EXPECT_THAT(outcome.message, HasSubstr("somebody else reports with this certificate"));
    EXPECT_EQ(
        std::count(link_.calls.begin(), link_.calls.end(), absl::StrCat("NoteForeignReport ", kRoundA, " ", foreign)),
        1)
        << "so that operators learn of it";
    EXPECT_EQ(link_.held[kRoundA][foreign].coded_bits, "other");
    EXPECT_EQ(link_.Submissions(), 0u);
    EXPECT_EQ(journal->draws(), 0u);
    EXPECT_EQ(journal->rounds(), 0u);
  }
}

TEST_F(AgentTest, AnOlderJournalThatWasRestoredStopsWhereTheAggregatorStillHoldsTheReports) {
  for (const NodeIndex last : {5u, 8u}) {
    TempFolder folder;
    link_ = FakeLink();
    const Kit kit = MakeKit(5, last);
    ASSERT_TRUE(CreateJournal(folder.path(), IdentityOf(kit)).ok());
    const std::string old = ReadText(folder / "journal.blj");
    link_.rounds = {MakeRound(kRoundA)};
    link_.seal_when_all = false;
    options_.leave_at_receipt = true;
    for (const ExitCode expected : {ExitCode::kOk, ExitCode::kJournal, ExitCode::kJournal}) {
      steps_ = 0;
      auto journal = *Journal::Open(folder.path(), IdentityOf(kit));
      EXPECT_EQ(Agent(kit, *journal, link_, clock_, random_, options_).Run().code, expected);
      EXPECT_EQ(link_.Submissions(), kit.config.hosted());
      EXPECT_EQ(journal->draws(), expected == ExitCode::kOk ? kit.config.hosted() : 0u);
      journal = nullptr;
      WriteText(folder / "journal.blj", old);
    }
  }
}

TEST_F(AgentTest, AnotherReportHeldForAnAnsweredRoundStopsTheNode) {
  for (const NodeIndex last : {5u, 8u}) {
    for (const v1::RoundState state : {v1::ROUND_STATE_OPEN, v1::ROUND_STATE_SEALED}) {
      TempFolder folder;
      link_ = FakeLink();
      const Kit kit = MakeKit(5, last);
      ASSERT_TRUE(CreateJournal(folder.path(), IdentityOf(kit)).ok());
      auto journal = *Journal::Open(folder.path(), IdentityOf(kit));
      link_.rounds = {MakeRound(kRoundA)};
      link_.seal_when_all = false;
      int polls = 0;
      link_.on_get_rounds = [&] {
        if (++polls != 3) return;
        link_.held[kRoundA][5] = CodedReport{"other", 1, Sha256Of("other")};
        link_.Find(kRoundA).state = state;
      };
      steps_ = 0;
      const AgentOutcome outcome = Agent(kit, *journal, link_, clock_, random_, options_).Run();
      EXPECT_EQ(outcome.code, ExitCode::kJournal) << outcome.message;
      EXPECT_EQ(journal->draws(), kit.config.hosted());
    }
  }
}

TEST_F(AgentTest, ADaemonStopsToo) {
  const Kit kit = MakeKit(5, 8);
  MakeJournal(kit);
  options_.daemon = true;
  link_.rounds = {MakeRound(kRoundA), MakeRound(kRoundB)};
  link_.held[kRoundB][7] = CodedReport{"other", 1, Sha256Of("other")};
  EXPECT_EQ(Run(kit).code, ExitCode::kJournal);
}

// A node whose round was refused, or whose gateway could not ask, draws nothing either.
TEST_F(AgentTest, AGatewayThatCannotAskWhatIsHeldDrawsNothing) {
  const Kit kit = MakeKit(5, 8);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  link_.list_digests_status = absl::UnavailableError("busy");
  options_.give_up_after = absl::Seconds(60);
  EXPECT_EQ(Run(kit).code, ExitCode::kUnreachable);
  EXPECT_EQ(Reader(kit)->draws(), 0u);
  link_.list_digests_status = absl::OkStatus();
  link_.expected_reports = 4;
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
}

TEST_F(AgentTest, AReceiptForAnotherReportIsNotBelieved) {
  class LyingLink final : public AggregatorLink {
   public:
    explicit LyingLink(FakeLink& link) : link_(link) {}
    LinkResult<std::vector<OfferedRound>> GetRounds(NodeIndex node, const std::string& id) override {
      return link_.GetRounds(node, id);
    }
    LinkResult<Receipt> SubmitReport(const std::string& id, const OutgoingReport& report) override {
      return {Receipt{id, report.node, Sha256Of("a lie"), 1}, std::nullopt};
    }
    LinkResult<Done> SubmitReports(const std::string&, const NextReport&, const OnReply&) override {
      return {Done{}, {}};
    }
    LinkResult<Done> ListDigests(const std::string&, NodeIndex, NodeIndex, const OnDigest&) override {
      return {Done{}, {}};
    }

   private:
    FakeLink& link_;
  } lying(link_);
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  auto journal = *Journal::Open(folder_.path(), IdentityOf(kit));
  link_.rounds = {MakeRound(kRoundA)};
  options_.give_up_after = absl::Seconds(60);
  const AgentOutcome outcome = Agent(kit, *journal, lying, clock_, random_, options_).Run();
  EXPECT_EQ(outcome.code, ExitCode::kUnreachable);
  EXPECT_THAT(outcome.message, HasSubstr("for another report"));
  EXPECT_EQ(journal->receipts(), 0u);
}

TEST_F(AgentTest, AFailedOrCancelledRoundEndsWithItsOwnCode) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  link_.seal_when_all = false;
  link_.on_get_rounds = [&] {
    if (link_.Submissions() > 0) link_.Find(kRoundA).state = v1::ROUND_STATE_CANCELLED;
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kRoundFailed);
}

TEST_F(AgentTest, ARoundThatSealsBeforeTheReportArrivesIsReported) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  link_.before_take = [&](const OutgoingReport&) {
    link_.Find(kRoundA).state = v1::ROUND_STATE_SEALED;
    return absl::OkStatus();
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPeer);
}

TEST_F(AgentTest, ARoundThatSealedWhileTheProcessWasDeadIsSeenToItsEnd) {
  for (const NodeIndex last : {5u, 9u}) {
    TempFolder folder;
    link_ = FakeLink();
    const Kit kit = MakeKit(5, last);
    ASSERT_TRUE(CreateJournal(folder.path(), IdentityOf(kit)).ok());
    link_.rounds = {MakeRound(kRoundA)};
    link_.expected_reports = kit.config.hosted();
    stop_ = false;
    link_.after_take = [&](const OutgoingReport& report) {
      if (report.node != last) return absl::OkStatus();
      stop_ = true;  // dies when the last report has arrived and sealed the round, before its receipt
      return absl::UnavailableError("connection lost");
    };
    for (const ExitCode expected : {ExitCode::kInterrupted, ExitCode::kOk}) {
      steps_ = 0;
      auto journal = *Journal::Open(folder.path(), IdentityOf(kit));
      EXPECT_EQ(Agent(kit, *journal, link_, clock_, random_, options_).Run().code, expected);
      EXPECT_EQ(journal->draws(), kit.config.hosted());
      EXPECT_EQ(journal->UnfinishedRounds().empty(), expected == ExitCode::kOk);
      stop_ = false;
    }
  }
}

TEST_F(AgentTest, ARoundThatTheAggregatorForgotDoesNotHinderTheNext) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  link_.before_take = [&](const OutgoingReport&) {
    stop_ = true;
    return absl::UnavailableError("connection lost");
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kInterrupted);
  stop_ = false;
  link_ = FakeLink();
  link_.rounds = {MakeRound(kRoundB)};
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_TRUE(link_.held[kRoundB].contains(5));
}

TEST_F(AgentTest, HostileRetryWindowsAreClamped) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  options_.retry = RetryPolicy{absl::Milliseconds(200), absl::Seconds(30)};
  options_.give_up_after = absl::Seconds(600);
  link_.get_rounds_status = absl::UnavailableError("busy");
  link_.window = RetryWindow{absl::Hours(24), absl::Hours(24)};
  EXPECT_EQ(Run(kit).code, ExitCode::kUnreachable);
  ASSERT_GT(clock_.sleeps.size(), 5u);
  for (const absl::Duration sleep : clock_.sleeps) EXPECT_LE(sleep, absl::Seconds(30));

  clock_.sleeps.clear();
  link_.window = RetryWindow{absl::ZeroDuration(), absl::ZeroDuration()};
  options_.give_up_after = absl::Seconds(10);
  EXPECT_EQ(Run(kit).code, ExitCode::kUnreachable);
  EXPECT_LT(clock_.sleeps.size(), 250u) << "about 100 sleeps of 0 to 0.2 s fill 10 s";
}

TEST_F(AgentTest, GivesUpWhenNoRoundIsOpened) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  options_.give_up_after = absl::Seconds(20);
  const AgentOutcome outcome = Run(kit);
  EXPECT_EQ(outcome.code, ExitCode::kUnreachable);
  EXPECT_THAT(outcome.message, HasSubstr("no round"));
}

TEST_F(AgentTest, NoWaitGoesBeyondTheTimeInWhichItGivesUp) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  options_.give_up_after = absl::Seconds(60);
  for (const absl::Status& answer : {absl::OkStatus(), absl::UnavailableError("busy")}) {
    for (const auto& window :
         {std::optional<RetryWindow>(), std::optional<RetryWindow>({absl::Minutes(2), absl::Minutes(4)})}) {
      link_ = FakeLink();
      link_.get_rounds_status = answer;
      link_.window = window;
      const absl::Time start = clock_.now;
      LogCapture log;
      EXPECT_EQ(Run(kit).code, ExitCode::kUnreachable);
      EXPECT_EQ(clock_.now - start, absl::Seconds(60));
      EXPECT_EQ(link_.calls.size() == 1, window.has_value()) << "no attempt comes before the window";
      EXPECT_EQ(absl::StrContains(log.text(), ", giving up in "), !answer.ok()) << log.text();
    }
  }
}

TEST_F(AgentTest, AWaitThatIsLongerThanTheTimeInWhichItGivesUpEndsNoRunThatIsAnswered) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  options_.give_up_after = absl::Seconds(60);
  link_.window = RetryWindow{absl::Minutes(2), absl::Minutes(4)};
  link_.rounds = {MakeRound(kRoundA)};
  link_.seal_when_all = false;
  int polls = 0;
  link_.on_get_rounds = [&] {
    if (++polls == 4) link_.Find(kRoundA).state = v1::ROUND_STATE_SEALED;
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
}

TEST_F(AgentTest, AStopEndsTheLastWaitAsASignal) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  options_.give_up_after = absl::Seconds(1);
  link_.get_rounds_status = absl::UnavailableError("busy");
  link_.window = RetryWindow{absl::Minutes(2), absl::Minutes(4)};
  clock_.on_sleep = [&] { stop_ = true; };
  EXPECT_EQ(Run(kit).code, ExitCode::kInterrupted);
}

// An aggregator whose disk is full refuses with a window, for hours; then it starts again.
TEST_F(AgentTest, RefusalsWithAWindowDoNotLengthenTheBackoffThatFollows) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  options_.daemon = true;
  link_.rounds = {MakeRound(kRoundA)};
  link_.seal_when_all = false;
  link_.window = RetryWindow{absl::Seconds(1), absl::Seconds(5)};
  link_.before_take = [](const OutgoingReport&) { return absl::ResourceExhaustedError("the disk is full"); };
  int polls = 0;
  size_t gone = 0, back = 0;
  link_.on_get_rounds = [&] {
    ++polls;
    if (polls == 40) {
      gone = clock_.sleeps.size();
      link_.get_rounds_status = absl::UnavailableError("nobody listens");
      link_.window = std::nullopt;
    }
    if (polls == 44) back = clock_.sleeps.size();
    if (polls == 44) stop_ = true;
  };
  LogCapture log;
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  ASSERT_EQ(back, gone + 4);
  for (size_t i = 0; i < 4; ++i) EXPECT_LE(clock_.sleeps[gone + i], absl::Milliseconds(200) * (1 << i)) << i;
  for (size_t i = gone - 30; i < gone; ++i) EXPECT_LE(clock_.sleeps[i], absl::Seconds(5)) << i;
  EXPECT_THAT(log.text(), HasSubstr("attempt 39 failed, trying again in "));
  EXPECT_THAT(log.text(), HasSubstr(" s: the disk is full"));
  EXPECT_THAT(log.text(), HasSubstr(" s: nobody listens"));
}

TEST_F(AgentTest, APermanentRefusalOfTheNodeEndsTheRun) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  link_.get_rounds_status = absl::PermissionDeniedError("the certificate does not cover node 5");
  EXPECT_EQ(Run(kit).code, ExitCode::kRefusedByPeer);
  EXPECT_EQ(link_.calls.size(), 1u);
}

TEST_F(AgentTest, ADaemonGoesOnOverRoundsAndEndsCleanly) {
  const Kit kit = MakeKit(5, 5);
  MakeJournal(kit);
  options_.daemon = true;
  link_.rounds = {MakeRound(kRoundA), MakeRound("00000000000000000000000000000000", 9'000'000)};
  int polls = 0;
  link_.on_get_rounds = [&] {
    if (++polls == 10) link_.rounds.push_back(MakeRound(kRoundB, 1'000'000));
    if (polls == 20) stop_ = true;
  };
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_EQ(link_.Submissions(), 2u);
  EXPECT_TRUE(link_.held[kRoundB].contains(5));
}

TEST_F(AgentTest, TheSpreadDelaysTheSendingNotTheDraw) {
  Kit kit = MakeKit(5, 5);
  kit.policy.send_spread_seconds = 3600;
  MakeJournal(kit);
  link_.rounds = {MakeRound(kRoundA)};
  const absl::Time start = clock_.now;
  absl::Time sent, drawn;
  clock_.on_sleep = [&] {
    if (drawn == absl::Time() && Reader(kit)->draws() == 1) drawn = clock_.now;
  };
  link_.before_take = [&](const OutgoingReport&) {
    sent = clock_.now;
    return absl::OkStatus();
  };
  options_.stopped = [] { return false; };
  EXPECT_EQ(Run(kit).code, ExitCode::kOk);
  EXPECT_LE(drawn, start + absl::Seconds(5));
  EXPECT_LE(sent, start + absl::Seconds(3600 + 5));
  EXPECT_GT(sent, start + absl::Seconds(5)) << "with probability 5 / 3600 by chance; the seed is fixed";
}

}  // namespace
}  // namespace blink
