// What is in a store, for people who ask before a start. Nothing is changed, made or brought to another version, and
// no lock is taken. The errors are those with which a start refuses the store.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_STORE_LOOK_H_
#define BLINK_AGGREGATOR_SERVER_STORE_STORE_LOOK_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/store/postgres_target.h"
#include "blink/v1/operator.pb.h"

namespace blink {

struct RocksDbLook {
  std::vector<v1::Round> rounds;
  std::map<std::string, std::string> wrapped_keys;  // of these rounds, as far as they are encrypted and it is needed
};
// What the store in `folder` has. NOT_FOUND: there is none. Otherwise as OpenRocksDbStore. An aggregator that starts
// meanwhile may remove files that are being read: then the error is one of the moment.
absl::StatusOr<RocksDbLook> LookAtRocksDbStore(const std::string& folder);

struct PostgresLook {
  std::string server;                               // its version, as it says itself
  size_t version = 0;                               // of blink's tables; 0: they are not made yet
  size_t version_here = 0;                          // that this program makes
  std::string holder;                               // of the lease that is in force; empty: nobody has it
  std::map<std::string, std::string> wrapped_keys;  // as RocksDbLook's, where the tables are of this version
};
// As OpenPostgresStore, whose other errors it has too.
absl::StatusOr<PostgresLook> LookAtPostgresStore(const PostgresTarget& target);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_STORE_LOOK_H_
