// The flags of a program's log: --log-level, --log-format and --log-file.
#ifndef BLINK_COMMON_CLI_LOG_FLAGS_H_
#define BLINK_COMMON_CLI_LOG_FLAGS_H_

#include "CLI/CLI.hpp"
#include "common/base/logging.h"
#include "common/cli/suggestion.h"

namespace blink {

// `options` outlives the parsing.
inline void AddLogFlags(CLI::App* app, LogOptions& options) {
  app->add_option("--log-level", options.level, "debug, info, warning or error")
      ->transform(OneOf({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app->add_option("--log-format", options.format,
                  "text, json (one object a line) or journal (with priorities, for systemd); auto: journal where "
                  "standard error leads there, otherwise text")
      ->transform(OneOf({"auto", "text", "json", "journal"}))
      ->capture_default_str();
  app->add_option("--log-file", options.file,
                  "file instead of standard error; when it was moved away, a new one is made under its name");
}

}  // namespace blink

#endif  // BLINK_COMMON_CLI_LOG_FLAGS_H_
