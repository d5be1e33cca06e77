// From an open round to its end, across restarts too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "aggregator_server/reports/report_file.h"
#include "tests/testing/log_capture.h"
#include "tests/unit/rounds/pipeline_fixture.h"

namespace blink {
namespace {

using testing::Eventually;
using ::testing::HasSubstr;
using testing::MakeChecked;

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

}  // namespace
}  // namespace blink
