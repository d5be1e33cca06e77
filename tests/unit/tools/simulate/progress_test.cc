#include "tools/simulate/progress.h"

#include <gtest/gtest.h>

namespace blink {
namespace {

TEST(TrialProgress, TellsNoRemainingTimeBeforeATrialIsDone) {
  EXPECT_EQ(TrialProgress::FormatText(0, 5, absl::ZeroDuration(), absl::Seconds(90), "drawing reports"),
            "trial 1 of 5: drawing reports");
}

TEST(TrialProgress, TellsTheRemainingTimeAtThePaceOfTheTrialsThatAreDone) {
  EXPECT_EQ(TrialProgress::FormatText(1, 5, absl::Seconds(60), absl::Seconds(15), "epoch 3 of 300"),
            "trial 2 of 5 (3m45s left): epoch 3 of 300");
  EXPECT_EQ(TrialProgress::FormatText(3, 5, absl::Seconds(60), absl::ZeroDuration(), "x"),
            "trial 4 of 5 (40s left): x");
}

TEST(TrialProgress, NeverCountsBelowZeroWhereATrialTakesLongerThanThoseBefore) {
  EXPECT_EQ(TrialProgress::FormatText(1, 3, absl::Seconds(10), absl::Seconds(99), "x"), "trial 2 of 3 (10s left): x");
  EXPECT_EQ(TrialProgress::FormatText(2, 3, absl::Seconds(20), absl::Seconds(99), "x"), "trial 3 of 3: x");
}

}  // namespace
}  // namespace blink
