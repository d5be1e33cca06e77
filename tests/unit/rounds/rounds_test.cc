#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <sstream>

#include "absl/strings/match.h"
#include "aggregator_server/reports/report_file.h"
#include "aggregator_server/rounds/pipeline.h"
#include "aggregator_server/rounds/retry.h"
#include "aggregator_server/store/rocksdb_store.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/log_capture.h"

namespace blink {
namespace {

using testing::Eventually;
using ::testing::HasSubstr;
using testing::MakeChecked;
using testing::MakeParameters;

constexpr uint32_t kNodes = 20;

// A store of which changes of rounds can be made to fail.
class FailingStore final : public ReportStore {
 public:
  explicit FailingStore(std::unique_ptr<ReportStore> store) : store_(std::move(store)) {}

  // From now on changes of rounds that may be in `state` fail with `error`, unless that is OK.
  void Fail(v1::RoundState state, const absl::Status& error) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = state;
    error_ = error;
    failures_ = 0;
  }
  int failures() const { return failures_; }  // since then
  // What is said when somebody asks whether a report can be stored.
  void SayOfReports(const absl::Status& can_store) {
    const std::lock_guard<std::mutex> lock(mutex_);
    can_store_ = can_store;
  }
  absl::Status CheckCanStore() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return can_store_;
  }

  absl::StatusOr<v1::Round> UpdateRound(const std::string& round_id, const std::vector<v1::RoundState>& expected,
                                        const std::function<absl::Status(v1::Round&)>& change) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_.ok() && std::count(expected.begin(), expected.end(), state_) > 0) {
        ++failures_;
        return error_;
      }
    }
    return store_->UpdateRound(round_id, expected, change);
  }
  absl::StatusOr<v1::Round> CreateRound(const v1::Round& round, const std::string& request_id) override {
    return store_->CreateRound(round, request_id);
  }
  absl::StatusOr<v1::Round> GetRound(const std::string& round_id) override { return store_->GetRound(round_id); }
  std::vector<v1::Round> ListRounds() override { return store_->ListRounds(); }
  std::vector<v1::Round> ListOpenRounds() override { return store_->ListOpenRounds(); }
  void PutReport(CheckedReport report, PutCallback done) override {
    store_->PutReport(std::move(report), std::move(done));
  }
  absl::StatusOr<std::optional<Digest>> GetDigest(const std::string& round_id, uint64_t node) override {
    return store_->GetDigest(round_id, node);
  }
  absl::Status VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                            const std::function<absl::Status(uint64_t, const Digest&)>& visit) override {
    return store_->VisitDigests(round_id, first, last, limit, visit);
  }
  absl::Status VisitReports(const std::string& round_id,
                            const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) override {
    return store_->VisitReports(round_id, visit);
  }

 private:
  const std::unique_ptr<ReportStore> store_;
  std::mutex mutex_;
  v1::RoundState state_ = v1::ROUND_STATE_UNSPECIFIED;
  absl::Status error_;
  absl::Status can_store_;
  std::atomic<int> failures_{0};
};

