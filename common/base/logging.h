// The log of a program: one line for each event, on standard error or in a file.
//
//   text     2026-11-30T10:00:00.250Z info blink-aggregator: round ... is open
//   json     {"time":"2026-11-30T10:00:00.250Z","level":"info","program":"blink-aggregator","message":"round ..."}
//   journal  <6>round ... is open            for the journal of systemd, which adds time and program itself
//
// Nothing private may be logged: no list, degree, bit, noise or key, and nothing computed from them before the
// mechanism has privatised it.
#ifndef BLINK_COMMON_BASE_LOGGING_H_
#define BLINK_COMMON_BASE_LOGGING_H_

#include <string>

#include "absl/status/status.h"
#include "spdlog/spdlog.h"

namespace blink {

struct LogOptions {
  std::string level = "info";   // "debug", "info", "warning" or "error"
  std::string format = "auto";  // "text", "json" or "journal"; "auto": journal where standard error leads there
  std::string file;             // empty: standard error
};

// Sets up the log. Call it once, before anything is logged. INVALID_ARGUMENT: no such level or format. An error of
// FileError: the file cannot be opened.
absl::Status InitLogging(const std::string& program, const LogOptions& options);
// On standard error, as text.
absl::Status InitLogging(const std::string& program, const std::string& level);

// Opens the log's file again, which somebody has moved away. It also looks by itself, once a second while it writes.
// Where that fails, it goes on with the file that it has. Without a file it does nothing.
void ReopenLogFile();

// Logs more (`more` > 0) or less, a level at a time, between debug and error. Returns the name of the level.
std::string ChangeLogLevel(int more);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_LOGGING_H_
