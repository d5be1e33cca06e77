#include "aggregator_server/main/data_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/durable_file.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class DataKey : public ::testing::Test {
 protected:
  std::string Write(const std::string& text, mode_t mode = 0600) {
    EXPECT_TRUE(WriteFileAtomically(folder_ / "file", text, mode).ok());
    return folder_ / "file";
  }

  testing::TempFolder folder_;
  const std::string bytes_ = std::string(16, 'a') + std::string(16, 'b');
};

TEST_F(DataKey, IsReadFromAFileAndFromAProgram) {
  const std::string path = Write(absl::Base64Escape(bytes_) + "\n");
  EXPECT_EQ(ReadDataKeyFile(path).value().bytes(), bytes_);
  EXPECT_EQ(ReadDataKeyOfCommand("/bin/cat  " + path).value().bytes(), bytes_);
  EXPECT_EQ(ReadDataKeyFile(Write(absl::BytesToHexString(bytes_))).value().bytes(), bytes_);
}

TEST_F(DataKey, IsRefusedWhereTheFileIsNone) {
  EXPECT_EQ(ReadDataKeyFile(Write("no key")).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadDataKeyFile(Write(std::string(5000, 'a'))).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ReadDataKeyFile(folder_ / "nowhere").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(DataKey, IsNeverTheWorkOfAShell) {
  const std::string made = folder_ / "made";
  const absl::Status refused =
      ReadDataKeyOfCommand(absl::StrCat("/bin/echo $(touch ", made, "); touch ", made)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(std::filesystem::exists(made));
  EXPECT_EQ(ReadDataKeyOfCommand("cat key").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadDataKeyOfCommand("  ").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(DataKey, OfAProgramThatFailsOrPrintsTooMuchIsRefused) {
  EXPECT_THAT(std::string(ReadDataKeyOfCommand("/bin/false").status().message()), HasSubstr("exit code 1"));
  EXPECT_THAT(std::string(ReadDataKeyOfCommand("/nowhere/it").status().message()), HasSubstr("/nowhere/it"));
  EXPECT_THAT(std::string(ReadDataKeyOfCommand("/bin/cat /dev/zero").status().message()), HasSubstr("more than a key"));
}

TEST_F(DataKey, OfAProgramThatHangsIsRefusedInTimeAlsoWhenAChildOfItDoes) {
  const std::string script = Write("#!/bin/sh\nsleep 60 &\nsleep 60\n", 0700);
  const std::string silent = folder_ / "silent";
  ASSERT_TRUE(WriteFileAtomically(silent, "#!/bin/sh\nexec >/dev/null\nsleep 60\n", 0700).ok());
  for (const std::string& program : {script, silent}) {
    const absl::Time began = absl::Now();
    const absl::Status refused = ReadDataKeyOfCommand(program, absl::Milliseconds(300)).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("did not end within 300ms"));
    EXPECT_LT(absl::Now() - began, absl::Seconds(20));
  }
}

}  // namespace
}  // namespace blink
