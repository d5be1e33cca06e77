#include "aggregator_server/transport/failure_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/log_capture.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class FailureLogTest : public ::testing::Test {
 protected:
  int Lines() const {
    const std::string text = captured_.text();
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }
  LogCapture captured_;
  testing::ManualClock clock_;
  FailureLog log_{clock_};
};

TEST_F(FailureLogTest, AThousandPeersThatHangUpAreOneLineAMinute) {
  for (int i = 0; i < 600; ++i)
    log_.Count("hung up in the handshake", absl::StrCat("192.0.2.", i % 3 == 0 ? 1 : i % 210));
  log_.Look();
  EXPECT_EQ(captured_.text(), "");
  clock_.Advance(absl::Minutes(1));
  log_.Look();
  EXPECT_THAT(captured_.text(), AllOf(HasSubstr("600 connections came to nothing within 60 s"),
                                      HasSubstr("600 x hung up in the handshake"), HasSubstr("192.0.2.1 (20")));
  EXPECT_THAT(captured_.text(), Not(HasSubstr("warn")));
  clock_.Advance(absl::Minutes(10));
  log_.Look();
  EXPECT_EQ(Lines(), 1);
}

TEST_F(FailureLogTest, WhatAnOperatorCanMendIsSaidAtOnceAndThenOnceAnHour) {
  for (int i = 0; i < 50; ++i) {
    log_.Report("certificate expired", "192.0.2.1", "blink://demo/node/3", "node 3 expired");
    log_.Report("certificate expired", "192.0.2.1", "blink://demo/node/4", "node 4 expired");
  }
  EXPECT_EQ(Lines(), 2);
  EXPECT_THAT(captured_.text(), AllOf(HasSubstr("node 3 expired"), HasSubstr("node 4 expired")));
  clock_.Advance(absl::Minutes(61));
  log_.Look();
  EXPECT_THAT(captured_.text(), HasSubstr("98 x certificate expired"));
  log_.Report("certificate expired", "192.0.2.1", "blink://demo/node/3", "node 3 expired");
  EXPECT_EQ(Lines(), 4);
}

TEST_F(FailureLogTest, NamesThatAPeerMakesUpDoNotFillTheLog) {
  for (int i = 0; i < 20'000; ++i) {
    log_.Report("certificate of a foreign authority", absl::StrCat("host ", i), absl::StrCat("name ", i), "foreign");
  }
  log_.Summarize();
  EXPECT_EQ(Lines(), FailureLog::kLinesOfKindMax + 1);
  EXPECT_THAT(captured_.text(), HasSubstr(absl::StrCat(20'000 - FailureLog::kLinesOfKindMax, " of them have no line")));
}

TEST_F(FailureLogTest, AStrangerWithManyCertificatesHidesNoFailureOfOthers) {
  const std::string foreign = "certificate of a foreign authority";
  for (int i = 0; i < 5000; ++i) log_.Report(foreign, "192.0.2.66", absl::StrCat("name ", i), "a stranger");
  EXPECT_EQ(Lines(), FailureLog::kLinesOfHostMax);
  log_.Report(foreign, "192.0.2.7", "blink://demo/node/7", "node 7 has a kit of another deployment");
  EXPECT_THAT(captured_.text(), HasSubstr("node 7 has a kit")) << "of the same kind, from another address";
  for (int i = 0; i < 5000; ++i) log_.Report(foreign, absl::StrCat("host ", i), absl::StrCat("name ", i), "strangers");
  log_.Report("certificate expired", "192.0.2.8", "blink://demo/node/8", "node 8 expired");
  EXPECT_THAT(captured_.text(), HasSubstr("node 8 expired")) << "of another kind";
  const int before = Lines();
  clock_.Advance(absl::Minutes(61));
  log_.Look();
  EXPECT_THAT(captured_.text(), HasSubstr("have no line of their own"));
  log_.Report(foreign, "192.0.2.66", "name 1", "a stranger again");
  EXPECT_EQ(Lines(), before + 2) << "each hour begins anew";
}

TEST_F(FailureLogTest, ASummaryThatLeftNothingOutDoesNotSpeakOfIt) {
  log_.Report("certificate expired", "192.0.2.1", "blink://demo/node/3", "node 3 expired");
  log_.Report("certificate expired", "192.0.2.1", "blink://demo/node/3", "node 3 expired");
  log_.Summarize();
  EXPECT_THAT(captured_.text(), AllOf(HasSubstr("1 x certificate expired"), Not(HasSubstr("no line"))));
}

TEST_F(FailureLogTest, SaysNothingWhenNothingFailed) {
  clock_.Advance(absl::Hours(5));
  log_.Look();
  log_.Summarize();
  EXPECT_EQ(captured_.text(), "");
}

}  // namespace
}  // namespace blink