class PipelineTest : public ::testing::Test {
 protected:
  PipelineTest() {
    options_.deployment = "demo";
    options_.node_count = kNodes;
    options_.roster_version = 4;
    options_.rounds_folder = folder_ / "rounds";
    options_.attributes_folder = folder_ / "attributes";
    options_.worker_path = BLINK_FAKE_WORKER;
    std::filesystem::create_directories(options_.attributes_folder);
    Behave("succeed");
  }
  void SetUp() override {
    auto store = OpenRocksDbStore(folder_ / "store");
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = std::make_unique<FailingStore>(*std::move(store));
    StartPipeline();
  }
  void TearDown() override {
    pipeline_.reset();
    store_.reset();
  }
  void StartPipeline() {
    pipeline_.reset();
    pipeline_ = std::make_unique<Pipeline>(options_, *store_, clock_);
    ASSERT_TRUE(pipeline_->Start().ok());
  }
  void Behave(const std::string& behaviour) { std::ofstream(options_.attributes_folder + "/behaviour") << behaviour; }
  int Starts() {
    std::ifstream file(options_.attributes_folder + "/starts");
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
  }
  std::string Create(uint32_t quorum = 1, const std::string& request_id = "") {
    const auto round = pipeline_->CreateRound(Request(quorum, request_id));
    EXPECT_TRUE(round.ok()) << round.status();
    return round->round_id();
  }
  static v1::CreateRoundRequest Request(uint32_t quorum = 1, const std::string& request_id = "") {
    v1::CreateRoundRequest request;
    request.set_deployment("demo");
    request.mutable_parameters()->set_epsilon_micro(6'000'000);
    request.mutable_parameters()->set_degree_share_ppm(100'000);
    request.set_open_for_ms(60'000);
    request.set_quorum(quorum);
    request.set_request_id(request_id);
    return request;
  }
  void Report(const std::string& round_id, NodeIndex first, NodeIndex last) {
    for (NodeIndex node = first; node <= last; ++node) {
      const auto put = store_->PutReportAndWait(MakeChecked(parameters_, node, 0, round_id));
      ASSERT_TRUE(put.ok()) << put.status();
      pipeline_->NoteReport(round_id, put->reports);
    }
  }
  bool HasCheckpoint(const std::string& round_id) const {
    return std::filesystem::exists(options_.rounds_folder + "/" + round_id + "/result.checkpoint");
  }
  v1::Round Get(const std::string& round_id) { return *pipeline_->GetRound(round_id); }
  bool Reaches(const std::string& round_id, v1::RoundState state) {
    const bool reached = Eventually([&] { return Get(round_id).state() == state; });
    if (!reached) ADD_FAILURE() << Get(round_id).ShortDebugString();
    return reached;
  }

  testing::TempFolder folder_;
  testing::ManualClock clock_;
  PipelineOptions options_;
  const PrivacyParameters parameters_ = MakeParameters(kNodes);
  std::unique_ptr<FailingStore> store_;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_F(PipelineTest, SaysOfAnOpenRoundThatNoReportCanBeStored) {
  LogCapture log;
  const std::string id = Create();
  Report(id, 0, 2);
  StartPipeline();  // for which these reports are no news
  std::atomic<int> told{0};
  pipeline_->Watch(id, [&] { ++told; });
  EXPECT_EQ(Get(id).progress_text(), "3 of 20 reports");
  store_->SayOfReports(absl::ResourceExhaustedError("the disk has 3 bytes left"));
  EXPECT_EQ(Get(id).progress_text(), "3 of 20 reports; none can be stored now: the disk has 3 bytes left");
  EXPECT_TRUE(Eventually([&] { return told > 0; })) << "who watches is told";
  told = 0;
  store_->SayOfReports(absl::OkStatus());
  EXPECT_EQ(Get(id).progress_text(), "3 of 20 reports");
  EXPECT_TRUE(Eventually([&] { return told > 0; }));
  pipeline_.reset();
  EXPECT_THAT(log.text(), HasSubstr("error no report can be stored, and 1 rounds are open: the disk has 3 bytes left"));
  EXPECT_THAT(log.text(), HasSubstr("info reports can be stored again"));
}

TEST_F(PipelineTest, SealsWhenAllHaveReportedAndServesTheResult) {
  options_.worker_threads = 2;
  StartPipeline();
  const std::string id = Create();
  EXPECT_EQ(Get(id).state(), v1::ROUND_STATE_OPEN);
  EXPECT_EQ(Get(id).roster_version(), 4);
  EXPECT_EQ(Get(id).parameters().node_count(), kNodes);
  EXPECT_EQ(pipeline_->FindResult(id, "metrics.json").status().code(), absl::StatusCode::kFailedPrecondition);
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  const v1::Round round = Get(id);
  EXPECT_EQ(round.reports(), kNodes);
  EXPECT_EQ(round.attempts(), 1);
  EXPECT_THAT(round.result_json(), HasSubstr("\"threads\":\"2\""));
  const auto folder = ReadRoundFolder(options_.rounds_folder + "/" + id);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->reports.report_count(), kNodes);
  EXPECT_TRUE(std::filesystem::exists(*pipeline_->FindResult(id, "predictions.csv")));
  for (const char* artifact : {"../round.json", "/etc/passwd", "", "metrics.json/"}) {
    EXPECT_EQ(pipeline_->FindResult(id, artifact).status().code(), absl::StatusCode::kInvalidArgument) << artifact;
  }
}

TEST_F(PipelineTest, FlagsImplausibleReportsUnlessTheOperatorSaysOtherwise) {
  EXPECT_EQ(Get(Create()).implausible(), v1::IMPLAUSIBLE_FLAG);
  v1::CreateRoundRequest request = Request();
  request.set_implausible(v1::IMPLAUSIBLE_DROP);
  request.set_degree_max(kNodes - 1);
  const v1::Round round = pipeline_->CreateRound(request).value();
  EXPECT_EQ(Get(round.round_id()).implausible(), v1::IMPLAUSIBLE_DROP);
  EXPECT_EQ(Get(round.round_id()).degree_max(), kNodes - 1);
}

TEST_F(PipelineTest, RefusesAnUnknownPolicyAndABoundThatNoListReaches) {
  v1::CreateRoundRequest request = Request();
  request.set_implausible(static_cast<v1::Implausible>(9));
  absl::Status refused = pipeline_->CreateRound(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("implausible is 9"));
  request = Request();
  request.set_degree_max(kNodes);
  refused = pipeline_->CreateRound(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("degree_max is 20"));
}

TEST_F(PipelineTest, SealsAtTheDeadlineWithExactlyTheQuorum) {
  const std::string id = Create(/*quorum=*/7);
  Report(id, 0, 6);
  EXPECT_EQ(Get(id).state(), v1::ROUND_STATE_OPEN);
  clock_.Advance(absl::Seconds(59));
  std::this_thread::sleep_for(std::chrono::milliseconds(250));  // ticks pass, the clock does not
  EXPECT_EQ(Get(id).state(), v1::ROUND_STATE_OPEN);
  clock_.Advance(absl::Seconds(1));
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  EXPECT_EQ(Get(id).reports(), 7);
}

TEST_F(PipelineTest, FailsBelowTheQuorumAndSaysHowMany) {
  const std::string id = Create(/*quorum=*/5);
  Report(id, 0, 3);
  const auto sealed = pipeline_->Seal(id);
  ASSERT_TRUE(sealed.ok());
  EXPECT_EQ(sealed->state(), v1::ROUND_STATE_FAILED);
  EXPECT_THAT(sealed->failure_reason(), HasSubstr("4 of 20 nodes reported, the quorum is 5"));
  EXPECT_EQ(pipeline_->Seal(id).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Starts(), 0);
}

TEST_F(PipelineTest, StartsACrashedWorkerAgain) {
  Behave("crash-once");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  EXPECT_EQ(Get(id).attempts(), 2);
  EXPECT_EQ(Starts(), 2);
}

TEST_F(PipelineTest, FailsAfterThreeCrashesWithSignalAndLastWords) {
  Behave("crash");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("SIGKILL"));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("out of luck"));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("(the worker has crashed 3 times)"));
  EXPECT_EQ(Starts(), 3);
}

