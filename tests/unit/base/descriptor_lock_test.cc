#include "common/base/descriptor_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tests/testing/temp_folder.h"
#include "tests/unit/base/system_calls.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class DescriptorLockTest : public ::testing::Test {
 protected:
  int Open(int flags = O_RDWR | O_CREAT) { return ::open(path_.c_str(), flags | O_CLOEXEC, 0600); }
  static absl::StatusCode Lock(int fd, LockKind kind) { return TryToLock(fd, kind, "it").code(); }

  const testing::TempFolder folder_;
  const std::string path_ = folder_ / "file";
};

TEST_F(DescriptorLockTest, LetsReadersInTogetherAndAWriterAlone) {
  const int one = Open(), two = Open(), three = Open();
  EXPECT_EQ(Lock(one, LockKind::kShared), absl::StatusCode::kOk);
  EXPECT_EQ(Lock(two, LockKind::kShared), absl::StatusCode::kOk);
  EXPECT_EQ(Lock(three, LockKind::kExclusive), absl::StatusCode::kAborted);
  ::close(one);
  ::close(two);
  EXPECT_EQ(Lock(three, LockKind::kExclusive), absl::StatusCode::kOk);
  const int four = Open(O_RDONLY);
  const absl::Status refused = TryToLock(four, LockKind::kShared, path_);
  EXPECT_EQ(refused.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another process holds " + path_));
  ::close(four);
  ::close(three);
}

TEST_F(DescriptorLockTest, TellsALockOfSomebodyElseFromAFileSystemWithoutLocks) {
  const int fd = Open();
  {
    const SystemCalls::Scope calls({.flock_error = ENOLCK});
    const absl::Status status = TryToLock(fd, LockKind::kShared, path_);
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(std::string(status.message()), HasSubstr("cannot lock " + path_));
    EXPECT_FALSE(IsLocked(path_));
  }
  ::close(fd);
}

TEST_F(DescriptorLockTest, RefusesADescriptorThatIsNoneAnyMore) {
  const int fd = Open();
  ::close(fd);
  EXPECT_EQ(Lock(fd, LockKind::kExclusive), absl::StatusCode::kInternal);
}

TEST_F(DescriptorLockTest, IsSeenByOneWhoAsksAndDoesNotDisturb) {
  EXPECT_FALSE(IsLocked(path_)) << "there is no file";
  EXPECT_FALSE(std::filesystem::exists(path_));
  const int fd = Open();
  EXPECT_FALSE(IsLocked(path_));
  EXPECT_EQ(Lock(fd, LockKind::kShared), absl::StatusCode::kOk);
  EXPECT_FALSE(IsLocked(path_)) << "a reader is no holder";
  EXPECT_EQ(Lock(fd, LockKind::kExclusive), absl::StatusCode::kOk) << "and who asked has let go";
  EXPECT_TRUE(IsLocked(path_));
  EXPECT_TRUE(IsLocked(path_));
  ::close(fd);
  EXPECT_FALSE(IsLocked(path_));
}

}  // namespace
}  // namespace blink
