#include "aggregator_server/store/store_look.h"

#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "aggregator_server/store/encrypted_store.h"
#include "aggregator_server/store/postgres_migrations.h"
#include "aggregator_server/store/postgres_session.h"
#include "aggregator_server/store/records.h"
#include "aggregator_server/store/synced_db.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

absl::Status ReadPostgres(pqxx::connection& connection, PostgresLook& look) {
  pqxx::read_transaction transaction(connection);
  look.server = transaction.exec1("SHOW server_version")[0].as<std::string>();
  BLINK_ASSIGN_OR_RETURN(look.version, ReadTablesVersion(transaction, PostgresMigrations()));
  if (look.version < look.version_here) return absl::OkStatus();
  const pqxx::result lease = transaction.exec("SELECT holder FROM blink.lease WHERE expires > clock_timestamp()");
  if (!lease.empty()) look.holder = lease[0][0].as<std::string>();
  for (const pqxx::row& row : transaction.exec("SELECT round_id, wrapped FROM blink.round_keys JOIN blink.rounds USING "
                                               "(round_id)")) {
    look.wrapped_keys[row[0].as<std::string>()] = pqxx::binarystring(row[1]).str();
  }
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
    std::string wrapped;
    const std::string key = records::WrappedKeyKey(round.round_id());
    if (MayHaveReports(round) && db->Get(rocksdb::ReadOptions(), key, &wrapped).ok())
      look.wrapped_keys[round.round_id()] = wrapped;
  }
  BLINK_RETURN_IF_ERROR(FromRocksDb(it->status(), "list the rounds"));
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