TEST_F(PipelineTest, ForgetsCrashesBetweenWhichATrainingMadeProgressAndRemovesItsCheckpointAtTheEnd) {
  Behave("crash-with-progress");
  options_.attempts_max = 5;
  StartPipeline();
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  EXPECT_EQ(Starts(), 8);
  EXPECT_TRUE(Eventually([&] { return !HasCheckpoint(id); }));
}

TEST_F(PipelineTest, CountsCrashesAfterTheSameCheckpointAndRemovesItWhenTheRoundHasFailed) {
  for (const char* behaviour : {"checkpoint-then-crash", "checkpoint-then-error"}) {
    Behave(behaviour);
    const std::string id = Create();
    Report(id, 0, kNodes - 1);
    ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
    EXPECT_TRUE(Eventually([&] { return !HasCheckpoint(id); })) << behaviour;
    EXPECT_FALSE(std::filesystem::exists(options_.rounds_folder + "/" + id + "/result.tmp"));
    EXPECT_TRUE(std::filesystem::exists(options_.rounds_folder + "/" + id + "/reports.blr"))
        << "can be trained on by hand";
  }
  EXPECT_EQ(Starts(), 3 + 1);
}

TEST_F(PipelineTest, KeepsACheckpointAcrossARestartUntilTheRoundIsCancelled) {
  Behave("checkpoint-then-hang");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return Get(id).progress_text() == "hanging"; }));
  StartPipeline();
  ASSERT_TRUE(Eventually([&] { return Starts() == 2 && Get(id).progress_text() == "hanging"; }));
  EXPECT_TRUE(HasCheckpoint(id));
  ASSERT_TRUE(pipeline_->Cancel(id).ok());
  EXPECT_TRUE(Eventually([&] { return !HasCheckpoint(id); }));
}

TEST_F(PipelineTest, RemovesAtItsStartWhatTheWorkersOfEndedAndUnknownRoundsLeft) {
  Behave("error");
  const std::string failed = Create();
  Report(failed, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(failed, v1::ROUND_STATE_FAILED));
  pipeline_->Stop();
  const std::string unknown(32, 'e');
  for (const std::string& id : {failed, unknown}) {
    std::filesystem::create_directories(options_.rounds_folder + "/" + id + "/result.checkpoint");
  }
  StartPipeline();
  EXPECT_FALSE(HasCheckpoint(failed));
  EXPECT_FALSE(HasCheckpoint(unknown));
}

TEST_F(PipelineTest, SaysThatTheMemoryLimitIsProbablyTooSmallAndTriesNoSecondTime) {
  options_.worker_limits.memory_bytes = uint64_t{1} << 40;  // of which the stand-in only says that it does not suffice
  StartPipeline();
  int starts = 0;
  for (const char* behaviour : {"no-memory-for-libraries", "no-memory-for-initialization"}) {
    Behave(behaviour);
    const std::string id = Create();
    Report(id, 0, kNodes - 1);
    ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
    EXPECT_THAT(Get(id).failure_reason(), HasSubstr("the worker probably ran out of memory"));
    EXPECT_THAT(Get(id).failure_reason(), HasSubstr("--worker-memory-bytes limits it to 1099511627776 bytes"));
    EXPECT_THAT(Get(id).failure_reason(), HasSubstr("raise the limit"));
    EXPECT_EQ(Starts(), ++starts);
  }
}

