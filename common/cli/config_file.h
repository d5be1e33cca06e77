// Reads the configuration files of the programs: lines of key="value".
//
//   # a comment
//   listen="0.0.0.0:7443"   # another one
//   insecure=true
//
// A value is in double or single quotes, which nothing escapes, or it is one word. Lines may end with CRLF, and the
// file may begin with a byte order mark.
#ifndef BLINK_COMMON_CLI_CONFIG_FILE_H_
#define BLINK_COMMON_CLI_CONFIG_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

struct ConfigEntry {
  std::string key, value;  // neither is empty
  int line = 0;
};

// The entries in their order. Returns INVALID_ARGUMENT, which begins with "<path>:<line>: ", for a line that is not an
// entry, a quote that does not end, a value that is empty, or a key that is given twice.
absl::StatusOr<std::vector<ConfigEntry>> ParseConfig(absl::string_view text, absl::string_view path);

// A check for the option that names such a file: what the system says when it may not be read, in its own words.
absl::Status CheckReadable(const std::string& path);

// ReadFile, for a file that a flag names: what is no file is FAILED_PRECONDITION, since INVALID_ARGUMENT would say that
// the flag is wrong.
absl::StatusOr<std::string> ReadNamedFile(const std::string& path, uint64_t bytes_max);

}  // namespace blink

#endif  // BLINK_COMMON_CLI_CONFIG_FILE_H_
