// The ways in which every blink program ends; the table of docs/PROTOCOL.md and of --help.
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
  kAuditViolation = 10,  // an audit found that a build does not keep its promise
  kInterrupted = 130,    // SIGINT; as a shell reports it, where the program leaves its end to the signal
  kTerminated = 143,     // SIGTERM, likewise
};

// The code for a status that says nothing more specific: INVALID_ARGUMENT, NOT_FOUND and OUT_OF_RANGE are bad input,
// UNAVAILABLE and DEADLINE_EXCEEDED unreachable, RESOURCE_EXHAUSTED no resources, CANCELLED interrupted, DATA_LOSS
// journal, PERMISSION_DENIED, UNAUTHENTICATED and ALREADY_EXISTS refused by the peer, the rest internal. A FileError
// (durable_file.h) of missing rights or a read-only file system is bad input: no peer was asked.
ExitCode ExitCodeFor(const absl::Status& status);

// The table, one line a code, for --help.
std::string ExitCodeTable();

}  // namespace blink

#endif  // BLINK_COMMON_BASE_EXIT_CODE_H_
