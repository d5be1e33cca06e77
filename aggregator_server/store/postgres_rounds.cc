#include "aggregator_server/store/postgres_rounds.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <utility>

#include "absl/strings/str_format.h"
#include "aggregator_server/store/postgres_batch.h"
#include "aggregator_server/store/report_answers.h"
#include "common/base/digest.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/wire/groups_codec.h"
#include "common/wire/round.h"

namespace blink {
namespace {

constexpr int kReportsOfPage = 200;

void LockAlone(pqxx::work& transaction, const std::string& round_id) {
  transaction.exec_params("SELECT pg_advisory_xact_lock($1)", RoundLock(round_id));
}

absl::Status CheckLease(pqxx::work& transaction, uint64_t lease) {
  // Shared with other changes of the holder; whoever takes the lease waits until they are committed.
  const pqxx::result held = transaction.exec_params("SELECT 1 FROM blink.lease WHERE token = $1 FOR SHARE", lease);
  if (!held.empty()) return absl::OkStatus();
  return absl::AbortedError("another aggregator holds the lease now, and seals and runs the rounds");
}

}  // namespace

std::string MakeMark() {
  static std::atomic<uint64_t> count{0};
  std::random_device random;
  const auto word = [&] { return static_cast<uint64_t>(random()) << 32 | random(); };
  return absl::StrFormat("%016x%016x", word(), word() + count.fetch_add(1));
}

absl::Status TryThrice(const std::function<PostgresOutcome()>& attempt) {
  PostgresOutcome outcome = attempt();
  for (int again = 0; again < 2 && outcome.may_retry; ++again) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200 + 800 * again));  // past the session's own wait
    outcome = attempt();
  }
  return outcome.status;
}

absl::StatusOr<v1::Round> ReadRound(const pqxx::row& row) {
  v1::Round round;
  if (!round.ParseFromString(pqxx::binarystring(row[0]).str())) {
    return absl::DataLossError(absl::StrCat("the database holds a round that cannot be read: seq ",
                                            row[5].as<std::string>(), " of blink.rounds"));
  }
  round.set_reports(row[1].as<uint32_t>());
  round.set_flagged(row[2].as<uint32_t>());
  if (!row[3].is_null() && !IsTerminal(round.state())) {
    round.set_progress(row[3].as<double>());
    round.set_progress_text(row[4].as<std::string>());
  }
  return round;
}

absl::StatusOr<std::vector<v1::Round>> ReadRounds(pqxx::transaction_base& transaction, const std::string& which) {
  std::vector<v1::Round> rounds;
  for (const pqxx::row& row : SelectRounds(transaction, absl::StrCat(which, " ORDER BY r.created_ms, r.round_id"))) {
    BLINK_ASSIGN_OR_RETURN(v1::Round round, ReadRound(row));
    rounds.push_back(std::move(round));
  }
  return rounds;
}

absl::StatusOr<v1::Round> CreateRoundIn(pqxx::connection& connection, const v1::Round& round,
                                        const std::string& request_id, const std::string& groups,
                                        const std::string& mark) {
  v1::Round stored = round;
  stored.set_reports(0);
  stored.set_flagged(0);
  pqxx::work transaction(connection);
  if (!request_id.empty()) {
    // Two that bring one request id come one after the other.
    LockAlone(transaction, "request " + request_id);
    const pqxx::result made =
        SelectRounds(transaction, "WHERE r.seq = (SELECT round FROM blink.requests WHERE request_id = $1)", request_id);
    if (!made.empty()) return ReadRound(made[0]);
  }
  const pqxx::result inserted = transaction.exec_params(
      "INSERT INTO blink.rounds (round_id, state, created_ms, nodes, body, change) VALUES ($1, $2, $3, $4, $5, $6) "
      "ON CONFLICT (round_id) DO NOTHING RETURNING seq",
      round.round_id(), static_cast<int>(round.state()), round.created_ms(),
      static_cast<int64_t>(round.parameters().node_count()), pqxx::binarystring(stored.SerializeAsString()), mark);
  if (inserted.empty()) {
    const pqxx::result held = SelectRounds(transaction, "WHERE r.round_id = $1", round.round_id());
    if (!held.empty() && held[0][6].as<std::string>() == mark) return ReadRound(held[0]);
    return absl::AlreadyExistsError(absl::StrCat("round ", round.round_id(), " exists already"));
  }
  const auto seq = inserted[0][0].as<int64_t>();
  if (!request_id.empty()) {
    transaction.exec_params("INSERT INTO blink.requests (request_id, round) VALUES ($1, $2)", request_id, seq);
  }
  for (size_t at = 0; at < groups.size(); at += kGroupsPartBytes) {
    transaction.exec_params("INSERT INTO blink.groups (round, part, bytes) VALUES ($1, $2, $3)", seq,
                            static_cast<int>(at / kGroupsPartBytes),
                            pqxx::binarystring(groups.substr(at, kGroupsPartBytes)));
  }
  transaction.commit();
  return stored;
}

