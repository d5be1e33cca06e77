#include "common/base/folder_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "common/base/durable_file.h"
#include "tests/unit/base/system_calls.h"

namespace blink {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FolderLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "/folder_lock_" + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
            std::to_string(::getpid());
    ASSERT_TRUE(fs::create_directories(root_));
    folder_ = root_ + "/folder";
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string root_, folder_;
};

TEST_F(FolderLockTest, MakesAFolderForItsOwnerAloneAndHoldsItUntilItIsClosed) {
  const absl::StatusOr<int> first = TryToLockFolder(folder_);
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_GE(*first, 0);
  struct stat info;
  ASSERT_EQ(::stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(TryToLockFolder(folder_).value(), -1) << "it is held";
  ::close(*first);
  const absl::StatusOr<int> second = TryToLockFolder(folder_);
  ASSERT_TRUE(second.ok()) << "a folder that is there is taken: " << second.status();
  EXPECT_GE(*second, 0);
  ::close(*second);
}

TEST_F(FolderLockTest, RefusesWhatIsNoFolder) {
  ASSERT_TRUE(WriteFileAtomically(folder_, "a file").ok());
  EXPECT_THAT(std::string(TryToLockFolder(folder_).status().message()), HasSubstr("cannot open " + folder_));
  fs::create_directory(root_ + "/other");
  fs::create_directory_symlink(root_ + "/other", root_ + "/link");
  EXPECT_FALSE(TryToLockFolder(root_ + "/link").ok()) << "a link to a folder is none";
}

TEST_F(FolderLockTest, MakesNoParents) {
  const absl::Status missing = TryToLockFolder(root_ + "/none/folder").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("cannot make the folder " + root_ + "/none/folder"));
  EXPECT_FALSE(fs::exists(root_ + "/none"));
}

TEST_F(FolderLockTest, KeepsNobodyOutWhereTheFileSystemCannotLockFolders) {
  for (const int error : {EBADF, ENOLCK, EOPNOTSUPP}) {
    const SystemCalls::Scope calls({.flock_error = error});
    const absl::StatusOr<int> held = TryToLockFolder(folder_);
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_GE(*held, 0) << error;
    ::close(*held);
  }
}

TEST_F(FolderLockTest, TakesNoFolderThatItsOwnerRenamesOrRemovesMeanwhile) {
  {
    const SystemCalls::Scope calls({.before_flock = [&] { fs::rename(folder_, root_ + "/result"); }});
    EXPECT_EQ(TryToLockFolder(folder_).value(), -1);
  }
  {
    const SystemCalls::Scope calls({.before_flock = [&] {
      fs::rename(folder_, root_ + "/another");  // so that its number is not given again
      fs::create_directory(folder_);
    }});
    EXPECT_EQ(TryToLockFolder(folder_).value(), -1) << "another folder has the name now";
  }
  const absl::StatusOr<int> held = TryToLockFolder(folder_);
  EXPECT_GE(held.value(), 0);
  ::close(*held);
}

}  // namespace
}  // namespace blink
