// A folder of one process: where a result is put together before it gets its name.
#ifndef BLINK_COMMON_BASE_FOLDER_LOCK_H_
#define BLINK_COMMON_BASE_FOLDER_LOCK_H_

#include <string>

#include "absl/status/statusor.h"

namespace blink {

// Makes the folder `path` (not its parents) where it is missing and locks it: a descriptor that holds the lock until it
// is closed. -1: another process holds it, or has just renamed or removed it. What the file system says for something
// else than a folder, a link to one included.
absl::StatusOr<int> TryToLockFolder(const std::string& path);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_FOLDER_LOCK_H_
