// Files that only their owner should be able to read.
#ifndef BLINK_COMMON_BASE_PRIVATE_FILE_H_
#define BLINK_COMMON_BASE_PRIVATE_FILE_H_

#include <string>

namespace blink {

// Warns in the log when every user of this machine may read or write the private key `path`: once, and again when it
// was closed to them meanwhile. It is a warning alone: secrets that a container gets as files often have such a mode,
// in a place that nobody else sees.
void WarnOfOpenKey(const std::string& path);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_PRIVATE_FILE_H_
