// What an aggregator must never forget: the rounds and the reports that were acknowledged.
//
//   ingest ---- PutReport --->|              every report, in the order of arrival, by one committer thread:
//   rounds ---- UpdateRound ->|  [ queue ] ->  check, gather into one batch, write + fsync, then call back
//   service --- Get, List --->|              (readers never wait for a write)
//
// There are two: RocksDB, embedded in one aggregator (rocksdb_store.h), and PostgreSQL, which several aggregators share
// (postgres_store.h). The same tests hold for both (tests/unit/store/store_conformance_test.cc).
//
// Every implementation guarantees:
//  - A callback or a return with OK means that the change is on the disk. A crash of the process or of the machine
//    loses nothing that was acknowledged. After an error, nothing of the operation was acknowledged.
//  - Changes have one order. An acknowledged report came before the seal of its round. So whoever reads the reports
//    after UpdateRound has sealed the round sees every report that was, or ever will be, acknowledged for it.
//  - A node has one report a round. The same digest again gets the stored receipt, unchanged. Another digest is
//    refused, and the first is kept.
// All methods may be called from any thread. Errors: NOT_FOUND (no such round), RESOURCE_EXHAUSTED (disk full),
// DATA_LOSS (damaged), UNAVAILABLE (being closed, or a database that cannot be reached now: try again).
#ifndef BLINK_AGGREGATOR_SERVER_STORE_REPORT_STORE_H_
#define BLINK_AGGREGATOR_SERVER_STORE_REPORT_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "blink/v1/operator.pb.h"
#include "common/base/digest.h"
#include "common/base/sealed.h"
#include "common/base/tally.h"
#include "common/wire/report_codec.h"

namespace blink {

// A report that Ingest has checked.
struct CheckedReport {
  std::string round_id;
  uint64_t node = 0;
  int64_t received_minute = 0;  // minutes since the Unix epoch
  CodedReport report;
  bool implausible = false;  // counted in Round.flagged; nothing that a node sees depends on it
};

struct PutOutcome {
  v1::Receipt receipt;
  bool fresh = false;    // false: it was held already
  uint32_t reports = 0;  // durable reports of the round now
};

// What a store has done since it was opened, for metrics.
struct StoreActivity {
  uint64_t queued = 0;          // changes that wait for the committer
  uint64_t failed_writes = 0;   // batches and changes of rounds that could not be made durable
  Tally::Counts write_seconds;  // of each write, with its fsync
  Tally::Counts batch_seconds;  // of each batch: from the arrival of its first report until all are answered
  Tally::Counts batch_reports;  // fresh reports that shared one write
};

// What a look at the rounds finds, for metrics.
struct RoundsSeen {
  std::map<v1::RoundState, uint64_t> by_state;  // how many are in each state
  std::vector<v1::Round> open;                  // as ReportStore::ListOpenRounds
};

class ReportStore {
 public:
  using PutCallback = std::function<void(absl::StatusOr<PutOutcome>)>;

  virtual ~ReportStore() = default;

  // Stores a new round, with the coded groups that it asks about (common/wire/groups_codec.h; empty: about none). If
  // `request_id` has already made a round, returns that round, whatever it is, and stores nothing. ALREADY_EXISTS: the
  // round id is taken.
  virtual absl::StatusOr<v1::Round> CreateRound(const v1::Round& round, const std::string& request_id,
                                                const std::string& groups) = 0;
  absl::StatusOr<v1::Round> CreateRound(const v1::Round& round, const std::string& request_id) {
    return CreateRound(round, request_id, /*groups=*/"");
  }
  // The round that this request id has made; nullopt: none.
  virtual absl::StatusOr<std::optional<v1::Round>> FindRequest(const std::string& request_id) = 0;
  // The bytes of a round's groups from kGroupsPartBytes * part on, kGroupsPartBytes or the rest. NOT_FOUND: it has no
  // such part.
  virtual absl::StatusOr<std::string> GetGroupsPart(const std::string& round_id, uint32_t part) = 0;
  // All of them. NOT_FOUND: it asks about none.
  absl::StatusOr<std::string> GetGroups(const v1::Round& round);

  // Round.reports is the number of durable reports now, Round.flagged the number of implausible ones among them.
  virtual absl::StatusOr<v1::Round> GetRound(const std::string& round_id) = 0;
  // The same, but up to a second old where other processes may change it. For checks that PutReport repeats.
  virtual absl::StatusOr<v1::Round> GetRecentRound(const std::string& round_id) { return GetRound(round_id); }
  virtual absl::StatusOr<std::vector<v1::Round>> ListRounds() = 0;  // oldest first
  // Those that have not ended, oldest first.
  virtual absl::StatusOr<std::vector<v1::Round>> ListUnfinishedRounds();
  // Oldest first. Nodes ask for these often: the cost does not grow with the number of past rounds.
  virtual absl::StatusOr<std::vector<v1::Round>> ListOpenRounds() = 0;

