// A folder that one process uses at a time. Results are put together in such a folder before they get their name.
#ifndef BLINK_COMMON_BASE_FOLDER_LOCK_H_
#define BLINK_COMMON_BASE_FOLDER_LOCK_H_

#include <string>

#include "absl/status/statusor.h"

namespace blink {

// Makes the folder `path` (but not its parents) if it is missing, and locks it. Returns a descriptor, which holds the
// lock until it is closed; or -1 when another process holds the lock, or has just renamed or removed the folder. Where
// `path` is not a folder (a link to one is not), returns the error of the file system.
absl::StatusOr<int> TryToLockFolder(const std::string& path);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_FOLDER_LOCK_H_
