// The log of a program: standard error, one line for each event, with its time (UTC), level and text.
//
// Nothing private may be logged: no list, degree, bit, noise or key, and nothing computed from them before the
// mechanism has privatised it.
#ifndef BLINK_COMMON_BASE_LOGGING_H_
#define BLINK_COMMON_BASE_LOGGING_H_

#include <string>

#include "absl/status/status.h"
#include "spdlog/spdlog.h"

namespace blink {

// Sets up the log. Call it once, before anything is logged. `level` is "debug", "info", "warning" or "error"; anything
// else is INVALID_ARGUMENT.
absl::Status InitLogging(const std::string& program, const std::string& level);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_LOGGING_H_