TEST_F(PipelineTest, DecidesNothingByTheWordsOfACrashedWorker) {
  options_.worker_limits.memory_bytes = uint64_t{1} << 40;
  StartPipeline();
  Behave("speak-of-memory-and-crash");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("killed by signal 6 (SIGABRT)"));
  EXPECT_EQ(Starts(), 3);
}

TEST_F(PipelineTest, SaysThatTheProcessorTimeIsUsedUpAndTriesNoSecondTime) {
  options_.worker_limits.cpu_seconds = 1;
  StartPipeline();
  Behave("burn-processor-time");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("--worker-cpu-seconds limits it to 1 s"));
  EXPECT_EQ(Starts(), 1);
}

TEST_F(PipelineTest, WaitsWhileTheWorkersDiskIsFullAndGoesOnFromItsCheckpointWithoutCountingTheAttempts) {
  Behave("disk-full");
  options_.attempts_max = 2;
  options_.retry_after = absl::Milliseconds(100);
  StartPipeline();
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return Starts() >= 4; })) << "more than there may be attempts";
  ASSERT_TRUE(
      Eventually([&] { return Get(id).progress_text() == "waiting: cannot write model.pt: No space left on device"; }));
  EXPECT_EQ(Get(id).state(), v1::ROUND_STATE_TRAINING);
  EXPECT_LE(Get(id).attempts(), 1);
  EXPECT_TRUE(HasCheckpoint(id));
  StartPipeline();  // a restart changes nothing
  const int before = Starts();
  ASSERT_TRUE(Eventually([&] { return Starts() > before; }));
  std::ofstream(options_.attributes_folder + "/room") << "room";
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  EXPECT_LE(Get(id).attempts(), 2) << "the restart may have ended one";
  EXPECT_TRUE(Eventually([&] { return !HasCheckpoint(id); }));
}

TEST(RetryTest, DoublesTheWaitUpToItsLimitAndBeginsAnewAfterASuccess) {
  const absl::Status full = absl::ResourceExhaustedError("no space");
  Retry retry(absl::Seconds(5), absl::Minutes(1));
  for (const int seconds : {5, 10, 20, 40, 60, 60}) EXPECT_EQ(retry.NoteFailure(full).wait, absl::Seconds(seconds));
  retry = Retry(absl::Seconds(5), absl::Minutes(1));
  EXPECT_EQ(retry.NoteFailure(full).wait, absl::Seconds(5));
  EXPECT_EQ(Retry(absl::Minutes(2), absl::Minutes(1)).NoteFailure(full).wait, absl::Minutes(1))
      << "never beyond the limit";
}

TEST(RetryTest, WaitsLongerEachTimeAndHasNewsWhereTheCauseIsAnotherOne) {
  Retry retry(absl::Seconds(5), absl::Minutes(1));
  const absl::Status full = absl::ResourceExhaustedError("write a: no space"), lost = absl::DataLossError("a hole");
  EXPECT_TRUE(retry.NoteFailure(full).is_news);
  const Retry::Failure again = retry.NoteFailure(absl::ResourceExhaustedError("write b: no space"));
  EXPECT_FALSE(again.is_news);
  EXPECT_EQ(again.wait, absl::Seconds(10));
  EXPECT_TRUE(retry.NoteFailure(lost).is_news);
  EXPECT_FALSE(retry.NoteFailure(lost).is_news);
  const Retry::Failure back = retry.NoteFailure(full);
  EXPECT_TRUE(back.is_news);
  EXPECT_EQ(back.wait, absl::Minutes(1)) << "causes that take turns are no reason for haste";
}

int CountOf(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++count;
  return count;
}

TEST_F(PipelineTest, SaysOfEachCauseOnceWhyARoundCannotBeSealedOrWaits) {
  LogCapture log;
  options_.retry_after = absl::Milliseconds(10);
  options_.retry_after_max = absl::Milliseconds(20);
  StartPipeline();
  const absl::Status causes[] = {absl::ResourceExhaustedError("no room"), absl::UnavailableError("a busy store")};
  const auto fail_with_each = [&](v1::RoundState state) {
    for (const absl::Status& cause : causes) {
      store_->Fail(state, cause);
      EXPECT_TRUE(Eventually([&] {
        clock_.Advance(absl::Milliseconds(20));
        return store_->failures() >= 4;
      }));
    }
  };
  store_->Fail(v1::ROUND_STATE_OPEN, causes[0]);
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  fail_with_each(v1::ROUND_STATE_OPEN);
  fail_with_each(v1::ROUND_STATE_SEALED);
  pipeline_->Stop();
  const std::string text = log.text();
  for (const char* what : {" cannot be sealed: ", " waits: "}) {
    EXPECT_EQ(CountOf(text, what), 2) << text;
    EXPECT_THAT(text, HasSubstr(absl::StrCat(what, "RESOURCE_EXHAUSTED: no room; tried again after 10ms")));
    EXPECT_THAT(text, HasSubstr(absl::StrCat(what, "UNAVAILABLE: a busy store; tried again after 20ms")));
  }
}

