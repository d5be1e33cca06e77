#include "aggregator_server/store/report_store.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/groups_codec.h"
#include "common/wire/round.h"

namespace blink {

absl::StatusOr<PutOutcome> ReportStore::PutReportAndWait(CheckedReport report) {
  std::mutex mutex;
  std::condition_variable ready;
  std::optional<absl::StatusOr<PutOutcome>> outcome;
  PutReport(std::move(report), [&](absl::StatusOr<PutOutcome> result) {
    // Notified under the lock: the waiter may not return, and destroy the condition, before this is done with it.
    std::lock_guard<std::mutex> lock(mutex);
    outcome = std::move(result);
    ready.notify_one();
  });
  std::unique_lock<std::mutex> lock(mutex);
  ready.wait(lock, [&] { return outcome.has_value(); });
  return *std::move(outcome);
}

absl::StatusOr<RoundsSeen> ReportStore::LookAtRounds() {
  RoundsSeen seen;
  BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, ListRounds());
  for (const v1::Round& round : rounds) ++seen.by_state[round.state()];
  BLINK_ASSIGN_OR_RETURN(seen.open, ListOpenRounds());
  return seen;
}

absl::StatusOr<std::vector<v1::Round>> ReportStore::ListUnfinishedRounds() {
  BLINK_ASSIGN_OR_RETURN(std::vector<v1::Round> rounds, ListRounds());
  const auto has_ended = [](const v1::Round& round) { return IsTerminal(round.state()); };
  rounds.erase(std::remove_if(rounds.begin(), rounds.end(), has_ended), rounds.end());
  return rounds;
}

absl::StatusOr<std::string> ReportStore::GetGroups(const v1::Round& round) {
  const uint64_t bytes = GroupsBytes(round.parameters().node_count());
  std::string groups;
  for (uint32_t part = 0; groups.size() < bytes; ++part) {
    BLINK_ASSIGN_OR_RETURN(const std::string more, GetGroupsPart(round.round_id(), part));
    if (more.empty()) return absl::DataLossError(absl::StrCat("the groups of round ", round.round_id(), " are cut"));
    groups += more;
  }
  return groups;
}

absl::StatusOr<std::map<std::string, std::string>> ReportStore::ListWrappedKeys() {
  return std::map<std::string, std::string>();
}

absl::StatusOr<std::string> ReportStore::GetWrappedKey(const std::string& /*round_id*/) { return std::string(); }

absl::Status ReportStore::ReplaceWrappedKey(const std::string& /*round_id*/, const std::string& /*before*/,
                                            const std::string& /*after*/) {
  return absl::UnimplementedError("this store keeps no keys");
}

absl::Status ReportStore::DeleteReports(const std::string& /*round_id*/) {
  return absl::UnimplementedError("this store deletes no reports");
}

absl::Status ReportStore::MakeSnapshot(const std::string& /*folder*/) {
  return absl::UnimplementedError("this store makes no snapshot: back it up with its own tools");
}

}  // namespace blink
