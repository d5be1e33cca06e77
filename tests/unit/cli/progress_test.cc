#include "common/cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "absl/time/clock.h"
#include "common/base/logging.h"
#include "common/cli/terminal.h"

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

TEST(ProgressBar, OfWhatComesByItselfEstimatesNothingFromThePaceSoFar) {
  const auto reports = ProgressBar::OfCount("reports", 100, TimeLeft::kInText, false);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(reports->LineOf(1, "open for 8m20s more"), "reports 1/100  open for 8m20s more");
  EXPECT_EQ(reports->LineOf(1, ""), "reports 1/100");
}

TEST(ProgressBar, IsNarrowerThanEveryTerminal) {
  const auto bar = ProgressBar::OfShares("simulating", TimeLeft::kInText, false);
  for (const std::string text :
       {"trial 12 of 100 (1h12m40s left): estimating links from bits and attributes, part 3 of 17", "short", "",
        "\xe5\x9b\xbe\xe7\xa5\x9e\xe7\xbb\x8f\xe7\xbd\x91\xe7\xbb\x9c \xe5\x9b\xbe",
        "e\xcc\x81tudes \xff\xfe and\n\r\033[2J controls"}) {
    for (size_t columns = 0; columns <= 200; ++columns) {
      const std::string drawn = bar->DrawingOf(37, text, columns);
      EXPECT_LE(DisplayColumns(drawn), columns > 0 ? columns - 1 : 0) << columns << " " << drawn;
      EXPECT_EQ(drawn.find_first_of("\n\r\033"), std::string::npos);
    }
  }
}

TEST(ProgressBar, ShrinksItsBarBeforeItCutsItsText) {
  const auto bar = ProgressBar::OfShares("training", TimeLeft::kInText, false);
  const std::string text = "epoch 3 of 300, 8 s left";
  EXPECT_EQ(bar->DrawingOf(50, text, 80), "[############............] training 50 %  epoch 3 of 300, 8 s left");
  EXPECT_EQ(bar->DrawingOf(50, text, 52), "[####.....] training 50 %  epoch 3 of 300, 8 s left");
  EXPECT_EQ(bar->DrawingOf(50, text, 40), "[####....] training 50 %  epoch 3 of...");
  EXPECT_EQ(bar->DrawingOf(50, text, 20), "training 50 %  e...");
  EXPECT_EQ(bar->DrawingOf(50, text, 5), "trai");
}

TEST(Terminal, CountsColumnsAndNotBytes) {
  EXPECT_EQ(DisplayColumns("abc"), 3u);
  EXPECT_EQ(DisplayColumns("\xc3\xa4\xc3\xb6"), 2u) << "two letters with dots";
  EXPECT_EQ(DisplayColumns("e\xcc\x81"), 1u) << "an accent that follows its letter";
  EXPECT_EQ(DisplayColumns("\xe5\x9b\xbe"), 2u) << "a wide character";
  EXPECT_EQ(DisplayColumns("\xff\x01"), 2u);
}

TEST(Terminal, ShowsAMessageWithoutItsControlsButWithItsLines) {
  EXPECT_EQ(ShownText("line 1: \033]0;x\a is no id\n\xe5\x9b\xbe\r\xff\xc2\x9b"),
            "line 1: ?]0;x? is no id\n\xe5\x9b\xbe???");
  EXPECT_EQ(ShownText(""), "");
}

TEST(Terminal, CutsBetweenCharactersAndShowsNoControls) {
  EXPECT_EQ(CutToColumns("\xe5\x9b\xbe\xe5\x9b\xbe", 3), "\xe5\x9b\xbe") << "half a wide one does not fit";
  EXPECT_EQ(CutToColumns("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(CutToColumns("abcdefghijk", 10), "abcdefg...");
  EXPECT_EQ(CutToColumns("abcdefghijk", 0), "");
  EXPECT_EQ(CutToColumns("a\033[2Jb\xff", 10), "a?[2Jb?");
}

TEST(Terminal, FoldsBetweenWordsAndIndentsWhatFollows) {
  EXPECT_EQ(FoldToColumns("  name   a long value", 20, 9), "  name   a long\n         value");
  EXPECT_EQ(FoldToColumns("  name   a long value", 21, 9), "  name   a long value") << "it fits";
  EXPECT_EQ(FoldToColumns("one two three", 3, 2), "one\n  two\n  three") << "a word is never broken";
  EXPECT_EQ(FoldToColumns("one two", 0, 0), "one\ntwo");
  EXPECT_EQ(FoldToColumns("\xe5\x9b\xbe \xe5\x9b\xbe b", 5, 1), "\xe5\x9b\xbe \xe5\x9b\xbe\n b") << "wide ones";
  EXPECT_EQ(FoldToColumns("", 10, 4), "");
  EXPECT_EQ(FoldToColumns("   ", 2, 4), "   ");
}

TEST(Terminal, TakesTheVariableWhereTheTerminalDoesNotTell) {
  const int nowhere = -1;
  ::setenv("COLUMNS", "33", 1);
  EXPECT_EQ(TerminalColumns(nowhere), 33u);
  for (const char* const bad : {"0", "-5", "many", "", "99999999999999"}) {
    ::setenv("COLUMNS", bad, 1);
    EXPECT_EQ(TerminalColumns(nowhere), 80u) << bad;
  }
  ::unsetenv("COLUMNS");
  EXPECT_EQ(TerminalColumns(nowhere), 80u);
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
