// Durable files where system calls are interrupted, do less than was asked, or fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "common/base/durable_file.h"
#include "tests/testing/temp_folder.h"
#include "tests/unit/base/system_calls.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class InterruptedCallsTest : public testing::FolderTest {
 protected:
  auto FilesInFolder() const { return std::distance(std::filesystem::directory_iterator(folder_), {}); }

  const std::string path_ = Path("file");
};

TEST_F(InterruptedCallsTest, AReadGoesOnAfterSignals) {
  ASSERT_TRUE(WriteFileAtomically(path_, "the content").ok());
  const SystemCalls::Scope calls({.reads_interrupted = 3});
  EXPECT_EQ(ReadFile(path_, 100).value(), "the content");
}

TEST_F(InterruptedCallsTest, AWriteGoesOnAfterSignalsAndTakesAllBytesHoweverFewAtATime) {
  const std::string content = "a content of some length";
  {
    const SystemCalls::Scope calls({.writes_interrupted = 3, .write_max = 5});
    ASSERT_TRUE(WriteFileAtomically(path_, content).ok());
  }
  EXPECT_EQ(ReadFile(path_, 100).value(), content);
}

TEST_F(InterruptedCallsTest, AReadThatFailsNamesTheFileAndTheReason) {
  ASSERT_TRUE(WriteFileAtomically(path_, "x").ok());
  const SystemCalls::Scope calls({.read_error = EIO});
  const absl::Status status = ReadFile(path_, 100).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot read " + path_ + ": Input/output error"));
}

TEST_F(InterruptedCallsTest, AFileThatCannotBeWrittenOrSyncedKeepsItsContentAndLeavesNothingElse) {
  ASSERT_TRUE(WriteFileAtomically(path_, "before").ok());
  for (const SystemCalls& failing : {SystemCalls{.write_error = ENOSPC}, SystemCalls{.fsync_error = ENOSPC}}) {
    absl::Status status;
    {
      const SystemCalls::Scope calls(failing);
      status = WriteFileAtomically(path_, "after");
    }
    EXPECT_TRUE(IsDiskFull(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(failing.fsync_error != 0 ? "cannot fsync" : "cannot write"));
    EXPECT_EQ(ReadFile(path_, 100).value(), "before");
    EXPECT_EQ(FilesInFolder(), 1);
  }
}

TEST_F(InterruptedCallsTest, AFolderThatCannotBeSyncedIsAnError) {
  const SystemCalls::Scope calls({.fsync_error = EIO});
  const absl::Status status = SyncDirectory(folder_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot fsync " + folder_));
}

TEST_F(InterruptedCallsTest, ALockThatTheFileSystemDoesNotGiveIsNotTakenForAnothersLock) {
  EXPECT_EQ(FileLock::Acquire(path_ + ".lock").status().code(), absl::StatusCode::kOk);
  {
    const SystemCalls::Scope calls({.flock_error = ENOLCK});
    const absl::Status status = FileLock::Acquire(path_ + ".lock").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("cannot lock " + path_ + ".lock"));
  }
  const SystemCalls::Scope calls({.flock_error = EWOULDBLOCK});
  EXPECT_EQ(FileLock::Acquire(path_ + ".lock").status().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace blink
