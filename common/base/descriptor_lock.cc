#include "common/base/descriptor_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"

namespace blink {

absl::Status TryToLock(int fd, LockKind kind, const std::string& path) {
  if (::flock(fd, (kind == LockKind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) return absl::OkStatus();
  if (errno == EWOULDBLOCK) return absl::AbortedError(absl::StrCat("another process holds ", path));
  return FileError(errno, "lock", path);
}

bool IsLocked(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_locked = absl::IsAborted(TryToLock(fd, LockKind::kShared, path));
  ::close(fd);
  return is_locked;
}

}  // namespace blink
