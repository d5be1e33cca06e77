#include "tools/command_line.h"

#include <cstdio>
#include <string>

#include "common/cli/terminal.h"

namespace blink {

int Finish(const absl::Status& status, ExitCode for_failed_precondition) {
  if (!status.ok()) std::fprintf(stderr, "blink: %s\n", ShownText(status.message()).c_str());
  return static_cast<int>(absl::IsFailedPrecondition(status) ? for_failed_precondition : ExitCodeFor(status));
}

int FinishWrongFlags(const absl::Status& status) {
  std::fprintf(stderr, "blink: %s\nRun with --help for the options.\n", ShownText(status.message()).c_str());
  return static_cast<int>(ExitCode::kUsage);
}

}  // namespace blink
