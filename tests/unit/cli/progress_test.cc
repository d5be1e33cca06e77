#include "common/cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/clock.h"
#include "common/base/logging.h"

namespace blink {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(ProgressBar, TellsCountsAndSharesInWords) {
  EXPECT_EQ(ProgressBar("reports", 60, false).LineOf(60, "all are there"), "reports 60/60  all are there");
  EXPECT_EQ(ProgressBar("reports", 0, false).LineOf(7, ""), "reports 7");
  EXPECT_EQ(ProgressBar::OfShares("simulating", TimeLeft::kInText, false)->LineOf(0, "trial 1 of 5"),
            "simulating 0 %  trial 1 of 5");
}

TEST(ProgressBar, EstimatesTheTimeLeftFromItsPace) {
  const ProgressBar count("trials", 100, false);
  const auto shares = ProgressBar::OfShares("estimating", TimeLeft::kFromPace, false);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_THAT(count.LineOf(1, "of a graph"), EndsWith("s left"));
  EXPECT_THAT(shares->LineOf(1, ""), EndsWith("s left"));
  EXPECT_EQ(count.LineOf(0, ""), "trials 0/100") << "nothing is done from which it could be known";
  EXPECT_EQ(count.LineOf(100, ""), "trials 100/100");
}

TEST(ProgressBar, AddsNoEstimateWhereTheTextHasOneWhateverItsWords) {
  const auto bar = ProgressBar::OfShares("training", TimeLeft::kInText, false);
  absl::SleepFor(absl::Milliseconds(50));
  for (const std::string text : {"epoch 3 of 300, 8 s left", "epoch 3 of 300 (8 s to go)", "preparing"}) {
    EXPECT_EQ(bar->LineOf(1, text), "training 1 %  " + text);
  }
}

TEST(UpdateLimit, LetsThroughTheFirstOneEachIntervalAndWhatIsDue) {
  const absl::Time start = absl::FromUnixSeconds(1'000);
  UpdateLimit limit(absl::Seconds(5));
  EXPECT_TRUE(limit.LetThrough(false, start));
  EXPECT_FALSE(limit.LetThrough(false, start + absl::Seconds(4)));
  EXPECT_TRUE(limit.LetThrough(true, start + absl::Seconds(4)));
  EXPECT_FALSE(limit.LetThrough(false, start + absl::Seconds(8))) << "the interval begins with what was let through";
  EXPECT_TRUE(limit.LetThrough(false, start + absl::Seconds(9)));
  EXPECT_TRUE(limit.LetThrough(false, start - absl::Hours(1))) << "a clock that was set back silences nothing";
  EXPECT_FALSE(limit.LetThrough(false, start - absl::Hours(1)));
}

TEST(StageBars, HasABarForEachStageAndKeepsItWithinTheStage) {
  ASSERT_TRUE(InitLogging("test", "info").ok());
  ::testing::internal::CaptureStderr();  // no terminal: a line of the log at once, and the next after five seconds
  StageBars bars;
  bars.ShowCount("reports", 60).Update(12);
  ProgressBar* const training = &bars.ShowShares("training", TimeLeft::kInText);
  training->Update(1, "first");
  EXPECT_EQ(&bars.ShowShares("training", TimeLeft::kInText), training);
  bars.ShowShares("training", TimeLeft::kInText).Update(2, "second");
  bars.End();
  StageBars(/*enabled=*/false).ShowCount("hidden", 5).Update(5);
  const std::string shown = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(shown, HasSubstr("reports 12/60"));
  EXPECT_THAT(shown, HasSubstr("training 1 %  first"));
  EXPECT_THAT(shown, ::testing::Not(::testing::AnyOf(HasSubstr("second"), HasSubstr("hidden"))));
}

}  // namespace
}  // namespace blink
