// The lines of an audit log, each of which holds the hash of the one before it. Whoever changes, removes or inserts a
// line has to change all that follow, and the hash of the last line, which others may know.
//
//   {"number":7,"time":"2026-11-30T10:00:00.250Z","event":"answered","who":"operator/ann",
//    "peer":"ipv4:192.0.2.7:40112","action":"seal","round":"10b3055a...","detail":"","outcome":"OK",
//    "previous":"<hash of line 6>","hash":"<its own>"}
//
// It is one line in the file, and these members in this order. `hash` is the SHA-256 of the bytes of the line before
// `,"hash"`; `previous` of the first line is 64 zeros.
#ifndef BLINK_AGGREGATOR_SERVER_AUDIT_LOG_AUDIT_CHAIN_H_
#define BLINK_AGGREGATOR_SERVER_AUDIT_LOG_AUDIT_CHAIN_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace blink {

inline constexpr size_t kAuditTextMax = 1000;  // bytes of each member; the rest is left out

struct AuditRecord {
  // "asked": an operator wants it, and it is done next; "answered": what became of it; "refused": by the certificate or
  // its role, which is all that follows; "noted": the aggregator itself.
  std::string event;
  std::string who;     // "operator/ann"; "aggregator"
  std::string peer;    // where the call came from
  std::string action;  // "create", "seal", ...
  std::string round_id;
  std::string detail;
  std::string outcome;  // "OK", or the error
};

// Where a chain stands.
struct AuditChain {
  uint64_t records = 0;
  std::string head = std::string(64, '0');  // hash of the last line

  // The next line, with its '\n'; the chain is then behind it.
  std::string Extend(const AuditRecord& record, absl::Time now);
  // The next line, without its '\n'. DATA_LOSS, and the chain stays as it is: it does not follow from those before it.
  absl::Status Check(absl::string_view line);
};

struct AuditLogSummary {
  AuditChain chain;
  uint64_t bytes = 0;             // of the lines that are whole
  uint64_t torn_bytes = 0;        // after them: a line that a crash cut off
  std::optional<uint64_t> found;  // the number of the record that has the wanted hash
};

// Reads a whole log. NOT_FOUND: there is no such file. DATA_LOSS naming the line that does not follow. `wanted` is the
// hash of a line, as it was noted elsewhere; empty: none is looked for.
absl::StatusOr<AuditLogSummary> ReadAuditLog(const std::string& path, absl::string_view wanted = "");

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_AUDIT_LOG_AUDIT_CHAIN_H_
