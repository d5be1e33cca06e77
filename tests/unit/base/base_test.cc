#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/base/format_number.h"
#include "common/base/list_text.h"
#include "common/base/private_file.h"
#include "tests/testing/log_capture.h"
#include "tests/testing/temp_folder.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

TEST(FormatNumber, IsWhatFollowsTheName) {
  EXPECT_EQ(FormatNumber("BLINKJ2\n...", "BLINKJ"), 2u);
  EXPECT_EQ(FormatNumber("BLINKR01", "BLINKR"), 1u);
  EXPECT_EQ(FormatNumber("blink-anchor 12\njournal", "blink-anchor "), 12u);
}

TEST(FormatNumber, IsNothingWhereAnotherFileBeginsOrNoNumberFollows) {
  for (const char* bytes : {"", "BLINK", "BLINKJ", "BLINKJ\n", "BLINKJx\n", "BLINKJ2x\n", "BLINKJ-2\n", "BLINKR2\n",
                            "BLINKJ1234567890\n"}) {
    EXPECT_EQ(FormatNumber(bytes, "BLINKJ"), std::nullopt) << bytes;
  }
}

TEST(OtherFormat, NamesFileAndBothNumbers) {
  const absl::Status status = OtherFormat("DIR/journal.blj", 3, 2);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("DIR/journal.blj has format 3, and this program reads format 2"));
}

class DurableFileTest : public testing::FolderTest {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeDirectories(folder_ + "/a/b").ok()); }
};

TEST_F(DurableFileTest, ReplacesAFileAndLeavesNothingElse) {
  const std::string path = folder_ + "/a/file";
  ASSERT_TRUE(WriteFileAtomically(path, "first").ok());
  ASSERT_TRUE(WriteFileAtomically(path, absl::string_view("se\0cond", 7)).ok());
  EXPECT_EQ(*ReadFile(path, 100), std::string("se\0cond", 7));
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ + "/a"), {}), 2);  // the file and b
}

TEST_F(DurableFileTest, RefusesMoreThanTheLimit) {
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "12345").ok());
  EXPECT_TRUE(ReadFile(folder_ + "/file", 5).ok());
  EXPECT_EQ(ReadFile(folder_ + "/file", 4).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(DurableFileTest, NamesThePathAndTheReason) {
  const auto missing = ReadFile(folder_ + "/nothing", 5);
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.status().message(), HasSubstr(folder_ + "/nothing: No such file"));
  EXPECT_EQ(ReadFile(folder_, 5).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteFileAtomically(folder_ + "/nothing/file", "x").code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(MakeDirectories("/proc/nothing/here").ok());
}

// As another user, since root may read everything.
TEST_F(DurableFileTest, AFileThatMayNotBeReadIsNotMissing) {
  constexpr uid_t kNobody = 65534;
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "12345", 0).ok());
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
    ASSERT_EQ(::seteuid(kNobody), 0);
  }
  const absl::Status denied[] = {ReadFile(folder_ + "/file", 5).status(), ReadFile(folder_ + "/file", 5).status(),
                                 FileLock::Acquire(folder_ + "/file").status()};
  const absl::Status denied_to_nobody[] = {WriteFileAtomically(folder_ + "/other", "x"),
                                           MakeDirectories(folder_ + "/more/folders"),
                                           FileLock::Acquire(folder_ + "/lock").status()};
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  for (const absl::Status& status : denied) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder_ + "/file: Permission denied"));
    EXPECT_TRUE(IsFileError(status));
  }
  if (!is_root) return;  // the folder is this user's own
  for (const absl::Status& status : denied_to_nobody) {
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  }
}