TEST_F(PipelineTest, DelaysEachRoundByItsOwnFailuresAlone) {
  LogCapture log;
  Behave("disk-full");
  options_.retry_after = absl::Milliseconds(10);
  StartPipeline();
  const std::string first = Create();
  Report(first, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return Starts() >= 5; }));
  const std::string second = Create();
  Report(second, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return absl::StartsWith(Get(second).progress_text(), "waiting: "); }));
  pipeline_->Stop();
  EXPECT_EQ(CountOf(log.text(), "tried again after 10ms"), 2) << log.text();
}

TEST_F(PipelineTest, SaysOnceThatARoundWaitsForTheDiskHoweverOftenItIsTried) {
  LogCapture log;
  Behave("disk-full");
  options_.retry_after = absl::Milliseconds(10);
  options_.retry_after_max = absl::Milliseconds(20);
  StartPipeline();
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return Starts() >= 5; }));
  pipeline_->Stop();
  const std::string text = log.text();
  const size_t said = text.find(" waits: ");
  ASSERT_NE(said, std::string::npos) << text;
  EXPECT_THAT(text, HasSubstr("tried again after 10ms, then twice as long each time, at most 20ms"));
  EXPECT_EQ(text.find(" waits: ", said + 1), std::string::npos) << text;
}

TEST_F(PipelineTest, TakesTheNextRoundWhileOneWaitsForTheDiskAndEndsThatOneAtOnceWhenItIsCancelled) {
  Behave("disk-full");
  options_.retry_after = options_.retry_after_max = absl::Hours(1);
  StartPipeline();
  const std::string waiting = Create();
  Report(waiting, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return absl::StartsWith(Get(waiting).progress_text(), "waiting: "); }));
  Behave("succeed");
  const std::string next = Create();
  Report(next, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(next, v1::ROUND_STATE_READY));
  EXPECT_TRUE(HasCheckpoint(waiting));
  EXPECT_TRUE(absl::StartsWith(Get(waiting).progress_text(), "waiting: "));
  ASSERT_TRUE(pipeline_->Cancel(waiting).ok());
  EXPECT_TRUE(Eventually([&] { return !HasCheckpoint(waiting); }));
  EXPECT_EQ(Get(waiting).state(), v1::ROUND_STATE_CANCELLED);
}

TEST_F(PipelineTest, FailsForWantOfMemoryAndForAnErrorThatOnlySpeaksOfADisk) {
  int starts = 0;
  for (const auto& [behaviour, reason] : {std::pair{"memory-full", "give it more (--worker-memory-bytes)"},
                                          std::pair{"disk-full-otherwise", "No space left on device"}}) {
    Behave(behaviour);
    const std::string id = Create();
    Report(id, 0, kNodes - 1);
    ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
    EXPECT_THAT(Get(id).failure_reason(), HasSubstr(reason));
    EXPECT_EQ(Starts(), ++starts);
  }
}

TEST_F(PipelineTest, KeepsTheReportsOfARoundThatWasCancelledWhileOpenOrStayedBelowItsQuorumWhereTheWorkerReadsThem) {
  const auto kept = [&](const std::string& id) {
    const auto folder = ReadRoundFolder(options_.rounds_folder + "/" + id);
    return folder.ok() ? static_cast<int>(folder->reports.report_count()) : -1;
  };
  const std::string cancelled = Create();
  Report(cancelled, 0, 3);
  ASSERT_TRUE(pipeline_->Cancel(cancelled).ok());
  EXPECT_TRUE(Eventually([&] { return kept(cancelled) == 4; }));
  const std::string failed = Create(/*quorum=*/5);
  Report(failed, 0, 2);
  ASSERT_TRUE(pipeline_->Seal(failed).ok());
  EXPECT_TRUE(Eventually([&] { return kept(failed) == 3; }));
  EXPECT_EQ(Starts(), 0) << "nothing is trained";
  EXPECT_EQ(Get(failed).state(), v1::ROUND_STATE_FAILED);
  pipeline_->Stop();
  std::filesystem::remove_all(options_.rounds_folder);
  StartPipeline();  // which takes up what a crash, or an older version, left undone
  EXPECT_TRUE(Eventually([&] { return kept(cancelled) == 4 && kept(failed) == 3; }));
}

