// The statements about keys of rounds, and about the deletion of reports.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_KEYS_H_
#define BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_KEYS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "aggregator_server/store/postgres_session.h"

namespace blink {

std::map<std::string, std::string> ListKeysIn(pqxx::connection& connection);
std::string GetKeyIn(pqxx::connection& connection, const std::string& round_id);  // empty: there is none
// As ReportStore::ReplaceWrappedKey. Where `after` is there already, an earlier try was committed.
absl::Status ReplaceKeyIn(pqxx::connection& connection, const std::string& round_id, const std::string& before,
                          const std::string& after);

// Deletes the key of a round that has ended, then what its next reports say: those of the nodes after `after`, a page
// of them. Sets `after` to the last one; nullopt: that were all.
absl::Status DeletePageIn(pqxx::connection& connection, const std::string& round_id, std::optional<int64_t>& after);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_KEYS_H_
