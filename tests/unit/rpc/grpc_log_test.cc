#include "common/rpc/grpc_log.h"

#include <gmock/gmock.h>
#include <grpc/support/log.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/testing/log_capture.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kBegin = absl::FromUnixSeconds(1'800'000'000);

TEST(GrpcLines, OfOnePlaceAreHeardOnceAndThenTold) {
  GrpcLines lines;
  EXPECT_EQ(lines.Admit("tcp.cc", 100, kBegin), 0);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(lines.Admit("tcp.cc", 100, kBegin + absl::Milliseconds(i)).has_value());
  EXPECT_FALSE(lines.Admit("tcp.cc", 100, kBegin + GrpcLines::kQuiet - absl::Nanoseconds(1)).has_value());
  EXPECT_EQ(lines.Admit("tcp.cc", 100, kBegin + GrpcLines::kQuiet), 1001);
  EXPECT_FALSE(lines.Admit("tcp.cc", 100, kBegin + GrpcLines::kQuiet).has_value());
}

TEST(GrpcLines, OfAnotherPlaceAreHeardAtOnce) {
  GrpcLines lines;
  EXPECT_TRUE(lines.Admit("tcp.cc", 100, kBegin).has_value());
  EXPECT_TRUE(lines.Admit("tcp.cc", 101, kBegin).has_value());
  EXPECT_TRUE(lines.Admit("udp.cc", 100, kBegin).has_value());
}

TEST(GrpcLines, AreHeardAfterAClockWasSetBack) {
  GrpcLines lines;
  EXPECT_TRUE(lines.Admit("tcp.cc", 100, kBegin).has_value());
  EXPECT_EQ(lines.Admit("tcp.cc", 100, kBegin - absl::Hours(24)), 0);
}

TEST(GrpcLog, IsNotFilledByWhatPeersCauseAgainAndAgain) {
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);  // as a server does; before that gRPC is silent
  InstallGrpcLog();
  const LogCapture captured;
  for (int i = 0; i < 1000; ++i) gpr_log("tcp.cc", 7, GPR_LOG_SEVERITY_ERROR, "Failed getpeername");
  gpr_log("tcp.cc", 8, GPR_LOG_SEVERITY_ERROR, "Handshake failed");  // told by the log of handshakes
  // What a client gave up; its own message says so.
  gpr_log("tls.cc", 8, GPR_LOG_SEVERITY_ERROR, "cancel_check_peer error: UNKNOWN:Subchannel disconnected");
  gpr_log("tcp.cc", 9, GPR_LOG_SEVERITY_INFO, "Nothing much");
  const std::string text = captured.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("warning gRPC: Failed getpeername"), Not(HasSubstr("Handshake")),
                          Not(HasSubstr("cancel"))));
}

}  // namespace
}  // namespace blink
