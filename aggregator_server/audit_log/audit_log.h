// What operators did, and tried to do: a file to which lines are only ever added (audit_chain.h says what they are).
//
//   log->RecordAround({.who = "operator/ann", .action = "seal", ...}, [&](AuditRecord&) { ... the act ... });
//
//   writes "asked", does the act, writes "answered" with its outcome.
//
// An act whose record cannot be written is refused before it is done. May be used from any thread.
#ifndef BLINK_AGGREGATOR_SERVER_AUDIT_LOG_AUDIT_LOG_H_
#define BLINK_AGGREGATOR_SERVER_AUDIT_LOG_AUDIT_LOG_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/audit_log/audit_chain.h"
#include "common/base/clock.h"

namespace blink {

// Since the log was opened, for metrics.
struct AuditLogActivity {
  uint64_t records = 0;                    // written
  uint64_t bytes = 0;                      // the size of the file
  uint64_t failed_writes = 0;              // records that could not be written or synced
  std::optional<absl::Time> last_failure;  // of those
};

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

  // Writes `record` as "asked", does `act`, and writes it as "answered" with the outcome, which is returned. `act` may
  // add to the record what shows only then, such as the id of a new round. Nothing is done where "asked" cannot be
  // written.
  absl::Status RecordAround(AuditRecord record, const std::function<absl::Status(AuditRecord&)>& act);

  // A call that was not allowed. Of one operator or node, action and kind of refusal the first is written at once.
  // Those after it are counted, and told in one record a minute later, or at the end. Beyond kKindsMax of them all
  // peers count as one: nobody can fill the disk.
  void Refuse(AuditRecord record, const absl::Status& why);

  // Writes the counts that are due. Once a second.
  void Look();

  AuditChain chain();
  AuditLogActivity GetActivity() const;  // waits for no write

 private:
  struct Kind {
    absl::Time since;  // the last record
    AuditRecord last;
    uint64_t left_out = 0;
  };

  AuditLog(std::string path, int fd, AuditLogSummary summary, Clock& clock)
      : path_(std::move(path)),
        fd_(fd),
        bytes_(summary.bytes),
        chain_(std::move(summary.chain)),
        size_(summary.bytes),
        clock_(clock) {}

  absl::Status AppendLocked(const AuditRecord& record);
  absl::Status WriteLocked(const AuditRecord& record);
  void WriteLeftOutLocked(Kind& kind);
  void ForgetQuietLocked(absl::Time now);

  const std::string path_;
  const int fd_;
  std::mutex mutex_;
  uint64_t bytes_;
  AuditChain chain_;
  absl::Status broken_;  // half a line could not be taken off again
  std::map<std::tuple<std::string, std::string, absl::StatusCode>, Kind> refused_;  // who, action, code
  std::atomic<uint64_t> records_{0}, size_, failed_writes_{0};
  std::atomic<int64_t> last_failure_ms_{0};
  Clock& clock_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_AUDIT_LOG_AUDIT_LOG_H_