TEST_F(PipelineTest, MakesNoFolderForARoundWithoutReports) {
  const std::string id = Create();
  ASSERT_TRUE(pipeline_->Cancel(id).ok());
  const std::string next = Create();
  Report(next, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(next, v1::ROUND_STATE_READY));  // the runner has been past the first
  EXPECT_FALSE(std::filesystem::exists(options_.rounds_folder + "/" + id));
}

TEST_F(PipelineTest, RefusesARoundThatCanNeverBeTrained) {
  TrainingFacts facts{.nodes = kNodes, .features = 0, .classes = 2, .labelled_train = 5, .labelled_validation = 5};
  absl::Status unreadable;
  options_.facts = [&]() -> absl::StatusOr<TrainingFacts> {
    if (!unreadable.ok()) return unreadable;
    return facts;
  };
  StartPipeline();
  const auto refused = [&](const v1::CreateRoundRequest& request, absl::StatusCode code, const std::string& named) {
    const auto round = pipeline_->CreateRound(request);
    EXPECT_EQ(round.status().code(), code) << round.status();
    EXPECT_THAT(std::string(round.status().message()), HasSubstr(named));
  };
  v1::CreateRoundRequest request = Request();
  request.mutable_training()->set_model(v1::MODEL_MLP);
  request.mutable_training()->set_node_features(v1::NODE_FEATURES_DEGREE);
  refused(request, absl::StatusCode::kInvalidArgument, "training.node_features is degree");
  request = Request();
  request.mutable_training()->set_device("cuda:0");
  refused(request, absl::StatusCode::kFailedPrecondition, "a stand-in has none");
  facts.labelled_validation = 0;
  refused(Request(), absl::StatusCode::kFailedPrecondition, "validation split");
  unreadable = absl::InvalidArgumentError("labels.csv: line 3");
  refused(Request(), absl::StatusCode::kFailedPrecondition, "no round can be trained: labels.csv: line 3");
  EXPECT_TRUE(pipeline_->ListRounds().empty());
  unreadable = absl::OkStatus();
  facts.labelled_validation = 5;
  EXPECT_TRUE(pipeline_->CreateRound(Request()).ok());
}

TEST_F(PipelineTest, RefusesARoundForWhichTheWorkerMayNotHaveTheMemoryUnlessToldOtherwise) {
  options_.facts = [] {
    return TrainingFacts{.nodes = kNodes, .classes = 2, .labelled_train = 5, .labelled_validation = 5};
  };
  options_.worker_limits.memory_bytes = 100'000'000;
  StartPipeline();
  const absl::Status refused = pipeline_->CreateRound(Request()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << "another try would end likewise";
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no worker could finish this round: this needs about "));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--worker-memory-bytes has 100 MB"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("insist with --ignore-memory of blink-aggregator"));
  EXPECT_TRUE(pipeline_->ListRounds().empty());
  pipeline_.reset();
  options_.ignore_memory = true;
  StartPipeline();
  EXPECT_TRUE(pipeline_->CreateRound(Request()).ok());
}

TEST_F(PipelineTest, OfNodesOfWhichNothingIsKnownTakesRoundsWithoutAModelAlone) {
  options_.facts = [] { return TrainingFacts{.nodes = kNodes}; };
  StartPipeline();
  const absl::Status refused = pipeline_->CreateRound(Request()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no node has a label"));
  v1::CreateRoundRequest request = Request();
  request.mutable_training()->Clear();
  request.mutable_training()->set_model(v1::MODEL_NONE);
  const auto round = pipeline_->CreateRound(request);
  ASSERT_TRUE(round.ok()) << round.status();
  Report(round->round_id(), 0, kNodes - 1);
  ASSERT_TRUE(Reaches(round->round_id(), v1::ROUND_STATE_READY));
  EXPECT_TRUE(pipeline_->FindResult(round->round_id(), "degrees.csv").ok());
  for (const char* artifact : {"predictions.csv", "curves.csv", "model.pt"}) {
    const absl::Status missing = pipeline_->FindResult(round->round_id(), artifact).status();
    EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound) << artifact;
    EXPECT_THAT(std::string(missing.message()), HasSubstr("trained no model"));
  }
}

TEST_F(PipelineTest, RefusesRoundsWhileTheWorkerDoesNotStart) {
  options_.facts = [] {
    return TrainingFacts{.nodes = kNodes, .classes = 2, .labelled_train = 5, .labelled_validation = 5};
  };
  const std::string worker = options_.worker_path;
  options_.worker_path = folder_ / "worker";
  StartPipeline();
  absl::Status refused = pipeline_->CreateRound(Request()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the worker does not start"));
  std::filesystem::create_symlink(worker, options_.worker_path);
  EXPECT_TRUE(pipeline_->CreateRound(Request()).ok()) << "it is asked again";
}

TEST_F(PipelineTest, CountsTheAttemptsOfBeforeARestartTruthfully) {
  Behave("wait");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return Get(id).progress_text() == "waiting"; }));
  pipeline_->Stop();  // the first attempt, which did not crash
  Behave("crash");
  options_.attempts_max = 2;
  StartPipeline();
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("(attempt 2 of at most 2"));
  EXPECT_EQ(Starts(), 2);
}

