#include "tests/simulation/shared_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/store/report_answers.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/wire/groups_codec.h"
#include "common/wire/round.h"

namespace blink::simulation {

using Lock = std::lock_guard<std::recursive_mutex>;

v1::Round SharedDatabase::Entry::MakeSnapshot() const {
  v1::Round snapshot = round;
  snapshot.set_reports(static_cast<uint32_t>(reports.size()) + counted_twice);
  snapshot.set_flagged(static_cast<uint32_t>(
      std::count_if(reports.begin(), reports.end(), [](const auto& report) { return report.second.implausible; })));
  return snapshot;
}

std::vector<std::string> SharedDatabase::TakeTrespasses() {
  const Lock lock(mutex_);
  return std::exchange(trespasses_, {});
}

absl::Status SharedStore::CheckReachable() const {
  return is_reachable_ ? absl::OkStatus() : absl::UnavailableError("the database cannot be reached: try again");
}

absl::Status SharedStore::LoseAnswer() {
  if (!std::exchange(loses_answer_, false)) return absl::OkStatus();
  return absl::UnavailableError("the connection to the database broke: try again");
}

void SharedStore::RenewLease() {
  if (!is_reachable_) return;
  const std::optional<uint64_t> held = GetLease();
  const Lock lock(database_.mutex_);
  const absl::Duration now = database_.clock_.Monotonic();
  lease_.reset();
  if (held.has_value() ? held != database_.token_ : now < database_.expires_) return;
  if (!held.has_value()) ++database_.token_;
  database_.expires_ = now + SharedDatabase::kLease;
  lease_ = last_token_ = database_.token_;
  until_ = now + SharedDatabase::kLease * 4 / 5;
}

void SharedStore::GiveLeaseBack() {
  const Lock lock(database_.mutex_);
  if (is_reachable_ && lease_ == database_.token_) database_.expires_ = -absl::InfiniteDuration();
  lease_.reset();
}

std::optional<uint64_t> SharedStore::GetLease() {
  const Lock lock(database_.mutex_);
  if (lease_.has_value() && database_.clock_.Monotonic() >= until_) lease_.reset();
  return lease_;
}

absl::StatusOr<SharedDatabase::Entry*> SharedStore::Find(const std::string& round_id) {
  BLINK_RETURN_IF_ERROR(CheckReachable());
  const auto found = database_.rounds_.find(round_id);
  if (found == database_.rounds_.end()) return NoSuchRound(round_id);
  return &found->second;
}

absl::StatusOr<v1::Round> SharedStore::CreateRound(const v1::Round& round, const std::string& request_id,
                                                   const std::string& groups) {
  const Lock lock(database_.mutex_);
  BLINK_RETURN_IF_ERROR(CheckReachable());
  if (const auto made = database_.requests_.find(request_id); made != database_.requests_.end()) {
    return database_.rounds_.at(made->second).MakeSnapshot();
  }
  const auto [added, is_new] = database_.rounds_.try_emplace(round.round_id());
  if (!is_new) return absl::AlreadyExistsError(absl::StrCat("round ", round.round_id(), " exists already"));
  added->second.round = round;
  added->second.groups = groups;
  if (!request_id.empty()) database_.requests_[request_id] = round.round_id();
  BLINK_RETURN_IF_ERROR(LoseAnswer());
  return added->second.MakeSnapshot();
}

absl::StatusOr<std::optional<v1::Round>> SharedStore::FindRequest(const std::string& request_id) {
  const Lock lock(database_.mutex_);
  BLINK_RETURN_IF_ERROR(CheckReachable());
  const auto made = database_.requests_.find(request_id);
  if (made == database_.requests_.end()) return std::nullopt;
  return database_.rounds_.at(made->second).MakeSnapshot();
}

absl::StatusOr<std::string> SharedStore::GetGroupsPart(const std::string& round_id, uint32_t part) {
  const Lock lock(database_.mutex_);
  BLINK_ASSIGN_OR_RETURN(const SharedDatabase::Entry* const entry, Find(round_id));
  const uint64_t begin = uint64_t{part} * kGroupsPartBytes;
  if (begin >= entry->groups.size()) {
    return absl::NotFoundError(absl::StrCat("round ", round_id, " has no part ", part, " of groups"));
  }
  return entry->groups.substr(begin, kGroupsPartBytes);
}

absl::StatusOr<v1::Round> SharedStore::GetRound(const std::string& round_id) {
  const Lock lock(database_.mutex_);
  BLINK_ASSIGN_OR_RETURN(const SharedDatabase::Entry* const entry, Find(round_id));
  return entry->MakeSnapshot();
}

absl::StatusOr<std::vector<v1::Round>> SharedStore::List(bool only_open) {
  const Lock lock(database_.mutex_);
  BLINK_RETURN_IF_ERROR(CheckReachable());
  std::vector<v1::Round> rounds;
  for (const auto& [id, entry] : database_.rounds_) {
    if (!only_open || entry.round.state() == v1::ROUND_STATE_OPEN) rounds.push_back(entry.MakeSnapshot());
  }
  std::stable_sort(rounds.begin(), rounds.end(),
                   [](const v1::Round& a, const v1::Round& b) { return a.created_ms() < b.created_ms(); });
  return rounds;
}

absl::StatusOr<v1::Round> SharedStore::Update(std::optional<uint64_t> lease, const std::string& round_id,
                                              const std::vector<v1::RoundState>& expected,
                                              const std::function<absl::Status(v1::Round&)>& change) {
  const Lock lock(database_.mutex_);
  BLINK_RETURN_IF_ERROR(CheckReachable());
  if (database_.is_fenced_ && lease.has_value() && *lease != database_.token_) {
    return absl::AbortedError("another aggregator holds the lease now, and seals and runs the rounds");
  }
  BLINK_ASSIGN_OR_RETURN(SharedDatabase::Entry* const entry, Find(round_id));
  const v1::RoundState before = entry->round.state();
  if (std::find(expected.begin(), expected.end(), before) == expected.end()) {
    return absl::FailedPreconditionError(absl::StrCat("round ", round_id, " is ", RoundStateName(before)));
  }
  v1::Round changed = entry->MakeSnapshot();
  BLINK_RETURN_IF_ERROR(change(changed));
  changed.set_round_id(round_id);
  const v1::Round counted = entry->MakeSnapshot();
  changed.set_reports(counted.reports());
  changed.set_flagged(counted.flagged());
  entry->round = changed;
  const bool runs = changed.state() == v1::ROUND_STATE_ESTIMATING || changed.state() == v1::ROUND_STATE_TRAINING ||
                    changed.state() == v1::ROUND_STATE_READY;
  if (runs && last_token_ != database_.token_) database_.trespasses_.push_back(round_id);
  BLINK_RETURN_IF_ERROR(LoseAnswer());
  return changed;
}

absl::StatusOr<std::string> SharedStore::GetOrSetNote(const std::string& name, const std::string& value) {
  const Lock lock(database_.mutex_);
  BLINK_RETURN_IF_ERROR(CheckReachable());
  return database_.notes_.try_emplace(name, value).first->second;
}

void SharedStore::PutReport(CheckedReport report, PutCallback done) { done(Put(report)); }

absl::StatusOr<PutOutcome> SharedStore::Put(const CheckedReport& report) {
  const Lock lock(database_.mutex_);
  BLINK_ASSIGN_OR_RETURN(SharedDatabase::Entry* const entry, Find(report.round_id));
  if (report.node >= entry->round.parameters().node_count()) return RefuseNode(report.node);
  const auto held = entry->reports.find(report.node);
  const bool is_fresh = held == entry->reports.end();
  if (is_fresh && entry->round.state() != v1::ROUND_STATE_OPEN) return RefuseLate(report, entry->round.state());
  if (!is_fresh && held->second.report.digest != report.report.digest) {
    if (!database_.keeps_latest_) return RefuseAnother(report);
    held->second.report = report.report;
  }
  const bool counts_twice = !is_fresh && database_.counts_twice_;
  entry->counted_twice += counts_twice;
  if (is_fresh) entry->reports[report.node] = {report.report, report.received_minute, report.implausible};
  BLINK_RETURN_IF_ERROR(LoseAnswer());
  return PutOutcome{.receipt = MakeReceipt(report, entry->reports[report.node].received_minute),
                    .fresh = is_fresh || counts_twice,
                    .reports = entry->MakeSnapshot().reports()};
}

absl::StatusOr<std::optional<Digest>> SharedStore::GetDigest(const std::string& round_id, uint64_t node) {
  const Lock lock(database_.mutex_);
  BLINK_ASSIGN_OR_RETURN(const SharedDatabase::Entry* const entry, Find(round_id));
  const auto held = entry->reports.find(node);
  if (held == entry->reports.end()) return std::optional<Digest>();
  return std::optional<Digest>(held->second.report.digest);
}

absl::Status SharedStore::VisitDigests(const std::string& round_id, uint64_t first, uint64_t last, uint64_t limit,
                                       const std::function<absl::Status(uint64_t, const Digest&)>& visit) {
  const Lock lock(database_.mutex_);
  BLINK_ASSIGN_OR_RETURN(const SharedDatabase::Entry* const entry, Find(round_id));
  for (auto held = entry->reports.lower_bound(first); held != entry->reports.end() && held->first <= last && limit > 0;
       ++held, --limit) {
    BLINK_RETURN_IF_ERROR(visit(held->first, held->second.report.digest));
  }
  return absl::OkStatus();
}

absl::Status SharedStore::VisitReports(const std::string& round_id,
                                       const std::function<absl::Status(uint64_t, const CodedReport&)>& visit) {
  const Lock lock(database_.mutex_);
  BLINK_ASSIGN_OR_RETURN(const SharedDatabase::Entry* const entry, Find(round_id));
  for (const auto& [node, held] : entry->reports) BLINK_RETURN_IF_ERROR(visit(node, held.report));
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, std::string>> SharedStore::ListWrappedKeys() {
  const Lock lock(database_.mutex_);
  BLINK_RETURN_IF_ERROR(CheckReachable());
  return database_.keys_;
}

absl::StatusOr<std::string> SharedStore::GetWrappedKey(const std::string& round_id) {
  BLINK_ASSIGN_OR_RETURN(const auto keys, ListWrappedKeys());
  const auto found = keys.find(round_id);
  return found == keys.end() ? std::string() : found->second;
}

absl::Status SharedStore::ReplaceWrappedKey(const std::string& round_id, const std::string& before,
                                            const std::string& after) {
  const Lock lock(database_.mutex_);
  BLINK_ASSIGN_OR_RETURN(const std::string held, GetWrappedKey(round_id));
  if (held != before) return absl::AbortedError(absl::StrCat("the key of round ", round_id, " is another one"));
  database_.keys_.erase(round_id);
  if (!after.empty()) database_.keys_[round_id] = after;
  return LoseAnswer();
}

absl::Status SharedStore::DeleteReports(const std::string& round_id) {
  const Lock lock(database_.mutex_);
  BLINK_ASSIGN_OR_RETURN(SharedDatabase::Entry* const entry, Find(round_id));
  BLINK_RETURN_IF_ERROR(RequireEnded(entry->round));
  database_.keys_.erase(round_id);
  for (auto& [node, held] : entry->reports) {
    held.report.coded_bits.clear();
    held.report.noisy_degree.reset();
  }
  return LoseAnswer();
}

}  // namespace blink::simulation
