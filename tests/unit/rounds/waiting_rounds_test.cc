// Rounds that wait: for a disk, or for a store that fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "aggregator_server/rounds/retry.h"
#include "tests/testing/log_capture.h"
#include "tests/unit/rounds/pipeline_fixture.h"

namespace blink {
namespace {

using testing::Eventually;
using ::testing::HasSubstr;

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

TEST_F(PipelineTest, WaitsForTheWorkerOfAHolderThatLostTheLeaseWithoutCountingTheAttempts) {
  Behave("occupied");
  options_.attempts_max = 2;
  options_.retry_after = options_.retry_after_max = absl::Milliseconds(50);
  StartPipeline();
  const std::string id = Create();
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Eventually([&] { return Starts() >= 4; })) << "more than there may be attempts";
  ASSERT_TRUE(Eventually([&] { return absl::StrContains(Get(id).progress_text(), "held the lease before"); }));
  EXPECT_LE(Get(id).attempts(), 1);
  EXPECT_GE(pipeline_->GetActivity().worker_exits[static_cast<size_t>(WorkerExit::Kind::kOccupied)], 3u);
  std::ofstream(options_.attributes_folder + "/room") << "room";
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  EXPECT_EQ(Get(id).attempts(), 1);
  EXPECT_EQ(pipeline_->GetActivity().failed_rounds, 0u);
}

TEST_F(PipelineTest, CountsEachFailureOfARoundThatIsTriedAgain) {
  Behave("occupied-otherwise");
  StartPipeline();
  const std::string id = Create();
  EXPECT_EQ(pipeline_->GetActivity().failed_rounds, 0u);
  Report(id, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  EXPECT_EQ(pipeline_->GetActivity().failed_rounds, 1u);
  ASSERT_TRUE(pipeline_->AnalyseAgain(id, {}, "").ok());
  ASSERT_TRUE(Eventually([&] { return pipeline_->GetActivity().failed_rounds == 2; }));
  EXPECT_EQ(Get(id).state(), v1::ROUND_STATE_FAILED) << "as before: a number of failed rounds does not show it";
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

}  // namespace
}  // namespace blink
