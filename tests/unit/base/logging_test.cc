#include "common/base/logging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/durable_file.h"
#include "nlohmann/json.hpp"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

class LoggingTest : public testing::FolderTest {
 protected:
  ~LoggingTest() override { spdlog::set_default_logger(before_); }
  absl::Status Init(const std::string& format, const std::string& level = "info") {
    return InitLogging("blink-test", LogOptions{.level = level, .format = format, .file = file_});
  }
  std::vector<std::string> Lines(const std::string& file) {
    return absl::StrSplit(ReadFile(file, 1 << 20).value_or(""), '\n', absl::SkipEmpty());
  }

  const std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  const std::string file_ = Path("log");
};

TEST_F(LoggingTest, WritesTextLinesWithTimeLevelAndProgram) {
  ASSERT_TRUE(Init("text").ok());
  spdlog::warn("one {}", 1);
  EXPECT_THAT(Lines(file_), ElementsAre(MatchesRegex("[0-9-]+T[0-9:]+\\.[0-9][0-9][0-9]Z warning blink-test: one 1")));
}

TEST_F(LoggingTest, WritesOneJsonObjectALineWhateverTheMessageHolds) {
  ASSERT_TRUE(Init("json").ok());
  const std::string hard = "a \"quote\", a \\, a\nnew line, \x01, {} and no UTF-8: \xff";
  spdlog::info("{}", hard);
  spdlog::error("plain");
  ASSERT_THAT(Lines(file_), SizeIs(2));
  const auto first = nlohmann::json::parse(Lines(file_)[0]);
  EXPECT_EQ(first.size(), 4u);
  EXPECT_EQ(first.at("level"), "info");
  EXPECT_EQ(first.at("program"), "blink-test");
  EXPECT_EQ(first.at("message"), hard.substr(0, hard.size() - 1) + "\xEF\xBF\xBD");
  EXPECT_EQ(nlohmann::json::parse(Lines(file_)[1]).at("level"), "error");
}

TEST_F(LoggingTest, WritesPrioritiesForTheJournal) {
  ASSERT_TRUE(Init("journal", "debug").ok());
  spdlog::debug("d");
  spdlog::info("i");
  spdlog::warn("w");
  spdlog::error("e");
  EXPECT_THAT(Lines(file_), ElementsAre("<7>d", "<6>i", "<4>w", "<3>e"));
}

TEST_F(LoggingTest, RefusesAnUnknownLevelFormatAndFile) {
  EXPECT_EQ(Init("text", "loud").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Init("xml").message()), HasSubstr("use auto, text, json or journal"));
  ASSERT_TRUE(MakeDirectories(file_).ok());
  EXPECT_FALSE(Init("text").ok());
  const absl::Status missing = InitLogging("blink-test", LogOptions{.format = "text", .file = Path("missing/log")});
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("missing/log"));
}

TEST_F(LoggingTest, TheLevelChangesAStepAtATimeAndStaysWithinItsEnds) {
  ASSERT_TRUE(Init("text", "warning").ok());
  spdlog::info("unheard");
  EXPECT_EQ(ChangeLogLevel(1), "info");
  spdlog::info("heard");
  EXPECT_EQ(ChangeLogLevel(1), "debug");
  EXPECT_EQ(ChangeLogLevel(1), "debug");
  for (const char* name : {"info", "warning", "error", "error"}) EXPECT_EQ(ChangeLogLevel(-1), name);
  spdlog::warn("unheard");
  EXPECT_THAT(Lines(file_), ElementsAre(HasSubstr("info blink-test: heard")));
}

TEST_F(LoggingTest, AFileThatWasMovedAwayIsMadeAnewOnRequest) {
  ASSERT_TRUE(Init("text").ok());
  spdlog::info("before");
  std::filesystem::rename(file_, Path("log.1"));
  ReopenLogFile();
  spdlog::info("after");
  EXPECT_THAT(Lines(Path("log.1")), ElementsAre(HasSubstr("before")));
  EXPECT_THAT(Lines(file_), ElementsAre(HasSubstr("after")));
}

TEST_F(LoggingTest, AFileThatWasMovedAwayIsMadeAnewByItself) {
  ASSERT_TRUE(Init("text").ok());
  spdlog::info("before");
  std::filesystem::rename(file_, Path("log.1"));
  absl::SleepFor(absl::Milliseconds(1100));
  spdlog::info("after");
  EXPECT_THAT(Lines(file_), ElementsAre(HasSubstr("after")));
}

TEST_F(LoggingTest, WhereNoNewFileCanBeMadeTheOldOneGoesOn) {
  ASSERT_TRUE(Init("text").ok());
  std::filesystem::rename(file_, Path("log.1"));
  ASSERT_TRUE(MakeDirectories(file_).ok());
  ReopenLogFile();
  spdlog::info("still here");
  EXPECT_THAT(Lines(Path("log.1")), ElementsAre(HasSubstr("still here")));
}

TEST_F(LoggingTest, LinesThatAFullDiskRefusesAreCountedAndLeaveNoHalves) {
  ASSERT_TRUE(Init("text").ok());
  spdlog::info("before");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{std::filesystem::file_size(file_) + 10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int i = 0; i < 3; ++i) spdlog::info("lost");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, old);
  spdlog::info("after");
  EXPECT_THAT(Lines(file_), ElementsAre(HasSubstr("before"), HasSubstr("warning blink-test: 3 lines were lost"),
                                        HasSubstr("info blink-test: after")));
}

TEST_F(LoggingTest, TheFileIsNotForEverybody) {
  ASSERT_TRUE(Init("text").ok());
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07, 0u);
}

}  // namespace
}  // namespace blink
