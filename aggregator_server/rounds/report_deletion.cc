#include "aggregator_server/rounds/report_deletion.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/rounds/round_files.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"

namespace blink {
namespace {

constexpr absl::Duration kLookEvery = absl::Minutes(1);
constexpr absl::Duration kLookEveryMin = absl::Seconds(1);

const std::vector<v1::RoundState>& EndedStates() {
  static const auto* const states =
      new std::vector<v1::RoundState>{v1::ROUND_STATE_READY, v1::ROUND_STATE_FAILED, v1::ROUND_STATE_CANCELLED};
  return *states;
}

// Rounds that are older than their history ended at their deadline at the latest, or after a training.
absl::Time EndOf(const v1::Round& round) {
  return absl::FromUnixMillis(round.history().empty() ? round.deadline_ms()
                                                      : round.history(round.history_size() - 1).at_ms());
}

}  // namespace

ReportDeletion::ReportDeletion(const PipelineOptions& options, ReportStore& store, Clock& clock, Hooks hooks)
    : options_(options), store_(store), clock_(clock), hooks_(std::move(hooks)) {}

void ReportDeletion::Start() {
  look_now_ = true;  // what a crash interrupted
  thread_ = std::thread([this] { LookUntilStopped(); });
}

void ReportDeletion::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ReportDeletion::LookUntilStopped() {
  const absl::Duration every = std::clamp(options_.retain_reports / 20, kLookEveryMin, kLookEvery);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    wake_.wait_for(lock, absl::ToChronoMilliseconds(every), [&] { return stopping_ || look_now_; });
    if (stopping_) return;
    look_now_ = false;
    lock.unlock();
    Look();
    lock.lock();
  }
}

void ReportDeletion::Look() {
  const bool is_holder = store_.GetLease().has_value();
  std::set<std::string> asked;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    asked = asked_;
  }
  if (!is_holder && asked.empty()) return;
  const absl::StatusOr<std::vector<v1::Round>> rounds = store_.ListRounds();
  if (!rounds.ok()) return;
  for (const v1::Round& listed : *rounds) {
    const std::string& round_id = listed.round_id();
    if (!is_holder && asked.count(round_id) == 0) continue;
    absl::StatusOr<v1::Round> round = listed;
    if (!listed.deleting()) {
      if (!IsDue(listed) || hooks_.is_busy(round_id)) continue;
      round = Mark(round_id, /*with_result=*/false);
      if (absl::IsFailedPrecondition(round.status())) continue;  // somebody was faster, and retries it
    }
    const absl::Status done = round.ok() ? Finish(*round) : round.status();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return;
      if (done.ok()) asked_.erase(round_id);
    }
    if (done.ok()) {
      failed_.erase(round_id);
    } else if (failed_.insert(round_id).second) {
      spdlog::error("the reports of round {} are not deleted yet: {}; it is tried again", round_id,
                    std::string(done.message()));
    }
  }
}

bool ReportDeletion::IsDue(const v1::Round& round) {
  return IsTerminal(round.state()) && round.reports() > 0 && round.reports_deleted_ms() == 0 &&
         options_.retain_reports != absl::InfiniteDuration() && clock_.Now() - EndOf(round) >= options_.retain_reports;
}

absl::StatusOr<v1::Round> ReportDeletion::Mark(const std::string& round_id, bool with_result) {
  const auto mark = [&](v1::Round& round) {
    if (round.reports_deleted_ms() == 0) round.set_reports_deleted_ms(absl::ToUnixMillis(clock_.Now()));
    if (with_result && !round.result_deleted()) {
      round.set_result_deleted(true);
      round.clear_result_json();
      round.set_progress_text("its result was deleted");
    } else if (with_result && !round.deleting()) {
      return absl::OkStatus();  // all is gone already
    }
    round.set_deleting(true);
    return absl::OkStatus();
  };
  return store_.UpdateRound(round_id, EndedStates(), mark);
}

absl::StatusOr<v1::Round> ReportDeletion::Delete(const std::string& round_id) {
  if (hooks_.is_busy(round_id)) {
    BLINK_ASSIGN_OR_RETURN(const v1::Round round, store_.GetRound(round_id));
    return absl::FailedPreconditionError(
        IsTerminal(round.state())
            ? absl::StrCat("round ", round_id, " is still being ended: try again in a few seconds")
            : absl::StrCat("round ", round_id, " is ", RoundStateName(round.state()),
                           ", and only what has ended is deleted: cancel it first"));
  }
  absl::StatusOr<v1::Round> marked = Mark(round_id, /*with_result=*/true);
  if (absl::IsFailedPrecondition(marked.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(marked.status().message(), ", and only what has ended is deleted: cancel it first"));
  }
  BLINK_RETURN_IF_ERROR(marked.status());
  hooks_.changed(round_id);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (marked->deleting()) asked_.insert(round_id);
    look_now_ = true;
  }
  wake_.notify_all();
  return marked;
}

absl::Status ReportDeletion::Finish(const v1::Round& round) {
  const std::string& round_id = round.round_id();
  BLINK_RETURN_IF_ERROR(store_.DeleteReports(round_id));
  const RoundFiles files(options_.rounds_folder, round_id);
  BLINK_RETURN_IF_ERROR(round.result_deleted() ? files.RemoveFolder() : files.RemoveReports());
  const auto finish = [&](v1::Round& stored) -> absl::Status {
    if (stored.result_deleted() != round.result_deleted()) {
      return absl::AbortedError("an operator deletes its result as well");
    }
    stored.set_deleting(false);
    return absl::OkStatus();
  };
  BLINK_RETURN_IF_ERROR(store_.UpdateRound(round_id, EndedStates(), finish).status());
  if (options_.reports_deleted) options_.reports_deleted(round);
  ++deleted_;
  spdlog::info("round {}: its {} reports{} are deleted", round_id, round.reports(),
               round.result_deleted() ? " and its result" : "");
  hooks_.changed(round_id);
  return absl::OkStatus();
}

}  // namespace blink
