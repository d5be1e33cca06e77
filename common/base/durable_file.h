// Files whose content survives a crash: whatever returned OK is on the disk.
//
// Errors name the path and what the system said. A full disk, a file that is larger than its limit allows, and too many
// open files are RESOURCE_EXHAUSTED, a missing file NOT_FOUND, a path that cannot be one INVALID_ARGUMENT, missing
// rights and a read-only file system PERMISSION_DENIED, anything else INTERNAL.
#ifndef BLINK_COMMON_BASE_DURABLE_FILE_H_
#define BLINK_COMMON_BASE_DURABLE_FILE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

// The status for `errno_value` met while doing `what` ("open", "fsync") to `path`.
absl::Status FileError(int errno_value, absl::string_view what, absl::string_view path);

// Whether `status` came from FileError. A PERMISSION_DENIED may come from a peer as well, and ends a program otherwise.
bool IsFileError(const absl::Status& status);

// Whether it did because a disk, a quota, or the size that a file may have is full: more room, and the same may
// succeed. Memory and descriptors are RESOURCE_EXHAUSTED as well, and no such case.
bool IsDiskFull(const absl::Status& status);

// The same error in other words. What IsFileError and IsDiskFull ask for stays, which a new absl::Status of the same
// code would lose.
absl::Status Reworded(const absl::Status& status, absl::string_view message);

// What is wrong with the content of `path`: the same error, the path in front. OK stays OK.
absl::Status InFile(absl::string_view path, const absl::Status& status);

// The whole file. OUT_OF_RANGE when it holds more than `bytes_max`.
absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t bytes_max);

// The same of a regular file alone: INVALID_ARGUMENT for a device, a FIFO or a socket, which it does not wait for.
absl::StatusOr<std::string> ReadRegularFile(const std::string& path, uint64_t bytes_max);
// Its refusals, for what is not read at once. A link to a regular file is one.
absl::Status CheckRegularFile(const std::string& path);

// Writes a temporary file beside `path`, fsyncs it, renames it over `path`, fsyncs the folder.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, mode_t mode = 0600);

// Makes the entries of a folder (created, renamed, removed files) durable.
absl::Status SyncDirectory(const std::string& path);

// Makes the folder and its parents. Existing folders are fine; INVALID_ARGUMENT where something else has its name.
absl::Status MakeDirectories(const std::string& path, mode_t mode = 0700);

// An exclusive advisory lock, held until destruction. ABORTED when another process holds it.
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
