// The reports that share one commit in PostgreSQL.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_BATCH_H_
#define BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_BATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "aggregator_server/store/postgres_session.h"
#include "aggregator_server/store/report_store.h"

namespace blink {

// The advisory lock of a round: batches take it shared, changes of the round alone.
int64_t RoundLock(const std::string& round_id);

//   PostgresBatch batch(writer);
//   batch.Add(report, done);                             // as often as there are reports
//   do outcome = session.Run(.., batch.StoreIn); while (outcome.may_retry ..)
//   batch.Answer(outcome.status);
// `writer` names the row of counts that no other writer changes.
class PostgresBatch {
 public:
  explicit PostgresBatch(std::string writer) : writer_(std::move(writer)) {}

  void Add(CheckedReport report, ReportStore::PutCallback done);
  bool empty() const { return entries_.empty(); }
  uint64_t bytes() const { return bytes_; }
  size_t size() const { return entries_.size(); }
  size_t fresh() const;  // after StoreIn

  // One transaction. May be called again after it failed; `is_unknown`: the last time may have committed.
  absl::Status StoreIn(pqxx::connection& connection, bool is_unknown);
  void Answer(const absl::Status& stored);

 private:
  struct Held {
    std::string digest;
    int64_t received_minute = 0;
  };
  using Key = std::pair<int64_t, uint64_t>;  // round (seq) and node
  struct OfRound {
    int64_t seq = 0;
    uint64_t nodes = 0;
    v1::RoundState state = v1::ROUND_STATE_UNSPECIFIED;
    uint32_t reports = 0;  // now
  };
  struct Entry {
    CheckedReport report;
    ReportStore::PutCallback done;
    const OfRound* round = nullptr;  // there is such a round
    bool is_first = false;           // of its key in this batch, and the round is open
    bool was_sent = false;           // in a transaction of which it is not known whether it was committed
    bool is_inserted = false;        // by the last StoreIn
    bool is_fresh = false;           // by any
  };

  void ReadRounds(pqxx::work& transaction);
  void Insert(pqxx::work& transaction);
  void ReadHeld(pqxx::work& transaction);
  void Count(pqxx::work& transaction, bool is_unknown);
  absl::StatusOr<PutOutcome> OutcomeOf(const Entry& entry) const;

  std::string writer_;
  uint64_t bytes_ = 0;
  std::vector<Entry> entries_;  // in StoreIn ascending by round and node, so that two batches never wait in a circle
  std::map<std::string, OfRound> rounds_;
  std::map<Key, Held> held_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_BATCH_H_
