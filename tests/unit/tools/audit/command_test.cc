#include "tools/audit/command.h"

#include <functional>
#include <string>

#include "common/base/exit_code.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/testing/sanitizers.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class AuditCommand : public ::testing::Test {
 protected:
  // The exit code of `blink <arguments>`; wrong flags as main reports them. What it printed is in out_ and err_.
  int Blink(const std::string& arguments) {
    CLI::App app("test", "blink");
    std::function<int()> command;
    AddAuditCommand(app, &command);
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError& error) {
      err_ = error.what();
      return static_cast<int>(ExitCode::kUsage);
    }
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = command();
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return code;
  }
  std::string out_, err_;
};

TEST_F(AuditCommand, AuditsTheRandomness) {
  if (kThreadSanitizer)
    GTEST_SKIP() << "ThreadSanitizer does not follow processes that are cloned by the bare system call";
  ASSERT_EQ(Blink("audit randomness --processes 4 --threads 2 --draws 4 --json --quiet"), 0) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["audit"], "randomness");
  EXPECT_EQ(json["passed"], true);
  EXPECT_EQ(json["processes"], 9);
  ASSERT_EQ(Blink("audit randomness --processes 1 --threads 1 --draws 1 --quiet"), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("PASSED"));
  EXPECT_THAT(out_, HasSubstr("Not seen"));
}

TEST_F(AuditCommand, RefusesFewerReportsThanAnAuditNeeds) {
  EXPECT_EQ(Blink("audit mechanism --reports 999999"), 2);
  EXPECT_THAT(err_, HasSubstr("--reports"));
}

TEST_F(AuditCommand, RefusesABudgetOutOfRange) {
  for (const char* epsilon : {"0", "50.000001", "-1", "1e0", "0.0000001", "six"}) {
    EXPECT_EQ(Blink(std::string("audit mechanism --epsilon=") + epsilon), 2) << epsilon;
    EXPECT_THAT(err_, HasSubstr("epsilon"));
  }
  EXPECT_EQ(Blink("audit mechanism --degree-share 1.5"), 2);
  EXPECT_THAT(err_, HasSubstr("is not from 0 to 1"));
}

TEST_F(AuditCommand, RefusesSizesOutOfRange) {
  EXPECT_EQ(Blink("audit mechanism --nodes 1023"), 2);
  EXPECT_EQ(Blink("audit mechanism --nodes 1000001"), 2);
  EXPECT_EQ(Blink("audit randomness --processes 0"), 2);
  EXPECT_EQ(Blink("audit randomness --draws 10001"), 2);
}

TEST_F(AuditCommand, RefusesToBeSeeded) { EXPECT_EQ(Blink("audit mechanism --seed 1"), 2); }

TEST_F(AuditCommand, RefusesToRunWithoutSayingWhat) { EXPECT_EQ(Blink("audit"), 2); }

}  // namespace
}  // namespace blink
