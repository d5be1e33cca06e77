#include "aggregator_server/store/store_look.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/store/encrypted_store.h"
#include "aggregator_server/store/postgres_migrations.h"
#include "aggregator_server/store/postgres_rounds.h"
#include "aggregator_server/store/postgres_session.h"
#include "aggregator_server/store/records.h"
#include "aggregator_server/store/synced_db.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

// The keys that a start would ask for: of rounds that have reports, or may get some. `key_of` knows them all.
std::map<std::string, std::string> NeededKeys(
    const std::vector<v1::Round>& rounds,
    const std::function<std::optional<std::string>(const std::string& round_id)>& key_of) {
  std::map<std::string, std::string> needed;
  for (const v1::Round& round : rounds) {
    if (!MayHaveReports(round)) continue;
    if (std::optional<std::string> wrapped = key_of(round.round_id())) needed[round.round_id()] = *std::move(wrapped);
  }
  return needed;
}

absl::Status ReadPostgres(pqxx::connection& connection, PostgresLook& look) {
  pqxx::read_transaction transaction(connection);
  look.server = transaction.exec1("SHOW server_version")[0].as<std::string>();
  BLINK_ASSIGN_OR_RETURN(look.version, ReadTablesVersion(transaction, PostgresMigrations()));
  if (look.version < look.version_here) return absl::OkStatus();
  const pqxx::result lease = transaction.exec("SELECT holder FROM blink.lease WHERE expires > clock_timestamp()");
  if (!lease.empty()) look.holder = lease[0][0].as<std::string>();
  std::map<std::string, std::string> keys;
  for (const pqxx::row& row : transaction.exec("SELECT round_id, wrapped FROM blink.round_keys")) {
    keys[row[0].as<std::string>()] = pqxx::binarystring(row[1]).str();
  }
  if (keys.empty()) return absl::OkStatus();
  BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, ReadRounds(transaction, kAllRounds));
  look.wrapped_keys = NeededKeys(rounds, [&keys](const std::string& round_id) -> std::optional<std::string> {
    const auto key = keys.find(round_id);
    if (key == keys.end()) return std::nullopt;
    return key->second;
  });
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RocksDbLook> LookAtRocksDbStore(const std::string& folder) {
  if (std::error_code error; !std::filesystem::exists(folder, error)) {
    return absl::NotFoundError(absl::StrCat(folder, " does not exist"));
  }
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<rocksdb::DB> db, OpenToLook(folder));
  std::string format;
  const rocksdb::Status found = db->Get(rocksdb::ReadOptions(), records::kFormatKey, &format);
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(rocksdb::ReadOptions()));
  RocksDbLook look;
  if (found.IsNotFound()) {  // a start that was cut short, or no store of ours
    it->SeekToFirst();
    if (it->Valid()) return absl::DataLossError(records::kNoFormat);
    return look;
  }
  BLINK_RETURN_IF_ERROR(FromRocksDb(found, "read the store's format"));
  BLINK_RETURN_IF_ERROR(records::CheckFormat(format));
  for (it->Seek(records::kRoundPrefix); it->Valid() && it->key().starts_with(records::kRoundPrefix); it->Next()) {
    v1::Round& round = look.rounds.emplace_back();
    if (!round.ParseFromArray(it->value().data(), static_cast<int>(it->value().size()))) {
      return absl::DataLossError(absl::StrCat("the store's entry ", it->key().ToString(), " cannot be read"));
    }
  }
  BLINK_RETURN_IF_ERROR(FromRocksDb(it->status(), "list the rounds"));
  look.wrapped_keys = NeededKeys(look.rounds, [&db](const std::string& round_id) -> std::optional<std::string> {
    std::string wrapped;
    if (!db->Get(rocksdb::ReadOptions(), records::WrappedKeyKey(round_id), &wrapped).ok()) return std::nullopt;
    return wrapped;
  });
  return look;
}

absl::StatusOr<PostgresLook> LookAtPostgresStore(const PostgresTarget& target) {
  const PostgresOptions options;
  PostgresWatchdog watchdog;
  PostgresSession session(target, options, watchdog);
  PostgresLook look;
  look.version_here = PostgresMigrations().size();
  const absl::Status ready = session
                                 .Run("prepare the tables of the store",  // the words of a start
                                      [&](pqxx::connection& connection) { return ReadPostgres(connection, look); })
                                 .status;
  if (!ready.ok()) return WithDetail(ready, session.detail());
  return look;
}

}  // namespace blink
