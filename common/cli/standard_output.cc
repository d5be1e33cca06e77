#include "common/cli/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "common/base/durable_file.h"
#include "common/base/exit_code.h"

namespace blink {

absl::Status FlushStandardOutput() {
  const bool failed_before = std::ferror(stdout) != 0;
  int error = std::fflush(stdout) == 0 ? 0 : errno;
  if (error == 0 && failed_before) {
    // An earlier write failed and stdio did not keep why: ask again with a byte more, on output that is broken as it
    // is.
    std::clearerr(stdout);
    error = std::fputc('\n', stdout) == EOF || std::fflush(stdout) != 0 ? errno : ENOSPC;
  }
  // Network file systems tell of a full disk at the close alone. A closed standard output that nothing was printed to
  // is fine.
  if (error == 0) {
    const int copy = ::dup(STDOUT_FILENO);
    if (copy >= 0 && ::close(copy) != 0) error = errno;
  }
  if (error == EPIPE) return absl::CancelledError("nobody reads standard output any more");
  return error == 0 ? absl::OkStatus() : FileError(error, "write", "standard output");
}

bool ReaderHasGone(const absl::Status& written) { return absl::IsCancelled(written); }

int EndProgram(const char* program, int exit_code) {
  const absl::Status written = FlushStandardOutput();
  if (written.ok() || ReaderHasGone(written)) return exit_code;
  std::fprintf(stderr, "%s: %s\n", program, std::string(written.message()).c_str());
  return exit_code == 0 ? static_cast<int>(ExitCodeFor(written)) : exit_code;
}

}  // namespace blink