TEST_F(PipelineTest, TakesTheWorkersOwnErrorAsFinal) {
  Behave("error");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_EQ(Get(id).failure_reason(), "the device cuda:7 does not exist");
  EXPECT_EQ(Starts(), 1);
}

TEST_F(PipelineTest, ReportsAnExitCodeWithoutAnErrorLine) {
  Behave("silent-error");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("exit code 7"));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("the last words"));
}

TEST_F(PipelineTest, FailsWhenTheWorkerLeavesNoResult) {
  Behave("no-result");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("left no result"));
}

TEST_F(PipelineTest, FailsWhenThereIsNoWorker) {
  options_.worker_path = folder_ / "no-such-worker";
  StartPipeline();
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("cannot start the worker"));
}

TEST_F(PipelineTest, EndsAWorkerThatHangs) {
  Behave("hang");
  options_.worker_limits.wall_time = absl::Milliseconds(300);
  StartPipeline();
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("longer than the limit of 300ms"));
  EXPECT_EQ(Starts(), 1);
}

TEST_F(PipelineTest, CancelsAWorkerThatIgnoresTheRequestToEnd) {
  Behave("deaf");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return Get(id).progress_text() == "deaf"; }));
  EXPECT_EQ(Get(id).state(), v1::ROUND_STATE_TRAINING);
  const auto cancelled = pipeline_->Cancel(id);
  ASSERT_TRUE(cancelled.ok());
  EXPECT_EQ(cancelled->state(), v1::ROUND_STATE_CANCELLED);
  Behave("succeed");
  const std::string next = Create();  // the runner is free again
  Report(next, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(next, v1::ROUND_STATE_READY));
  EXPECT_EQ(Get(id).state(), v1::ROUND_STATE_CANCELLED);
  EXPECT_EQ(Get(id).reports(), kNodes) << "its reports are kept";
}

TEST_F(PipelineTest, CancelsAnOpenRoundTwiceButNoFinishedOne) {
  const std::string id = Create();
  EXPECT_EQ(pipeline_->Cancel(id)->state(), v1::ROUND_STATE_CANCELLED);
  EXPECT_EQ(pipeline_->Cancel(id)->state(), v1::ROUND_STATE_CANCELLED);
  const std::string done = Create();
  Report(done, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(done, v1::ROUND_STATE_READY));
  EXPECT_EQ(pipeline_->Cancel(done).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(pipeline_->Cancel(testing::kRoundId).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PipelineTest, GoesOnAfterARestartInTraining) {
  Behave("wait");
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return Get(id).progress_text() == "waiting"; }));
  pid_t worker = 0;
  ASSERT_TRUE(Eventually([&] { return bool(std::ifstream(options_.attributes_folder + "/pid") >> worker); }));
  pipeline_->Stop();
  EXPECT_NE(::kill(worker, 0), 0) << "the worker must not outlive its pipeline";
  EXPECT_EQ(store_->GetRound(id)->state(), v1::ROUND_STATE_TRAINING);
  std::ofstream(options_.attributes_folder + "/go") << "go";
  StartPipeline();
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  EXPECT_EQ(Get(id).attempts(), 2);
}

TEST_F(PipelineTest, KeepsTheDeadlineOfAnOpenRoundAcrossARestart) {
  const std::string id = Create();
  Report(id, 0, 3);
  pipeline_->Stop();
  clock_.Advance(absl::Minutes(5));
  StartPipeline();
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  EXPECT_EQ(Get(id).reports(), 4);
}

TEST_F(PipelineTest, SealsARoundThatWasCompleteBeforeARestart) {
  const std::string id = Create();
  pipeline_->Stop();
  for (NodeIndex node = 0; node < kNodes; ++node) {
    ASSERT_TRUE(store_->PutReportAndWait(MakeChecked(parameters_, node, 0, id)).ok());
  }
  StartPipeline();
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
}

TEST_F(PipelineTest, CollectsForOneRoundWhileItTrainsAnotherAndTakesThemInTurn) {
  Behave("wait");
  const std::string first = Create();
  const std::string second = Create();
  Report(first, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return Get(first).progress_text() == "waiting"; }));
  Report(second, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(second, v1::ROUND_STATE_SEALED));
  EXPECT_EQ(Starts(), 1) << "one worker at a time";
  std::ofstream(options_.attributes_folder + "/go") << "go";
  ASSERT_TRUE(Reaches(first, v1::ROUND_STATE_READY));
  ASSERT_TRUE(Reaches(second, v1::ROUND_STATE_READY));
}