  // Applies `change` to the round, at its turn in the order, and makes the result durable. FAILED_PRECONDITION: the
  // state is none of `expected`; the message names it. An error of `change` is returned as it is. `change` runs while
  // reports wait, perhaps on another thread and perhaps twice: it must be quick and must not call the store. round_id,
  // reports and flagged cannot be changed.
  virtual absl::StatusOr<v1::Round> UpdateRound(const std::string& round_id,
                                                const std::vector<v1::RoundState>& expected,
                                                const std::function<absl::Status(v1::Round&)>& change) = 0;

  // Of the aggregators that share a store, the holder of the lease seals rounds by themselves and runs them. This is
  // the token of its lease; nullopt: another one holds it, or it may soon. An embedded store always has it. Cheap.
  virtual std::optional<uint64_t> GetLease() { return 0; }
  // As UpdateRound. ABORTED: `lease` is not the token of the lease any more, whatever GetLease said.
  virtual absl::StatusOr<v1::Round> UpdateRoundAsHolder(uint64_t lease, const std::string& round_id,
                                                        const std::vector<v1::RoundState>& expected,
                                                        const std::function<absl::Status(v1::Round&)>& change) {
    return UpdateRound(round_id, expected, change);
  }
  // Whether other processes may change it too.
  virtual bool IsShared() const { return false; }
  // Tells the others how far the holder's worker has come. Not durable; a failure does no harm.
  virtual void TellProgress(const std::string& round_id, double fraction, const std::string& text) {}
  // A note that all who share the store see: the value of `name`, which becomes `value` if there is none.
  virtual absl::StatusOr<std::string> GetOrSetNote(const std::string& name, const std::string& value) { return value; }

  // ALREADY_EXISTS: the node's report of this round is another one. FAILED_PRECONDITION: the round is not open and this
  // report is not the one held. `done` runs once, on the committer thread or on the caller's: it must be quick.
  virtual void PutReport(CheckedReport report, PutCallback done) = 0;
  // The same, waiting.
  absl::StatusOr<PutOutcome> PutReportAndWait(CheckedReport report);

  // nullopt: none is held.
  virtual absl::StatusOr<std::optional<Digest>> GetDigest(const std::string& round_id, uint64_t node) = 0;
  // Calls `visit` for at most `limit` nodes of [first, last] that have a report, ascending; a failed visit ends it.
  virtual absl::Status VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                                    const std::function<absl::Status(uint64_t node, const Digest& digest)>& visit) = 0;
  // Whether a report could be stored now. RESOURCE_EXHAUSTED: the disk is full. Otherwise why the last write failed. It
  // writes nothing, and gives a database that does not answer up within a few seconds.
  virtual absl::Status CheckCanStore() = 0;
  // Within a few seconds, too. The cost does not grow with what a round holds.
  virtual absl::StatusOr<RoundsSeen> LookAtRounds();
  virtual StoreActivity GetActivity() { return {}; }
  // Copies the store as of its turn in the order of changes to `folder`, which must not exist; OpenRocksDbStore opens
  // it. It takes little room while both are on one disk. UNIMPLEMENTED: the store has backups of its own.
  virtual absl::Status MakeSnapshot(const std::string& folder);
  // All reports of a round as of now, ascending nodes. DATA_LOSS when one is damaged. FAILED_PRECONDITION: they were
  // deleted.
  virtual absl::Status VisitReports(
      const std::string& round_id,
      const std::function<absl::Status(uint64_t node, const CodedReport& report)>& visit) = 0;

  // The key that a round's reports are encrypted with; nullopt: they are not. Errors as of encrypted_store.h.
  virtual absl::StatusOr<std::optional<SecretKey>> GetDataKey(const std::string& /*round_id*/) { return std::nullopt; }
  // What encrypted_store.h keeps here: the encrypted data keys, by round. There may be keys of rounds that were never
  // stored.
  virtual absl::StatusOr<std::map<std::string, std::string>> ListWrappedKeys();
  virtual absl::StatusOr<std::string> GetWrappedKey(const std::string& round_id);  // empty: there is none
  // Puts `after` in the place of `before`; either may be empty, for none. ABORTED: another one is there.
  virtual absl::Status ReplaceWrappedKey(const std::string& round_id, const std::string& before,
                                         const std::string& after);
  // After keys were replaced: leaves no replaced one in the store's own files.
  virtual absl::Status ForgetReplacedKeys() { return absl::OkStatus(); }
  // Deletes what the reports of a round say, and its key. Digests, receipts and counts stay. The round must have ended.
  // It may take minutes, and may be repeated after an error or a crash.
  virtual absl::Status DeleteReports(const std::string& round_id);
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_REPORT_STORE_H_