TEST_F(DurableFileTest, AFailedRenameLeavesNoTemporaryFile) {
  EXPECT_FALSE(WriteFileAtomically(folder_ + "/a", "x").ok());  // a is a folder
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(DurableFileTest, WhatCannotBeWrittenIsKnownBeforeThereIsContent) {
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "kept").ok());
  EXPECT_TRUE(CheckCanWriteFile(folder_ + "/file").ok());
  EXPECT_EQ(*ReadFile(folder_ + "/file", 100), "kept");
  EXPECT_TRUE(CheckCanWriteFile(folder_ + "/new").ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/new"));
  for (const std::string& path :
       {folder_ + "/a", folder_ + "/missing/file", folder_ + "/file/below", folder_ + "/" + std::string(300, 'x')}) {
    EXPECT_FALSE(CheckCanWriteFile(path).ok()) << path;
    EXPECT_EQ(CheckCanWriteFile(path).code(), WriteFileAtomically(path, "x").code()) << path;
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);  // the file and a
}

TEST_F(DurableFileTest, MakesFoldersForTheOwnerOnly) {
  struct stat info;
  ASSERT_EQ(::stat((folder_ + "/a/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_TRUE(MakeDirectories(folder_ + "/a/b").ok());
}

TEST_F(DurableFileTest, ALinkThatLeadsNowhereIsNamedWithItsTarget) {
  std::filesystem::create_symlink(folder_ + "/gone", folder_ + "/link");
  const absl::Status made = MakeDirectories(folder_ + "/link");
  EXPECT_EQ(made.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(made.message(), "cannot make the folder " + folder_ + "/link: it is a symbolic link to " + folder_ +
                                "/gone, which does not exist");
  EXPECT_FALSE(MakeDirectories(folder_ + "/link/below").ok());
  const absl::Status read = ReadFile(folder_ + "/link", 10).status();
  EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument) << "it is not missing";
  EXPECT_EQ(read.message(), folder_ + "/link is a symbolic link to nothing: make its target, or remove it");
}

TEST(FileError, TellsTheCasesApart) {
  EXPECT_EQ(FileError(ENOSPC, "write", "x").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FileError(EMFILE, "open", "x").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FileError(EACCES, "open", "x").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(FileError(ENOENT, "open", "x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FileError(EIO, "fsync", "x").code(), absl::StatusCode::kInternal);
  EXPECT_EQ(FileError(EFBIG, "write", "x").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FileError(ENAMETOOLONG, "open", "x").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(IsFileError(FileError(EACCES, "open", "x")));
  EXPECT_TRUE(IsFileError(InFile("y", FileError(EACCES, "open", "x"))));
  EXPECT_TRUE(IsFileError(Reworded(FileError(EACCES, "open", "x"), "the lock")));
  EXPECT_FALSE(IsFileError(absl::PermissionDeniedError("a peer says so")));
  for (const int error : {ENOSPC, EDQUOT, EFBIG})
    EXPECT_TRUE(IsDiskFull(InFile("y", FileError(error, "write", "x")))) << error;
  for (const int error : {EMFILE, ENFILE, ENOMEM, EACCES, EIO})
    EXPECT_FALSE(IsDiskFull(FileError(error, "write", "x"))) << error;
  EXPECT_FALSE(IsDiskFull(absl::ResourceExhaustedError("no memory")));
}

TEST_F(DurableFileTest, ADeviceAFifoAndASocketAreNoRegularFiles) {
  const std::string fifo = folder_ + "/fifo", socket = folder_ + "/socket";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(::mknod(socket.c_str(), S_IFSOCK | 0600, 0), 0);
  for (const std::string& path : {fifo, socket, std::string("/dev/zero"), std::string("/dev/full")}) {
    const absl::Status status = ReadFile(path, 5).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path + " is a device, a FIFO or a socket"));
    EXPECT_EQ(CheckRegularFile(path), status);
  }
  EXPECT_EQ(ReadFile(folder_, 5).status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "hello").ok());
  EXPECT_EQ(ReadFile(folder_ + "/file", 5).value(), "hello");
}

TEST_F(DurableFileTest, ADeviceAndAFifoAreWrittenToAndStay) {
  const std::string fifo = folder_ + "/fifo", full = folder_ + "/full", null = folder_ + "/null";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/full", full);
  std::filesystem::create_symlink("/dev/null", null);
  EXPECT_EQ(WriteFileAtomically(fifo, "hello").code(), absl::StatusCode::kInvalidArgument) << "nobody reads it";
  EXPECT_EQ(CheckCanWriteFile(fifo).code(), absl::StatusCode::kInvalidArgument);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_TRUE(CheckCanWriteFile(fifo).ok());
  EXPECT_TRUE(WriteFileAtomically(fifo, "hello").ok());
  char buffer[10];
  EXPECT_EQ(::read(reader, buffer, sizeof(buffer)), 5);
  ::close(reader);
  EXPECT_TRUE(IsDiskFull(WriteFileAtomically(full, "x")));
  EXPECT_TRUE(WriteFileAtomically(null, "x").ok());
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
  for (const std::string& path : {full, null}) {
    EXPECT_TRUE(std::filesystem::is_symlink(path) && std::filesystem::is_character_file(path)) << path;
  }
}

TEST_F(DurableFileTest, WhatALinkLeadsToIsReplacedAndTheLinkStays) {
  std::filesystem::create_directory(folder_ + "/elsewhere");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/elsewhere/file", "old").ok());
  std::filesystem::create_symlink("elsewhere/file", folder_ + "/link");
  std::filesystem::create_symlink(folder_ + "/link", folder_ + "/second");
  EXPECT_TRUE(CheckCanWriteFile(folder_ + "/second").ok());
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/second", "new").ok());
  EXPECT_EQ(ReadFile(folder_ + "/elsewhere/file", 5).value(), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/link") && std::filesystem::is_symlink(folder_ + "/second"));
  std::filesystem::create_symlink("nothing", folder_ + "/dangling");
  for (const absl::Status& refused :
       {WriteFileAtomically(folder_ + "/dangling", "x"), CheckCanWriteFile(folder_ + "/dangling")}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("symbolic link to nothing"));
  }
}

TEST_F(DurableFileTest, StandardOutputByAnotherNameIsWrittenToInItsOrder) {
  const std::string path = folder_ + "/output";
  const int kept = ::dup(STDOUT_FILENO), file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(file, STDOUT_FILENO);
  const bool before = ::write(STDOUT_FILENO, "a", 1) == 1;
  const bool can = CheckCanWriteFile("/dev/fd/1").ok(), by_link = WriteFileAtomically("/dev/fd/1", "b").ok(),
             by_name = WriteFileAtomically(path, "c").ok();
  const bool after = ::write(STDOUT_FILENO, "d", 1) == 1;
  ::dup2(kept, STDOUT_FILENO);
  ::close(kept);
  ::close(file);
  EXPECT_TRUE(before && can && by_link && by_name && after);
  EXPECT_EQ(ReadFile(path, 10).value(), "abcd");
}

TEST_F(DurableFileTest, AnOpenKeyIsToldOnceUntilItIsClosed) {
  const std::string key = folder_ + "/key";
  ASSERT_TRUE(WriteFileAtomically(key, "x", 0644).ok());
  LogCapture log;
  const auto warn = [&](mode_t mode) {
    ::chmod(key.c_str(), mode);
    WarnOfOpenKey(key);
    return log.Take();
  };
  EXPECT_THAT(warn(0644), HasSubstr(key + " may be read by every user"));
  EXPECT_EQ(warn(0644), "") << "a node asks at every new connection";
  EXPECT_EQ(warn(0640), "");
  EXPECT_THAT(warn(0666), HasSubstr(key + " may be replaced by every user"));
}

TEST_F(DurableFileTest, AFileIsNotMistakenForAFolder) {
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "x").ok());
  EXPECT_EQ(MakeDirectories(folder_ + "/file").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(MakeDirectories(folder_ + "/file/below").ok());
}

TEST_F(DurableFileTest, ALockIsHeldOnceAndReleasedWithItsObject) {
  {
    auto lock = FileLock::Acquire(folder_ + "/lock");
    ASSERT_TRUE(lock.ok());
    EXPECT_EQ(FileLock::Acquire(folder_ + "/lock").status().code(), absl::StatusCode::kAborted);
    FileLock moved = *std::move(lock);
    EXPECT_EQ(FileLock::Acquire(folder_ + "/lock").status().code(), absl::StatusCode::kAborted);
  }
  EXPECT_TRUE(FileLock::Acquire(folder_ + "/lock").ok());
}

TEST(Sha256, GivesTheKnownDigests) {
  EXPECT_EQ(DigestToHex(Sha256Of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(DigestToHex(Sha256Of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256().Update("a").Update("").Update("bc").Finish(), Sha256Of("abc"));
}

TEST(Sha256, TakesIntegersLittleEndian) {
  EXPECT_EQ(Sha256().UpdateUint64(0x0102030405060708u).Finish(), Sha256Of("\x08\x07\x06\x05\x04\x03\x02\x01"));
}

TEST(Digest, IsReadBackOnlyFromItsOwnLength) {
  const Digest digest = Sha256Of("x");
  EXPECT_EQ(*DigestFromBytes(DigestToBytes(digest)), digest);
  for (const size_t length : {0u, 31u, 33u})
    EXPECT_EQ(DigestFromBytes(std::string(length, 'x')).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ExitCode, FollowsTheStatus) {
  const std::pair<absl::StatusCode, ExitCode> pairs[] = {
      {absl::StatusCode::kOk, ExitCode::kOk},
      {absl::StatusCode::kInvalidArgument, ExitCode::kBadInput},
      {absl::StatusCode::kNotFound, ExitCode::kBadInput},
      {absl::StatusCode::kOutOfRange, ExitCode::kBadInput},
      {absl::StatusCode::kFailedPrecondition, ExitCode::kBadInput},
      {absl::StatusCode::kUnavailable, ExitCode::kUnreachable},
      {absl::StatusCode::kDeadlineExceeded, ExitCode::kUnreachable},
      {absl::StatusCode::kResourceExhausted, ExitCode::kNoResources},
      {absl::StatusCode::kCancelled, ExitCode::kInterrupted},
      {absl::StatusCode::kDataLoss, ExitCode::kJournal},
      {absl::StatusCode::kPermissionDenied, ExitCode::kRefusedByPeer},
      {absl::StatusCode::kUnauthenticated, ExitCode::kRefusedByPeer},
      {absl::StatusCode::kAlreadyExists, ExitCode::kRefusedByPeer},
      {absl::StatusCode::kInternal, ExitCode::kInternal}};
  for (const auto& [status, code] : pairs) EXPECT_EQ(ExitCodeFor(absl::Status(status, "")), code);
}

TEST(ExitCode, ANameThatMayNotBeUsedIsBadInputAndAFullDiskIsNot) {
  for (const int error : {ENOENT, ENOTDIR, EACCES, EPERM, EROFS, ELOOP, ENAMETOOLONG, EISDIR}) {
    EXPECT_EQ(ExitCodeFor(FileError(error, "open", "x")), ExitCode::kBadInput) << error;
    EXPECT_EQ(ExitCodeFor(InFile("y", FileError(error, "open", "x"))), ExitCode::kBadInput) << error;
  }
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM}) {
    EXPECT_EQ(ExitCodeFor(FileError(error, "write", "x")), ExitCode::kNoResources) << error;
  }
}

TEST(ListText, ShowsWholeItemsAndCountsTheOthers) {
  const std::vector<std::string> names = {"first", "second", "third"};
  EXPECT_EQ(ListText(names, 100), "first, second, third");
  EXPECT_EQ(ListText(names, 13), "first, second and 1 more");
  EXPECT_EQ(ListText(names, 12), "first and 2 more");
  EXPECT_EQ(ListText(names, 1), "first and 2 more");
  EXPECT_EQ(ListText(std::vector<std::string>{}, 10), "");
}

TEST(ExitCode, TheTableNamesEveryCode) {
  const std::string table = ExitCodeTable();
  for (const int code : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 130, 143})
    EXPECT_THAT(table, HasSubstr(absl::StrCat(" ", code, "  ")));
}

}  // namespace
}  // namespace blink
