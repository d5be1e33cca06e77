#include "aggregator_server/store/postgres_migrations.h"

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/logging.h"

namespace blink {
namespace {

constexpr int64_t kMigrationLock = 0x626c696e6b;  // "blink"

// Rounds are never deleted, and reports come in thousands a second: they have no foreign key. Coded bits cannot be
// compressed.
constexpr char kRoundsAndReports[] = R"sql(
CREATE TABLE blink.rounds (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  round_id text NOT NULL UNIQUE,
  state integer NOT NULL,       -- blink.v1.RoundState
  created_ms bigint NOT NULL,
  nodes bigint NOT NULL,
  body bytea NOT NULL,          -- blink.v1.Round; reports and flagged are counted in report_counts
  change text NOT NULL          -- the mark of the last change, by which its maker knows whether it was committed
);
CREATE INDEX rounds_by_state ON blink.rounds (state);
CREATE TABLE blink.requests (
  request_id text PRIMARY KEY,
  round bigint NOT NULL REFERENCES blink.rounds
);
CREATE TABLE blink.groups (
  round bigint NOT NULL REFERENCES blink.rounds,
  part integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (round, part)
);
CREATE TABLE blink.reports (
  round bigint NOT NULL,
  node bigint NOT NULL,
  received_minute bigint NOT NULL,
  implausible boolean NOT NULL,
  degree bigint,
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  bits bytea NOT NULL,
  PRIMARY KEY (round, node)
);
ALTER TABLE blink.reports ALTER COLUMN bits SET STORAGE EXTERNAL, ALTER COLUMN digest SET STORAGE PLAIN;
-- A row for each writer, so that writers never wait for each other.
CREATE TABLE blink.report_counts (
  round bigint NOT NULL,
  writer text NOT NULL,
  reports bigint NOT NULL,
  flagged bigint NOT NULL,
  PRIMARY KEY (round, writer)
) WITH (fillfactor = 50);
)sql";

constexpr char kLease[] = R"sql(
CREATE TABLE blink.lease (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  holder text NOT NULL,
  token bigint NOT NULL,        -- another one for each holder; ascends
  expires timestamptz NOT NULL  -- by this server's clock
);
INSERT INTO blink.lease (holder, token, expires) VALUES ('', 0, '-infinity');
CREATE TABLE blink.progress (
  round bigint PRIMARY KEY REFERENCES blink.rounds,
  fraction double precision NOT NULL,
  told text NOT NULL
);
CREATE TABLE blink.settings (
  name text PRIMARY KEY,
  value text NOT NULL
);
)sql";

// Without a reference to the round, which is stored after its key (encrypted_store.cc).
constexpr char kKeys[] = R"sql(
CREATE TABLE blink.round_keys (
  round_id text PRIMARY KEY,
  wrapped bytea NOT NULL
);
)sql";

bool HasVersions(pqxx::transaction_base& transaction) {
  return transaction.exec1("SELECT to_regclass('blink.blink_schema') IS NOT NULL")[0].as<bool>();
}

}  // namespace

absl::StatusOr<size_t> ReadTablesVersion(pqxx::transaction_base& transaction,
                                         const std::vector<std::string>& migrations) {
  size_t version = 0;
  if (!HasVersions(transaction)) return version;
  for (const pqxx::row& row : transaction.exec("SELECT version, digest FROM blink.blink_schema ORDER BY version")) {
    const auto applied = row[0].as<size_t>();
    if (applied > migrations.size()) {
      const int newest = transaction.exec1("SELECT max(version) FROM blink.blink_schema")[0].as<int>();
      return absl::FailedPreconditionError(absl::StrCat("the database has version ", newest,
                                                        " of blink's tables, this program knows ", migrations.size(),
                                                        ": use the version of blink that made them, or a newer one"));
    }
    if (applied != ++version || row[1].as<std::string>() != DigestToHex(Sha256Of(migrations[applied - 1]))) {
      return absl::FailedPreconditionError(
          absl::StrCat("migration ", applied, " of blink's tables in the database is not this program's: use the ",
                       "build of blink that made them"));
    }
  }
  return version;
}

namespace {

absl::Status MigrateIn(pqxx::connection& connection, const std::vector<std::string>& migrations) {
  pqxx::work transaction(connection);
  transaction.exec_params("SELECT pg_advisory_xact_lock($1)", kMigrationLock);
  const absl::StatusOr<size_t> found = ReadTablesVersion(transaction, migrations);
  if (!found.ok()) return found.status();
  size_t version = *found;
  if (!HasVersions(transaction)) {
    const bool has_schema = transaction.exec1("SELECT to_regnamespace('blink') IS NOT NULL")[0].as<bool>();
    if (!has_schema) transaction.exec("CREATE SCHEMA blink");
    transaction.exec(
        "CREATE TABLE blink.blink_schema (version integer PRIMARY KEY, digest text NOT NULL, applied timestamptz NOT "
        "NULL DEFAULT now())");
  }
  if (version == migrations.size()) return absl::OkStatus();
  const size_t before = version;
  for (; version < migrations.size(); ++version) {
    transaction.exec(migrations[version]);
    transaction.exec_params("INSERT INTO blink.blink_schema (version, digest) VALUES ($1, $2)",
                            static_cast<int>(version + 1), DigestToHex(Sha256Of(migrations[version])));
  }
  transaction.commit();
  spdlog::info("the tables in the database were brought from version {} to version {}", before, version);
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string>& PostgresMigrations() {
  static const auto* const migrations = new std::vector<std::string>{kRoundsAndReports, kLease, kKeys};
  return *migrations;
}

PostgresOutcome Migrate(PostgresSession& session, const std::vector<std::string>& migrations) {
  return session.Run("prepare the tables of the store",
                     [&](pqxx::connection& connection) { return MigrateIn(connection, migrations); });
}

}  // namespace blink