TEST_F(PipelineTest, TellsWatchersOfEveryStateUntilTheyLeave) {
  const std::string id = Create();
  std::atomic<int> calls{0};
  const uint64_t watch = pipeline_->Watch(id, [&] { ++calls; });
  Report(id, 0, 0);
  EXPECT_TRUE(Eventually([&] { return calls > 0; })) << "of a report";
  const int before = calls;
  ASSERT_TRUE(pipeline_->Seal(id).ok());
  EXPECT_GT(calls, before) << "of the seal";
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  pipeline_->Unwatch(watch);
  const int after = calls;
  pipeline_->NoteReport(id, 1);
  pipeline_->Stop();
  EXPECT_EQ(calls, after);
}

TEST_F(PipelineTest, RefusesRoundsThatAreOutOfRange) {
  const auto refused = [&](const v1::CreateRoundRequest& request, const std::string& named) {
    const auto round = pipeline_->CreateRound(request);
    EXPECT_EQ(round.status().code(), absl::StatusCode::kInvalidArgument) << named;
    EXPECT_THAT(std::string(round.status().message()), HasSubstr(named));
  };
  v1::CreateRoundRequest request = Request();
  request.mutable_parameters()->set_node_count(kNodes + 1);
  refused(request, "node_count");
  request = Request();
  request.mutable_parameters()->set_epsilon_micro(0);
  refused(request, "epsilon");
  request = Request();
  request.set_open_for_ms(999);
  refused(request, "open_for_ms");
  request.set_open_for_ms(31'536'000'001);
  refused(request, "open_for_ms");
  refused(Request(kNodes + 1), "quorum");
  refused(Request(1, std::string(65, 'a')), "request_id");
  refused(Request(1, "a b"), "request_id");
  request = Request();
  request.mutable_training()->set_dropout(1.0);
  refused(request, "dropout");
  EXPECT_TRUE(pipeline_->ListRounds().empty());
}

TEST_F(PipelineTest, RefusesARequestIdWithOtherParametersThanItsRoundHas) {
  const std::string id = Create(1, "first");
  const auto refused = [&](const v1::CreateRoundRequest& request, const std::string& named) {
    const absl::Status status = pipeline_->CreateRound(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << named;
    EXPECT_THAT(std::string(status.message()), HasSubstr("request id first made round " + id));
    EXPECT_THAT(std::string(status.message()), HasSubstr("(" + named + ")"));
  };
  v1::CreateRoundRequest request = Request(1, "first");
  request.mutable_parameters()->set_epsilon_micro(4'500'001);
  refused(request, "epsilon 6, not 4.500001");
  request.mutable_parameters()->set_degree_share_ppm(0);
  refused(request, "epsilon 6, not 4.500001; degree_share 0.1, not 0");
  refused(Request(2, "first"), "quorum 1, not 2");
  request = Request(1, "first");
  request.mutable_training()->set_epochs(7);
  request.mutable_training()->set_model(v1::MODEL_MLP);
  refused(request, "model MODEL_GCN, not MODEL_MLP; epochs 300, not 7");
  request = Request(1, "first");
  request.mutable_training()->set_patience(0);
  refused(request, "patience unset, not 0");
  request = Request(1, "first");
  request.set_open_for_ms(61'000);
  refused(request, "open_for_ms 60000, not 61000");
  EXPECT_EQ(pipeline_->ListRounds().size(), 1u);
}

TEST_F(PipelineTest, TakesARequestAgainWhenItsRoundHasGoneOnAndWhateverIsSpelledOut) {
  const std::string id = Create(1, "first");
  clock_.Advance(absl::Seconds(5));
  v1::CreateRoundRequest request = Request(0, "first");
  request.mutable_training()->set_epochs(300);
  request.mutable_training()->set_prior(v1::PRIOR_BETA);
  request.mutable_parameters()->set_node_count(kNodes);
  request.set_implausible(v1::IMPLAUSIBLE_FLAG);
  EXPECT_EQ(pipeline_->CreateRound(request)->round_id(), id);
  ASSERT_TRUE(pipeline_->Cancel(id).ok());
  EXPECT_EQ(pipeline_->CreateRound(request)->state(), v1::ROUND_STATE_CANCELLED);
}

TEST_F(PipelineTest, MakesOneRoundForARequestIdAndRefusesThe65thOpenRound) {
  const std::string id = Create(1, "again");
  EXPECT_EQ(Create(1, "again"), id);
  for (int i = 1; i < 64; ++i) Create();
  EXPECT_EQ(pipeline_->CreateRound(Request()).status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(pipeline_->Cancel(id).ok());
  EXPECT_TRUE(pipeline_->CreateRound(Request()).ok());
}

}  // namespace
}  // namespace blink
