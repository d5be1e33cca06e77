#include "aggregator_server/result/result_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/wire/artifacts.h"

namespace blink {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Existing = ResultPlace::Existing;

class ResultPlaceTest : public ::testing::Test {
 protected:
  ResultPlaceTest() {
    base_ = absl::StrCat(::testing::TempDir(), "/result_place_", ::getpid(), "_",
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(base_);
    fs::create_directories(base_);
    base_ = fs::canonical(base_).string();
    output_ = base_ + "/result";
  }
  ~ResultPlaceTest() override { fs::remove_all(base_); }

  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  // As WriteResultFolder does: metrics.json first, and at once.
  static void Fill(const std::string& folder, const std::string& what) {
    for (const Artifact& artifact : kArtifacts) {
      const std::string file = artifact.name;
      const std::string path = absl::StrCat(folder, "/", file);
      if (file == "metrics.json") {
        EXPECT_TRUE(WriteFileAtomically(path, R"({"privacy": {}, "train": {}})").ok());
      } else {
        Write(path, what);
      }
    }
  }
  void MakeResult(const std::string& folder, const std::string& what) {
    fs::create_directories(folder);
    Fill(folder, what);
  }
  absl::StatusOr<ResultPlace> Claim(Existing existing = Existing::kReplace) {
    return ResultPlace::Claim(output_, existing, /*patience_s=*/0);
  }
  void ExpectRefused(const std::string& text, Existing existing = Existing::kReplace) {
    const absl::Status status = Claim(existing).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
  // What is beside and below the result.
  std::set<std::string> Entries() const {
    std::set<std::string> entries;
    for (const auto& entry : fs::directory_iterator(base_)) entries.insert(entry.path().filename().string());
    return entries;
  }
  std::string What() const { return ReadFile(output_ + "/model.pt", 100).value_or("none"); }

  std::string base_, output_;
};

TEST_F(ResultPlaceTest, PutsAResultInAnAbsentOrEmptyPlace) {
  for (const bool empty : {false, true}) {
    fs::remove_all(output_);
    if (empty) fs::create_directories(output_);
    ResultPlace place = Claim(Existing::kRefuse).value();
    Fill(place.temporary(), "new");
    ASSERT_TRUE(place.Publish().ok());
    EXPECT_EQ(What(), "new");
    EXPECT_TRUE(CheckIsResult(output_).ok());
    EXPECT_EQ(Entries(), std::set<std::string>{"result"});
  }
}

TEST_F(ResultPlaceTest, ReplacesAnEarlierResultWithAndWithoutAnExchangeOfNames) {
  for (const bool exchange : {true, false}) {
    MakeResult(output_, "old");
    MakeResult(output_ + ".old", "older");
    ResultPlace place = Claim().value();
    Fill(place.temporary(), "new");
    ASSERT_TRUE(place.Publish(exchange).ok());
    EXPECT_EQ(What(), "new");
    EXPECT_FALSE(fs::exists(output_ + ".tmp"));
    fs::remove_all(output_ + ".old");
  }
}

TEST_F(ResultPlaceTest, FollowsLinksAndTakesAnyWayToWriteThePath) {
  fs::create_directories(base_ + "/elsewhere");
  fs::create_directory_symlink(base_ + "/elsewhere", base_ + "/link");
  for (const std::string& way :
       {base_ + "/elsewhere/", base_ + "/./link", base_ + "/link/../elsewhere", base_ + "/link/"}) {
    const auto place = ResultPlace::Claim(way, Existing::kReplace, 0);
    ASSERT_TRUE(place.ok()) << place.status();
    EXPECT_EQ(place->folder(), base_ + "/elsewhere") << way;
  }
}

TEST_F(ResultPlaceTest, AClaimThatIsNotPublishedLeavesNothing) {
  {
    ResultPlace place = Claim().value();
    Fill(place.temporary(), "half");
  }
  EXPECT_TRUE(Entries().empty());
}

TEST_F(ResultPlaceTest, ClearsWhatADeadProcessLeft) {
  fs::create_directories(output_ + ".tmp");
  for (const char* left : {"metrics.json", "model.pt", "model.pt.tmp.17", "links.npz.tmp"})
    Write(output_ + ".tmp/" + left, "{}");
  Write(output_ + ".tmp/metrics.json", R"({"privacy": {}, "train": {}})");
  const ResultPlace place = Claim().value();
  EXPECT_TRUE(fs::is_empty(place.temporary()));
}

TEST_F(ResultPlaceTest, BringsBackTheResultOfWhoDiedBetweenTheTwoRenames) {
  MakeResult(output_ + ".old", "old");
  const ResultPlace place = Claim().value();
  EXPECT_EQ(What(), "old");
  EXPECT_FALSE(fs::exists(output_ + ".old"));
}

// Killed at any system call of the publication, there is the old result or the new one, and the next claim goes on.
TEST_F(ResultPlaceTest, AnEndAtAnyMomentLeavesTheOldResultOrTheNewOne) {
  for (const bool exchange : {true, false}) {
    for (int delay_us = 0; delay_us < 3000; delay_us += 200) {
      fs::remove_all(output_);
      MakeResult(output_, "old");
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        auto place = ResultPlace::Claim(output_, Existing::kReplace);
        if (!place.ok()) ::_exit(1);
        Fill(place->temporary(), "new");
        ::_exit(place->Publish(exchange).ok() ? 0 : 1);
      }
      ::usleep(delay_us);
      ::kill(child, SIGKILL);
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
      ResultPlace place = ResultPlace::Claim(output_, Existing::kReplace).value();
      EXPECT_THAT(What(), ::testing::AnyOf("old", "new"));
      EXPECT_TRUE(CheckIsResult(output_).ok());
      Fill(place.temporary(), "next");
      ASSERT_TRUE(place.Publish(exchange).ok());
      EXPECT_EQ(What(), "next");
    }
  }
}

TEST_F(ResultPlaceTest, RefusesAFolderThatHoldsSomethingElse) {
  fs::create_directories(output_);
  Write(output_ + "/thesis.tex", "x");
  ExpectRefused("holds thesis.tex");
  MakeResult(output_, "old");
  ExpectRefused("holds thesis.tex");
  fs::remove(output_ + "/thesis.tex");
  fs::create_directories(output_ + "/model.pt.tmp");  // a folder under the name of a file
  ExpectRefused("holds model.pt.tmp");
  EXPECT_EQ(What(), "old");
}

TEST_F(ResultPlaceTest, RefusesAFolderThatOnlyLooksLikeAResult) {
  fs::create_directories(output_);
  Write(output_ + "/model.pt", "somebody else's model");
  ExpectRefused("holds no metrics.json of a result");
  for (const char* metrics : {"", "{}", "[1]", R"({"privacy": {}})", "not json"}) {
    Write(output_ + "/metrics.json", metrics);
    ExpectRefused("holds no metrics.json of a result");
  }
  EXPECT_EQ(What(), "somebody else's model");
  fs::remove_all(output_);
  fs::create_directories(output_ + ".tmp");
  Write(output_ + ".tmp/model.pt", "mine");
  ExpectRefused("holds no metrics.json of a result");
  EXPECT_EQ(ReadFile(output_ + ".tmp/model.pt", 10).value(), "mine");
}

TEST_F(ResultPlaceTest, RefusesToReplaceUnlessItIsTold) {
  MakeResult(output_, "old");
  ExpectRefused("--replace", Existing::kRefuse);
  EXPECT_EQ(What(), "old");
}

TEST_F(ResultPlaceTest, RefusesWhatIsNoFolder) {
  Write(output_, "x");
  ExpectRefused("is not a folder");
  fs::remove(output_);
  fs::create_symlink(base_ + "/nowhere", output_);
  ExpectRefused("is not a folder");
  fs::remove(output_);
  Write(output_ + ".tmp", "x");
  ExpectRefused("is not a folder");
  EXPECT_EQ(ResultPlace::Claim("/", Existing::kReplace, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ResultPlaceTest, RefusesAMountedVolume) {
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm here";
  const absl::Status status = ResultPlace::Claim("/dev/shm", Existing::kReplace, 0).status();
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(fs::exists("/dev/shm.tmp"));
}

TEST_F(ResultPlaceTest, RefusesAPlaceWithoutAFolderAboveAndOneThatCannotBeWritten) {
  const absl::Status none = ResultPlace::Claim(base_ + "/no/result", Existing::kReplace, 0).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(none.message()), HasSubstr(base_ + "/no"));
  const absl::Status proc = ResultPlace::Claim("/proc/result", Existing::kReplace, 0).status();
  EXPECT_EQ(ExitCodeFor(proc), ExitCode::kBadInput) << proc;
}

TEST_F(ResultPlaceTest, TwoAtATimeAreRefused) {
  ResultPlace first = Claim().value();
  EXPECT_EQ(Claim().status().code(), absl::StatusCode::kAborted);
  Fill(first.temporary(), "first");
  ASSERT_TRUE(first.Publish().ok());
  EXPECT_TRUE(Claim().ok());
}

TEST_F(ResultPlaceTest, WhatCameInMeanwhileIsNotReplaced) {
  ResultPlace place = Claim(Existing::kRefuse).value();
  Fill(place.temporary(), "new");
  fs::create_directories(output_);
  Write(output_ + "/thesis.tex", "x");
  EXPECT_EQ(place.Publish().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadFile(output_ + "/thesis.tex", 10).value(), "x");
}

}  // namespace
}  // namespace blink
