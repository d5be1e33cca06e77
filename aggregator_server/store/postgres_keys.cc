#include "aggregator_server/store/postgres_keys.h"

#include "absl/strings/str_cat.h"
#include "aggregator_server/store/postgres_batch.h"
#include "aggregator_server/store/postgres_rounds.h"
#include "aggregator_server/store/report_answers.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr int kReportsOfDeletion = 2000;  // at once: a statement has a limit of time

}  // namespace

std::map<std::string, std::string> ListKeysIn(pqxx::connection& connection) {
  std::map<std::string, std::string> keys;
  pqxx::nontransaction reads(connection);
  for (const pqxx::row& row : reads.exec("SELECT round_id, wrapped FROM blink.round_keys")) {
    keys[row[0].as<std::string>()] = pqxx::binarystring(row[1]).str();
  }
  return keys;
}

std::string GetKeyIn(pqxx::connection& connection, const std::string& round_id) {
  pqxx::nontransaction reads(connection);
  const pqxx::result rows = reads.exec_params("SELECT wrapped FROM blink.round_keys WHERE round_id = $1", round_id);
  return rows.empty() ? std::string() : pqxx::binarystring(rows[0][0]).str();
}

absl::Status ReplaceKeyIn(pqxx::connection& connection, const std::string& round_id, const std::string& before,
                          const std::string& after) {
  pqxx::work transaction(connection);
  transaction.exec_params("SELECT pg_advisory_xact_lock($1)", RoundLock(absl::StrCat("key ", round_id)));
  const pqxx::result rows =
      transaction.exec_params("SELECT wrapped FROM blink.round_keys WHERE round_id = $1", round_id);
  const std::string held = rows.empty() ? std::string() : pqxx::binarystring(rows[0][0]).str();
  if (held == after) return absl::OkStatus();
  if (held != before) return absl::AbortedError(absl::StrCat("the key of round ", round_id, " is another one"));
  if (after.empty()) {
    transaction.exec_params("DELETE FROM blink.round_keys WHERE round_id = $1", round_id);
  } else {
    transaction.exec_params(
        "INSERT INTO blink.round_keys (round_id, wrapped) VALUES ($1, $2) ON CONFLICT (round_id) DO UPDATE SET wrapped "
        "= excluded.wrapped",
        round_id, pqxx::binarystring(after));
  }
  transaction.commit();
  return absl::OkStatus();
}

absl::Status DeletePageIn(pqxx::connection& connection, const std::string& round_id, std::optional<int64_t>& after) {
  pqxx::work transaction(connection);
  transaction.exec_params("SELECT pg_advisory_xact_lock($1)", RoundLock(absl::StrCat("key ", round_id)));
  const pqxx::result rows = SelectRounds(transaction, "WHERE r.round_id = $1", round_id);
  if (rows.empty()) return NoSuchRound(round_id);
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, ReadRound(rows[0]));
  BLINK_RETURN_IF_ERROR(RequireEnded(round));
  transaction.exec_params("DELETE FROM blink.round_keys WHERE round_id = $1", round_id);
  // Digest and minute stay, by which a late copy of the report gets its receipt.
  const pqxx::result emptied = transaction.exec_params(
      "WITH page AS (SELECT node FROM blink.reports WHERE round = $1 AND node > $2 ORDER BY node LIMIT $3), "
      "emptied AS (UPDATE blink.reports r SET degree = NULL, bits = '' FROM page WHERE r.round = $1 AND r.node = "
      "page.node AND (r.degree IS NOT NULL OR octet_length(r.bits) > 0)) "
      "SELECT max(node), count(*) FROM page",
      rows[0][5].as<int64_t>(), after.value_or(-1), kReportsOfDeletion);
  transaction.commit();
  const bool is_last = emptied[0][1].as<int>() < kReportsOfDeletion;
  after = is_last ? std::nullopt : std::optional<int64_t>(emptied[0][0].as<int64_t>());
  return absl::OkStatus();
}

}  // namespace blink
