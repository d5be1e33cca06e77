// The statements about rounds, each in one transaction of a connection.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_ROUNDS_H_
#define BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_ROUNDS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/store/postgres_session.h"
#include "aggregator_server/store/report_store.h"

namespace blink {

// 32 hexadecimal digits that nobody else has.
std::string MakeMark();

// Runs `attempt` up to three times while it is worth it.
absl::Status TryThrice(const std::function<PostgresOutcome()>& attempt);

inline constexpr char kRoundColumns[] =
    "SELECT r.body, coalesce(c.reports, 0), coalesce(c.flagged, 0), p.fraction, p.told, r.seq, r.change "
    "FROM blink.rounds r LEFT JOIN LATERAL (SELECT sum(reports)::bigint AS reports, sum(flagged)::bigint AS flagged "
    "FROM blink.report_counts WHERE round = r.seq) c ON true LEFT JOIN blink.progress p ON p.round = r.seq ";
// For SelectRounds; the numbers are those of blink.v1.RoundState.
inline constexpr char kAllRounds[] = "";
inline constexpr char kOpenRounds[] = "WHERE r.state = 1";
inline constexpr char kUnfinishedRounds[] = "WHERE r.state IN (1, 2, 3, 4)";

template <typename... Values>
pqxx::result SelectRounds(pqxx::transaction_base& transaction, const std::string& which, const Values&... values) {
  return transaction.exec_params(absl::StrCat(kRoundColumns, which), values...);
}
// DATA_LOSS: it cannot be read.
absl::StatusOr<v1::Round> ReadRound(const pqxx::row& row);
// Those of `which`, oldest first.
absl::StatusOr<std::vector<v1::Round>> ReadRounds(pqxx::transaction_base& transaction, const std::string& which);

// `mark` is another one for each call of the store, and the same when it is tried again. By it an attempt finds out
// that an earlier one was committed.
absl::StatusOr<v1::Round> CreateRoundIn(pqxx::connection& connection, const v1::Round& round,
                                        const std::string& request_id, const std::string& groups,
                                        const std::string& mark);

struct RoundChange {
  const std::string& round_id;
  const std::vector<v1::RoundState>& expected;
  const std::function<absl::Status(v1::Round&)>& change;
  std::optional<uint64_t> lease;  // it needs this one
};
absl::StatusOr<v1::Round> ChangeRoundIn(pqxx::connection& connection, const RoundChange& change,
                                        const std::string& mark);

// In one snapshot, a page at a time. DATA_LOSS: fewer or more reports are there than were counted.
absl::Status VisitReportsIn(pqxx::connection& connection, const std::string& round_id,
                            const std::function<absl::Status(uint64_t, const CodedReport&)>& visit);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_POSTGRES_ROUNDS_H_
