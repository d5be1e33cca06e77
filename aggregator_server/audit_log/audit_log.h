// What operators did, and tried to do: a file to which lines are only ever added (audit_chain.h says what they are).
//
//   BLINK_RETURN_IF_ERROR(log->Append({.event = "asked", .who = "operator/ann", .action = "seal", ...}));
//   ... the act ...
//   log->Append({.event = "answered", ..., .outcome = "OK"});
//
// An act whose record cannot be written is refused before it is done. May be used from any thread.
#ifndef BLINK_AGGREGATOR_SERVER_AUDIT_LOG_AUDIT_LOG_H_
#define BLINK_AGGREGATOR_SERVER_AUDIT_LOG_AUDIT_LOG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/audit_log/audit_chain.h"
#include "common/base/clock.h"

namespace blink {

class AuditLog {
 public:
  static constexpr absl::Duration kQuiet = absl::Minutes(1);
  static constexpr size_t kKindsMax = 50;

  // Makes the file (mode 0600) or goes on with it. A line that a crash cut off, which nobody was told of, is taken off
  // and noted. DATA_LOSS: its records do not follow from each other; the remedy is in the message. ABORTED: another
  // process has it open. `clock` outlives this.
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(const std::string& path, Clock& clock);
  ~AuditLog();  // writes what Refuse has counted
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  // OK: the record is on the disk. Otherwise it is not in the log, and never will be. Errors are those of
  // durable_file.h.
  absl::Status Append(const AuditRecord& record);

  // A call that was not allowed. Of one operator or node, action and kind of refusal the first is written at once.
  // Those after it are counted, and told in one record a minute later, or at the end. Beyond kKindsMax of them all
  // peers count as one: nobody can fill the disk.
  void Refuse(AuditRecord record, const absl::Status& why);

  // Writes the counts that are due. Once a second.
  void Look();

  AuditChain chain();

 private:
  struct Kind {
    absl::Time since;  // the last record
    AuditRecord last;
    uint64_t left_out = 0;
  };

  AuditLog(std::string path, int fd, AuditLogSummary summary, Clock& clock)
      : path_(std::move(path)), fd_(fd), bytes_(summary.bytes), chain_(std::move(summary.chain)), clock_(clock) {}

  absl::Status AppendLocked(const AuditRecord& record);
  void WriteLeftOutLocked(Kind& kind);
  void ForgetQuietLocked(absl::Time now);

  const std::string path_;
  const int fd_;
  std::mutex mutex_;
  uint64_t bytes_;
  AuditChain chain_;
  absl::Status broken_;  // half a line could not be taken off again
  std::map<std::tuple<std::string, std::string, absl::StatusCode>, Kind> refused_;  // who, action, code
  Clock& clock_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_AUDIT_LOG_AUDIT_LOG_H_
