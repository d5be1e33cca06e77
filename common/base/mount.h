// Folders that are the top of a mounted filesystem: no other folder can take their place.
#ifndef BLINK_COMMON_BASE_MOUNT_H_
#define BLINK_COMMON_BASE_MOUNT_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

namespace blink {

inline bool IsMountRoot(const std::string& path) {
  struct statx info;
  return ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &info) == 0 &&
         (info.stx_attributes & info.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0;
}

}  // namespace blink

#endif  // BLINK_COMMON_BASE_MOUNT_H_
