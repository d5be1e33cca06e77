#include "common/cli/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "common/base/durable_file.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFile Naming(const std::string& path) {
    OutputFile output;
    CLI::App app;
    output.AddTo(&app);
    app.parse("--output " + path);
    return output;
  }
  static std::string Printed(const OutputFile& output, absl::Status* status) {
    ::testing::internal::CaptureStdout();
    *status = output.Print("text\n");
    return ::testing::internal::GetCapturedStdout();
  }

  OutputFileTest() { std::filesystem::create_directories(folder_ + "/folder"); }
  ~OutputFileTest() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ = ::testing::TempDir() + "output_file_" + std::to_string(::getpid());
  absl::Status status_;
};

TEST_F(OutputFileTest, IsStandardOutputWithoutAName) {
  EXPECT_TRUE(OutputFile().Check().ok());
  EXPECT_EQ(Printed(OutputFile(), &status_), "text\n");
  EXPECT_TRUE(status_.ok());
}

TEST_F(OutputFileTest, GetsTheTextAndNothingElseDoes) {
  const OutputFile output = Naming(folder_ + "/file");
  EXPECT_TRUE(output.Check().ok());
  EXPECT_EQ(Printed(output, &status_), "");
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(*ReadFile(folder_ + "/file", 100), "text\n");
}

TEST_F(OutputFileTest, LosesNoTextThatItCannotWrite) {
  for (const std::string& path : {folder_ + "/folder", folder_ + "/missing/file"}) {
    const OutputFile output = Naming(path);
    EXPECT_FALSE(output.Check().ok());
    EXPECT_EQ(Printed(output, &status_), "text\n");
    EXPECT_TRUE(IsFileError(status_)) << status_;
    EXPECT_THAT(std::string(status_.message()), HasSubstr("the result is on standard output instead"));
  }
}

}  // namespace
}  // namespace blink
