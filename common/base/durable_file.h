// Files whose content survives a crash: when a function here returns OK, its effect is on the disk.
//
// Errors name the path and what the system said:
//   RESOURCE_EXHAUSTED  the disk is full, the file exceeds its size limit, or too many files are open
//   NOT_FOUND           the file is missing
//   INVALID_ARGUMENT    no file can have this path
//   PERMISSION_DENIED   rights are missing, or the file system is read-only
//   INTERNAL            anything else
#ifndef BLINK_COMMON_BASE_DURABLE_FILE_H_
#define BLINK_COMMON_BASE_DURABLE_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

// The status for `errno_value`, which the system returned for `what` ("open", "fsync") on `path`.
absl::Status FileError(int errno_value, absl::string_view what, absl::string_view path);

// Whether `status` came from FileError. This matters for PERMISSION_DENIED: when a peer says it, the program ends with
// another exit code.
bool IsFileError(const absl::Status& status);

// Whether `status` came from FileError because a disk, a quota or a file's size limit is full. With more room the same
// call may succeed. False for memory and descriptors, although they too are RESOURCE_EXHAUSTED.
bool IsDiskFull(const absl::Status& status);

// The same error with another message. IsFileError and IsDiskFull answer as before, which they would not do for a new
// absl::Status of the same code.
absl::Status Reworded(const absl::Status& status, absl::string_view message);

// The same error with `path` in front of its message: the content of that file is wrong. OK stays OK.
absl::Status InFile(absl::string_view path, const absl::Status& status);

// The whole file. OUT_OF_RANGE when it holds more than `bytes_max`. A device, a FIFO or a socket is INVALID_ARGUMENT,
// and is never waited for. A link to a regular file is accepted.
absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t bytes_max);
// The refusals of ReadFile, for files that are not read at once.
absl::Status CheckRegularFile(const std::string& path);

// Writes a temporary file beside `path`, fsyncs it, renames it over `path`, fsyncs the folder. What a symbolic link
// leads to is replaced, not the link. A device, a FIFO or a socket is written to as it is, and so is a file that is
// standard output or standard error. INVALID_ARGUMENT for a link to nothing.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, mode_t mode = 0600);

// Why WriteFileAtomically could not write there now: for work that takes long, before it begins. Leaves nothing behind.
absl::Status CheckCanWriteFile(const std::string& path);

// Makes the entries of a folder durable: files that were created, renamed or removed in it.
absl::Status SyncDirectory(const std::string& path);

// Makes the folder and its parents. Existing folders are fine. INVALID_ARGUMENT where something that is not a folder
// has the name.
absl::Status MakeDirectories(const std::string& path, mode_t mode = 0700);

// Takes an exclusive advisory lock on an open file, which holds until the descriptor is closed. Returns ABORTED when
// another process holds it. `path` is for messages.
absl::Status LockDescriptor(int fd, const std::string& path);

// An exclusive advisory lock on a file, which Acquire makes when it is missing. It is held until destruction. ABORTED
// when another process holds it.
class FileLock {
 public:
  static absl::StatusOr<FileLock> Acquire(const std::string& path);
  FileLock(FileLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace blink

#endif  // BLINK_COMMON_BASE_DURABLE_FILE_H_
