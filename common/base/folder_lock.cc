#include "common/base/folder_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/descriptor_lock.h"
#include "common/base/durable_file.h"

namespace blink {

absl::StatusOr<int> TryToLockFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return FileError(errno, "make the folder", path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return -1;  // just renamed or removed by its owner
  if (fd < 0) return FileError(errno, "open", path);
  struct stat held, there;
  // Some file systems cannot lock a folder (NFS): there nobody is kept out, and one writer must do.
  const bool free = !absl::IsAborted(TryToLock(fd, LockKind::kExclusive, path));
  if (free && ::fstat(fd, &held) == 0 && ::lstat(path.c_str(), &there) == 0 && held.st_dev == there.st_dev &&
      held.st_ino == there.st_ino) {
    return fd;
  }
  ::close(fd);  // somebody else's, or it was renamed or removed meanwhile
  return -1;
}

}  // namespace blink
