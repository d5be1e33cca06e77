// The exit codes of every blink program. docs/PROTOCOL.md and --help show the same table.
#ifndef BLINK_COMMON_BASE_EXIT_CODE_H_
#define BLINK_COMMON_BASE_EXIT_CODE_H_

#include <string>

#include "absl/status/status.h"

namespace blink {

enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,         // a defect, or an error of the system that has no code of its own
  kUsage = 2,            // wrong flags
  kBadInput = 3,         // a file, kit, attribute folder or data set: malformed, missing, not to be read or written
  kRefusedByPolicy = 4,  // the node's policy or ledger refuses the round or the deployment
  kJournal = 5,          // the journal is missing, damaged, outdated, of another node, or held by another process
  kUnreachable = 6,      // no answer from the aggregator within the time allowed
  kRefusedByPeer = 7,    // the aggregator refuses: identity, another report held, no such round, or not open
  kRoundFailed = 8,      // the round failed or was cancelled
  kNoResources = 9,      // disk full, a file larger than its limit, out of memory, too many open files
  kAuditViolation = 10,  // an audit found that a build does not keep its promise, or that a log was changed
  kInterrupted = 130,    // SIGINT; as a shell reports it, where the program leaves its end to the signal
  kTerminated = 143,     // SIGTERM, likewise
};

// The exit code for a status, where the caller knows nothing more specific:
//   kBadInput       INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE, FAILED_PRECONDITION
//   kUnreachable    UNAVAILABLE, DEADLINE_EXCEEDED
//   kNoResources    RESOURCE_EXHAUSTED
//   kInterrupted    CANCELLED
//   kJournal        DATA_LOSS
//   kRefusedByPeer  PERMISSION_DENIED, UNAUTHENTICATED, ALREADY_EXISTS
//   kInternal       the rest
// Exception: a PERMISSION_DENIED of a file (IsFileError in durable_file.h) is kBadInput, since no peer was asked.
ExitCode ExitCodeFor(const absl::Status& status);

// The table for --help, with one line for each code.
std::string ExitCodeTable();

}  // namespace blink

#endif  // BLINK_COMMON_BASE_EXIT_CODE_H_
