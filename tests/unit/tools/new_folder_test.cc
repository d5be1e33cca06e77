#include "tools/new_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "common/base/durable_file.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::KilledBySignal;

class StagingTest : public testing::FolderTest {
 protected:
  std::vector<std::string> Entries() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    return names;
  }

  // As a command does that is ended while it works: it goes on to make files until the program ends.
  void WorkUntil(int signal) const {
    auto staging = Staging::Create(folder_ + "/a/b/made");
    if (!staging.ok()) return;
    for (int k = 0;; ++k) {
      (void)WriteNew(staging->path() + "/" + std::to_string(k), "half");
      if (k == 100) ::kill(::getpid(), signal);
    }
  }
};

TEST_F(StagingTest, ASignalLeavesNothingBehind) {
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT_EXIT(WorkUntil(signal), KilledBySignal(signal), "^$");
    EXPECT_THAT(Entries(), IsEmpty()) << signal;
  }
}

TEST_F(StagingTest, ASignalAfterItIsPublishedLeavesTheFolder) {
  const auto publish = [&] {
    auto staging = Staging::Create(folder_ + "/made/");
    if (staging.ok() && staging->Publish().ok()) ::raise(SIGTERM);
  };
  EXPECT_EXIT(publish(), KilledBySignal(SIGTERM), "^$");
  EXPECT_THAT(Entries(), ElementsAre("made"));
}

TEST_F(StagingTest, WhatIsNotPublishedIsRemoved) {
  for (const char* target : {"/made", "/a/b/made/"}) {
    {
      auto staging = Staging::Create(folder_ + target);
      ASSERT_TRUE(staging.ok()) << staging.status();
      Staging moved = *std::move(staging);
      ASSERT_TRUE(WriteNew(moved.path() + "/file", "x").ok());
    }
    EXPECT_THAT(Entries(), IsEmpty()) << target;
  }
  std::filesystem::create_directories(folder_ + "/a");
  { auto staging = Staging::Create(folder_ + "/a/b/made"); }
  EXPECT_THAT(Entries(), ElementsAre("a")) << "it was there before";
}

TEST_F(StagingTest, CreateRefusesAnEmptyFolderThatNoneCanTakeThePlaceOf) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  for (const std::string& name : {std::string("."), std::string("./"), folder_}) {
    EXPECT_THAT(std::string(Staging::Create(name).status().message()), HasSubstr("is the working folder")) << name;
  }
  std::filesystem::current_path(before);
  EXPECT_THAT(Entries(), IsEmpty());
  const std::string mounted = folder_ + "/mounted";
  ASSERT_EQ(::mkdir(mounted.c_str(), 0700), 0);
  if (::mount("none", mounted.c_str(), "tmpfs", 0, nullptr) != 0) GTEST_SKIP() << "no mount without privileges";
  EXPECT_THAT(std::string(Staging::Create(mounted).status().message()),
              HasSubstr("is a mounted volume, which cannot be replaced at once: name a folder in it"));
  ASSERT_EQ(::umount(mounted.c_str()), 0);
}

TEST_F(StagingTest, CreateRefusesWhatHoldsSomethingOrLeadsNowhere) {
  std::filesystem::create_directories(folder_ + "/full/inner");
  std::filesystem::create_symlink(folder_ + "/nothing", folder_ + "/link");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "x").ok());
  for (const auto& [name, expected] : {std::pair("/full", "exists already"), std::pair("/file", "exists already"),
                                       std::pair("/link", "is a symbolic link to nothing")}) {
    EXPECT_THAT(std::string(Staging::Create(folder_ + name).status().message()), HasSubstr(expected)) << name;
  }
}

}  // namespace
}  // namespace blink
