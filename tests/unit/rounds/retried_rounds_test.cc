// What an operator does about a round that waits or has failed: who is missing, a retry, and clocks that are set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/testing/log_capture.h"
#include "tests/unit/rounds/pipeline_fixture.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(PipelineTest, RetriesAFailedRoundWithAnotherTrainingAndNoNewReport) {
  Behave("error");
  const std::string id = Create();
  Report(id, 0, 11);
  ASSERT_TRUE(pipeline_->Seal(id).ok());
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_FAILED));
  Behave("succeed");
  v1::TrainingSpec training;
  training.set_model(v1::MODEL_GRAPHSAGE);
  training.set_epochs(7);
  const auto is_retried = [&] { return pipeline_->AnalyseAgain(id, training).ok(); };  // once the failed run has ended
  ASSERT_TRUE(testing::Eventually(is_retried));
  ASSERT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
  const v1::Round round = Get(id);
  EXPECT_EQ(round.training().model(), v1::MODEL_GRAPHSAGE);
  EXPECT_EQ(round.training().epochs(), 7u);
  EXPECT_EQ(round.training().learning_rate(), 0.01) << "the round's";
  EXPECT_EQ(round.failure_reason(), "");
  EXPECT_EQ(round.attempts(), 1u);
  EXPECT_EQ(round.reports(), 12u);
  EXPECT_EQ(Starts(), 2);
}

TEST_F(PipelineTest, RetriesARoundBelowItsQuorumAndACancelledOneAndGoesOnAfterARestart) {
  const std::string few = Create(15), cancelled = Create();
  Report(few, 0, 3);
  Report(cancelled, 4, 6);
  EXPECT_EQ(pipeline_->Seal(few)->state(), v1::ROUND_STATE_FAILED);
  ASSERT_TRUE(pipeline_->Cancel(cancelled).ok());
  Behave("hang");
  for (const std::string& id : {few, cancelled}) {
    ASSERT_TRUE(testing::Eventually([&] { return pipeline_->AnalyseAgain(id, v1::TrainingSpec()).ok(); }));
  }
  ASSERT_TRUE(testing::Eventually([&] { return Get(few).state() == v1::ROUND_STATE_TRAINING; }));
  Behave("succeed");
  StartPipeline();
  EXPECT_TRUE(Reaches(few, v1::ROUND_STATE_READY));
  EXPECT_TRUE(Reaches(cancelled, v1::ROUND_STATE_READY));
}

TEST_F(PipelineTest, TakesARetryWhileAnotherRoundHasTheWorker) {
  Behave("wait");
  const std::string busy = Create();
  Report(busy, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(busy, v1::ROUND_STATE_TRAINING));
  const std::string cancelled = Create(), few = Create(15);
  Report(cancelled, 0, 2);
  Report(few, 0, 2);
  ASSERT_TRUE(pipeline_->Cancel(cancelled).ok());
  ASSERT_TRUE(pipeline_->Seal(few).ok());
  for (const std::string& id : {cancelled, few}) {
    const auto retried = pipeline_->AnalyseAgain(id, v1::TrainingSpec());
    ASSERT_TRUE(retried.ok()) << retried.status();
    EXPECT_EQ(retried->state(), v1::ROUND_STATE_SEALED);
  }
  std::ofstream(options_.attributes_folder + "/go") << "go";
  for (const std::string& id : {busy, cancelled, few}) EXPECT_TRUE(Reaches(id, v1::ROUND_STATE_READY));
}

TEST_F(PipelineTest, RefusesToRetryWhatHasNotFailedOrHasNoReportOrCannotBeTrained) {
  const auto refused = [&](const std::string& id, const v1::TrainingSpec& training, absl::StatusCode code,
                           const std::string& named) {
    const absl::Status status = pipeline_->AnalyseAgain(id, training).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(named));
  };
  constexpr auto kNotNow = absl::StatusCode::kFailedPrecondition;
  refused(std::string(32, 'a'), {}, absl::StatusCode::kNotFound, "");
  const std::string open = Create();
  refused(open, {}, kNotNow, "is open, and only a failed or cancelled one is retried");
  ASSERT_TRUE(pipeline_->Cancel(open).ok());
  refused(open, {}, kNotNow, "has no report: create another round");
  const std::string ready = Create();
  Report(ready, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(ready, v1::ROUND_STATE_READY));
  refused(ready, {}, kNotNow, "run blink-worker on its folder");
  Behave("error");
  const std::string failed = Create();
  Report(failed, 0, kNodes - 1);
  ASSERT_TRUE(Reaches(failed, v1::ROUND_STATE_FAILED));
  v1::TrainingSpec wrong;
  wrong.set_dropout(3);
  refused(failed, wrong, absl::StatusCode::kInvalidArgument, "dropout");
  EXPECT_EQ(Get(failed).state(), v1::ROUND_STATE_FAILED);
}

