#include "aggregator_server/transport/refusal_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/log_capture.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ManualClock;

class RefusalLogTest : public ::testing::Test {
 protected:
  size_t Lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

  ManualClock clock_;
  RefusalLog log_{clock_};
  LogCapture lines_;
  const absl::Status full_ = absl::ResourceExhaustedError("cannot store reports: No space left on device");
};

TEST_F(RefusalLogTest, OfOneKindWritesTheFirstAndThenOneLineAMinute) {
  for (int i = 0; i < 177; ++i) log_.Report(absl::StrCat("peer ", i), full_);
  log_.Look();
  EXPECT_EQ(lines_.Take(),
            "warning refused peer 0: RESOURCE_EXHAUSTED: cannot store reports: No space left on device\n");
  for (int second = 0; second < 59; ++second) {
    clock_.Advance(absl::Seconds(1));
    log_.Look();
    log_.Report("another peer", full_);
  }
  EXPECT_THAT(lines_.Take(), IsEmpty());
  clock_.Advance(absl::Seconds(1));
  log_.Look();
  EXPECT_EQ(lines_.Take(),
            "warning refused 235 more within 60 s, the last from another peer: RESOURCE_EXHAUSTED: cannot store "
            "reports: No space left on device\n");
}

TEST_F(RefusalLogTest, AKindThatWasQuietForAMinuteIsNewAgain) {
  log_.Report("a", full_);
  clock_.Advance(RefusalLog::kQuiet);
  log_.Look();
  log_.Report("b", full_);
  EXPECT_EQ(Lines(lines_.text()), 2u) << lines_.text();
  EXPECT_THAT(lines_.text(), HasSubstr("refused b: "));
}

TEST_F(RefusalLogTest, NumbersMakeNoKindAndOtherWordsDo) {
  for (int node = 0; node < 50; ++node) {
    log_.Report("a", absl::PermissionDeniedError(absl::StrCat("node ", node, ", of 7f", node, "ab, is retired")));
  }
  log_.Report("b", absl::PermissionDeniedError("node 7, of 7fab, is unknown"));
  log_.Report("c", absl::NotFoundError("node 7, of 7fab, is unknown"));
  EXPECT_EQ(Lines(lines_.text()), 3u) << lines_.text();
}

TEST_F(RefusalLogTest, ManyKindsAreCountedByTheirCode) {
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) log_.Report("a", absl::NotFoundError(std::string{a, b}));
  }
  EXPECT_EQ(Lines(lines_.Take()), RefusalLog::kKindsMax + 1);
  clock_.Advance(RefusalLog::kQuiet);
  log_.Look();
  EXPECT_EQ(Lines(lines_.text()), 1u) << lines_.text();
}

TEST_F(RefusalLogTest, AClockThatIsSetBackSilencesNothing) {
  log_.Report("a", full_);
  clock_.Advance(-absl::Hours(24));
  log_.Look();
  log_.Report("b", full_);
  EXPECT_THAT(lines_.text(), AllOf(HasSubstr("refused a: "), HasSubstr("refused b: ")));
}

TEST_F(RefusalLogTest, AClockThatIsSetBackMakesNoTimeNegative) {
  for (int i = 0; i < 3; ++i) log_.Report("a", full_);
  clock_.Advance(-absl::Hours(24));
  log_.Look();
  EXPECT_THAT(lines_.text(), HasSubstr("refused 2 more within 0 s"));
}

TEST_F(RefusalLogTest, WhatWasCountedIsWrittenAtTheEnd) {
  for (int i = 0; i < 3; ++i) log_.Report("a", full_);
  log_.Summarize();
  log_.Summarize();
  EXPECT_EQ(Lines(lines_.text()), 2u) << lines_.text();
  EXPECT_THAT(lines_.text(), HasSubstr("refused 2 more within 0 s"));
}

}  // namespace
}  // namespace blink
