// The log of a program: one line an event on standard error, UTC, level, text. Nothing private may be logged:
// no list, degree, bit, noise or key, and no value computed from them before the mechanism.
#ifndef BLINK_COMMON_BASE_LOGGING_H_
#define BLINK_COMMON_BASE_LOGGING_H_

#include <string>

#include "absl/status/status.h"
#include "spdlog/spdlog.h"

namespace blink {

// Level: "debug", "info", "warning" or "error"; anything else is INVALID_ARGUMENT. Call once, first thing in main.
absl::Status InitLogging(const std::string& program, const std::string& level);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_LOGGING_H_
