#include "common/base/exit_code.h"

#include "common/base/durable_file.h"

namespace blink {

ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kOutOfRange:
    // files that do not fit together, a clock that is wrong; callers of a peer say otherwise
    case absl::StatusCode::kFailedPrecondition:
      return ExitCode::kBadInput;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kUnreachable;
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kNoResources;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    case absl::StatusCode::kDataLoss:
      return ExitCode::kJournal;
    case absl::StatusCode::kPermissionDenied:
      return IsFileError(status) ? ExitCode::kBadInput : ExitCode::kRefusedByPeer;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kAlreadyExists:
      return ExitCode::kRefusedByPeer;
    default:
      return ExitCode::kInternal;
  }
}

std::string ExitCodeTable() {
  return "Exit codes:\n"
         "    0  done\n"
         "    1  internal error\n"
         "    2  wrong flags\n"
         "    3  a file, kit, attribute folder or data set is malformed, missing, or may not be read or written\n"
         "    4  the node's policy or ledger refuses the round or the deployment\n"
         "    5  the journal is missing, damaged, outdated, of another node, or held by another process; a\n"
         "       stored file is damaged\n"
         "    6  no answer from the aggregator within the time allowed\n"
         "    7  the aggregator refuses (identity, another report held, round not open or unknown)\n"
         "    8  the round failed or was cancelled\n"
         "    9  out of a resource (disk full, file too large, memory, open files)\n"
         "   10  an audit found a violation: this build does not keep its promise, or a log was changed\n"
         "  130  interrupted by SIGINT\n"
         "  143  ended by SIGTERM\n";
}

}  // namespace blink
