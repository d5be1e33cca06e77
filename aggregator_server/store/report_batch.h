// The reports that share one fsync. Each is compared with what is held, gathered, and answered when all are on the
// disk.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_REPORT_BATCH_H_
#define BLINK_AGGREGATOR_SERVER_STORE_REPORT_BATCH_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/store/records.h"
#include "aggregator_server/store/report_store.h"
#include "aggregator_server/store/synced_db.h"
#include "common/privacy/bit_row.h"

namespace blink {

// A round and the nodes that are known to have reported, as they are on the disk. Changed by the committer alone.
struct RoundEntry {
  v1::Round round;
  BitRow reported;  // [n]
  uint32_t reports = 0;
  uint32_t flagged = 0;

  v1::Round MakeSnapshot() const;  // the round, with its counts
};

absl::StatusOr<records::DigestRecord> ReadDigest(SyncedDb& db, const std::string& key);

//   ReportBatch batch(db);
//   batch.Add(entry, report, done);  // as often as there are reports; those that need no write are answered at once
//   status = db.Write(batch.writes(), "...");
//   batch.CountReports();            // when it succeeded, under the lock of the rounds
//   batch.Answer(status);            // the batch is empty again
// For the committer's thread. Entries stay where they are until Answer.
class ReportBatch {
 public:
  explicit ReportBatch(SyncedDb& db) : db_(&db) {}

  // As ReportStore::PutReport, for a round that exists. INVALID_ARGUMENT: the round has no such node.
  void Add(RoundEntry& entry, CheckedReport report, ReportStore::PutCallback done);

  bool empty() const { return fresh_.empty(); }
  size_t fresh() const { return fresh_.size(); }
  uint64_t bytes() const { return writes_.GetDataSize(); }
  rocksdb::WriteBatch& writes() { return writes_; }

  void CountReports();
  void Answer(const absl::Status& written);

 private:
  // A report whose callback runs after the write.
  struct Gathered {
    RoundEntry* entry = nullptr;
    uint64_t node = 0;
    bool implausible = false;
    PutOutcome outcome;
    ReportStore::PutCallback done;
  };

  // The answer to a node that has reported before the batch.
  absl::StatusOr<PutOutcome> AnswerFromHeld(const RoundEntry& entry, const CheckedReport& report,
                                            const std::string& key) const;

  SyncedDb* db_;
  rocksdb::WriteBatch writes_;
  std::vector<Gathered> fresh_;
  std::vector<Gathered> again_;  // the same report a second time within the batch: answered with the first
  std::unordered_map<std::string, size_t> fresh_of_key_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_REPORT_BATCH_H_
