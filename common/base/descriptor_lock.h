// Advisory locks on open files and folders (flock). They hold until the descriptor is closed, however its process ends.
#ifndef BLINK_COMMON_BASE_DESCRIPTOR_LOCK_H_
#define BLINK_COMMON_BASE_DESCRIPTOR_LOCK_H_

#include <string>

#include "absl/status/status.h"

namespace blink {

enum class LockKind {
  kShared,     // beside other shared locks
  kExclusive,  // alone
};

// Takes the lock, or says at once why not. ABORTED: another descriptor has a lock beside which this one cannot be.
// Otherwise as FileError: some file systems cannot lock a folder. `path` is for messages.
absl::Status TryToLock(int fd, LockKind kind, const std::string& path);

// Whether somebody holds an exclusive lock on the file. It is tried as a reader for a moment. Whoever holds it does not
// notice, and two who ask do not disturb each other. False where the file cannot be opened.
bool IsLocked(const std::string& path);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_DESCRIPTOR_LOCK_H_