std::vector<std::pair<uint64_t, uint64_t>> PairsOf(const std::vector<NodeRange>& ranges) {
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  for (const auto& [first, last] : ranges) pairs.emplace_back(first, last);
  return pairs;
}

TEST_F(PipelineTest, NamesTheActiveNodesThatHaveNoReport) {
  options_.retired[4] = {{0, 1}, {9, 9}, {14, 16}};
  options_.active_nodes = kNodes - 6;
  StartPipeline();
  const std::string id = Create();
  const auto missing = [&](uint64_t first = 0) { return PairsOf(pipeline_->ListMissing(id, first)->ranges); };
  using Pair = std::pair<uint64_t, uint64_t>;
  EXPECT_THAT(missing(), ElementsAre(Pair(2, 8), Pair(10, 13), Pair(17, 19)));
  Report(id, 4, 5);
  Report(id, 13, 13);
  Report(id, 19, 19);
  EXPECT_THAT(missing(), ElementsAre(Pair(2, 3), Pair(6, 8), Pair(10, 12), Pair(17, 18)));
  EXPECT_THAT(missing(7), ElementsAre(Pair(7, 8), Pair(10, 12), Pair(17, 18)));
  EXPECT_THAT(missing(19), IsEmpty());
  EXPECT_THAT(missing(kNodes), IsEmpty());
  EXPECT_THAT(missing(~uint64_t{0}), IsEmpty());
  options_.roster_version = 5;
  options_.retired[5] = {{0, 1}, {6, 19}};
  StartPipeline();
  EXPECT_THAT(missing(), ElementsAre(Pair(2, 3), Pair(6, 8), Pair(10, 12), Pair(17, 18)))
      << "by the round's own roster";
  EXPECT_FALSE(pipeline_->ListMissing(id, 0)->next.has_value());
  EXPECT_EQ(pipeline_->ListMissing(std::string(32, 'a'), 0).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PipelineTest, SealsAtItsDeadlineThoughSomebodySetsTheClock) {
  const std::string early = Create(), late = Create();
  Report(early, 0, 2);
  clock_.Jump(absl::Hours(24 * 365));
  absl::SleepFor(absl::Milliseconds(500));  // the scheduler looks every 100 ms
  EXPECT_EQ(Get(early).state(), v1::ROUND_STATE_OPEN) << "60 s have not gone by";
  clock_.Jump(-absl::Hours(2 * 24 * 365));
  clock_.Advance(absl::Seconds(59));
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_EQ(Get(early).state(), v1::ROUND_STATE_OPEN);
  clock_.Advance(absl::Seconds(2));
  EXPECT_TRUE(Reaches(early, v1::ROUND_STATE_READY));
  EXPECT_TRUE(Reaches(late, v1::ROUND_STATE_FAILED)) << "it has no report";
}

TEST_F(PipelineTest, TellsInTheLogHowTheCollectionGoes) {
  const std::string id = pipeline_
                             ->CreateRound([] {
                               v1::CreateRoundRequest request = Request();
                               request.set_open_for_ms(3'600'000);
                               return request;
                             }())
                             ->round_id();
  const LogCapture captured;
  const auto lines = [&] {
    absl::SleepFor(absl::Milliseconds(400));  // the scheduler looks every 100 ms
    const std::vector<std::string> parts = absl::StrSplit(captured.text(), "nodes have reported");
    return parts.size() - 1;
  };
  Report(id, 0, 4);
  EXPECT_EQ(lines(), 0u) << "a minute has not gone by";
  clock_.Advance(absl::Seconds(61));
  EXPECT_EQ(lines(), 1u);
  EXPECT_THAT(captured.text(), HasSubstr("5 of 20 nodes have reported, 5 of them since the last line; open for another "
                                         "58m59s"));
  clock_.Advance(absl::Minutes(5));
  EXPECT_EQ(lines(), 1u) << "nobody has reported since";
  Report(id, 5, 5);
  EXPECT_EQ(lines(), 2u);
  clock_.Advance(absl::Minutes(11));
  EXPECT_EQ(lines(), 3u) << "that nobody reports is told, too";
}

}  // namespace
}  // namespace blink
