// ReportStore in a PostgreSQL database (15 or later), which several aggregators may share.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_STORE_H_
#define BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_STORE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "aggregator_server/store/postgres_target.h"
#include "aggregator_server/store/report_store.h"

namespace blink {

struct PostgresOptions {
  std::string holder;                                // this aggregator's name in the lease; empty: HOST:PID
  uint64_t batch_bytes_max = 4 << 20;                // reports that share one commit
  absl::Duration statement_max = absl::Seconds(15);  // the server ends a statement that takes longer
  absl::Duration lock_max = absl::Seconds(5);        // and one that waits for a lock of somebody else for so long
  absl::Duration call_max = absl::Seconds(30);       // this end gives a connection up that is silent for so long
  absl::Duration patience = absl::Seconds(10);       // a batch is tried so long before its reports are refused
  absl::Duration lease = absl::Seconds(10);          // a holder of the rounds that is silent for so long has lost them
};

// Opens the store in the schema `blink` of the database, or makes it there. UNAVAILABLE: the server cannot be reached,
// lets nobody in or only reads. FAILED_PRECONDITION: a newer blink has been there, the migrations are not those of this
// program, or the user may not make the schema; the database stays as it is. Memory: the reports that wait.
//
//   PutReport ---> [ queue ] -> committer:  lock the rounds of the batch, shared       -+
//                                           insert what is not there, add to the counts  | one transaction,
//                                           read what is held instead                    | synchronous_commit = on
//                                           commit, then call back                      -+
//   UpdateRound, CreateRound: a connection of the pool, lock the round alone, change, commit
//
// The locks are advisory ones on the round's id, which the server hands out in the order of arrival. So the seal waits
// for the batches in flight on all aggregators, no batch overtakes a seal that waits, and a later batch sees the seal.
//
// A connection that is lost before the answer to a COMMIT leaves the outcome unknown. A batch is then tried again,
// which changes nothing that is there, and an update finds its own mark in the round. Nobody is answered before that.
absl::StatusOr<std::unique_ptr<ReportStore>> OpenPostgresStore(const PostgresTarget& target,
                                                               PostgresOptions options = {});

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_STORE_H_
