// How the worker of a round ends, and what becomes of the round then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/rounds/pipeline_fixture.h"

namespace blink {
namespace {

using testing::Eventually;
using ::testing::HasSubstr;

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

TEST_F(PipelineTest, StartsTheWorkerWithMoreNicenessThanItsOwn) {
  options_.worker_limits.niceness = 7;
  StartPipeline();
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  const int expected = std::min(19, ::getpriority(PRIO_PROCESS, 0) + 7);
  EXPECT_THAT(Get(id).result_json(), HasSubstr(absl::StrCat("\"niceness\":", expected)));
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

TEST_F(PipelineTest, EndsAWorkerThatGivesNoSignOfLifeAndStartsItAgain) {
  Behave("hang");
  options_.worker_limits.silence = absl::Milliseconds(200);
  StartPipeline();
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("the worker gave no sign of life for 200ms, neither a line nor"));
  EXPECT_EQ(Starts(), 3) << "another attempt might have ended otherwise";
}

TEST_F(PipelineTest, LetsAWorkerBeSilentWhileItUsesTheProcessor) {
  Behave("burn-processor-time");
  options_.worker_limits.silence = absl::Milliseconds(1500);  // a look at the processor time every second
  options_.worker_limits.wall_time = absl::Seconds(4);
  StartPipeline();
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_THAT(Get(id).failure_reason(), HasSubstr("longer than the limit of 4s"));
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

}  // namespace
}  // namespace blink