absl::StatusOr<v1::Round> ChangeRoundIn(pqxx::connection& connection, const RoundChange& change,
                                        const std::string& mark) {
  pqxx::work transaction(connection);
  LockAlone(transaction, change.round_id);
  if (change.lease.has_value()) BLINK_RETURN_IF_ERROR(CheckLease(transaction, *change.lease));
  const pqxx::result rows = SelectRounds(transaction, "WHERE r.round_id = $1", change.round_id);
  if (rows.empty()) return NoSuchRound(change.round_id);
  BLINK_ASSIGN_OR_RETURN(const v1::Round before, ReadRound(rows[0]));
  if (rows[0][6].as<std::string>() == mark) return before;  // an earlier attempt was committed
  if (std::find(change.expected.begin(), change.expected.end(), before.state()) == change.expected.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("round ", change.round_id, " is ", RoundStateName(before.state())));
  }
  v1::Round after = before;
  BLINK_RETURN_IF_ERROR(change.change(after));
  after.set_round_id(change.round_id);
  after.set_reports(before.reports());
  after.set_flagged(before.flagged());
  const auto seq = rows[0][5].as<int64_t>();
  transaction.exec_params("UPDATE blink.rounds SET state = $2, body = $3, change = $4 WHERE seq = $1", seq,
                          static_cast<int>(after.state()), pqxx::binarystring(after.SerializeAsString()), mark);
  transaction.exec_params("DELETE FROM blink.progress WHERE round = $1", seq);
  transaction.commit();
  return after;
}

absl::Status VisitReportsIn(pqxx::connection& connection, const std::string& round_id,
                            const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) {
  pqxx::transaction<pqxx::repeatable_read, pqxx::read_only> snapshot(connection);
  const pqxx::result rows = SelectRounds(snapshot, "WHERE r.round_id = $1", round_id);
  if (rows.empty()) return NoSuchRound(round_id);
  const auto seq = rows[0][5].as<int64_t>();
  const auto counted = rows[0][1].as<uint64_t>();
  uint64_t visited = 0;
  for (int64_t after = -1;;) {
    const pqxx::result page = snapshot.exec_params(
        "SELECT node, degree, digest, bits FROM blink.reports WHERE round = $1 AND node > $2 ORDER BY node LIMIT $3",
        seq, after, kReportsOfPage);
    for (const pqxx::row& row : page) {
      CodedReport report;
      if (!row[1].is_null()) report.noisy_degree = row[1].as<int64_t>();
      const absl::StatusOr<Digest> digest = DigestFromBytes(pqxx::binarystring(row[2]).str());
      if (!digest.ok()) return absl::DataLossError("the database holds a damaged report: bring back a backup");
      report.digest = *digest;
      report.coded_bits = pqxx::binarystring(row[3]).str();
      after = row[0].as<int64_t>();
      ++visited;
      BLINK_RETURN_IF_ERROR(visit(static_cast<uint64_t>(after), report));
    }
    if (page.size() < kReportsOfPage) break;
  }
  if (visited == counted) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("round ", round_id, " has ", counted,
                                          " acknowledged reports, and the database holds ", visited,
                                          ": bring it back from a backup"));
}

}  // namespace blink
