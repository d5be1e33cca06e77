// What a Pipeline does because other aggregators may share its store.
#include <filesystem>
#include <system_error>
#include <utility>

#include "aggregator_server/rounds/pipeline.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"

namespace blink {
namespace {

constexpr absl::Duration kLookAtOthersEvery = absl::Seconds(1);

}  // namespace

absl::Status Pipeline::TakeUpRounds(uint64_t lease) {
  std::set<std::string> going_on;
  BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> rounds, store_.ListRounds());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    lease_ = lease;
    for (const v1::Round& round : rounds) {
      if (!IsTerminal(round.state())) going_on.insert(round.round_id());
      if (round.state() == v1::ROUND_STATE_OPEN) {
        AddOpenRound(round);
      } else if (!IsTerminal(round.state())) {
        spdlog::info("round {} goes on: it is {}", round.round_id(), RoundStateName(round.state()));
        Enqueue(round.round_id());
      } else if (FilesOf(round.round_id()).LacksReportsOf(round)) {
        Enqueue(round.round_id());
      }
    }
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options_.rounds_folder, error)) {
    const std::string round_id = entry.path().filename().string();
    if (ValidateRoundId(round_id).ok() && going_on.count(round_id) == 0) FilesOf(round_id).RemoveWhatWorkersKept();
  }
  wake_runner_.notify_all();
  return absl::OkStatus();
}

void Pipeline::DropRecords() {
  lease_.reset();
  for (auto item = records_.begin(); item != records_.end();) {
    if (item->first == running_) {  // the runner erases it: its run stops by itself
      item->second.phase = RoundRecord::Phase::kRunning;
      ++item;
    } else {
      item = records_.erase(item);
    }
  }
}

void Pipeline::LookAtShared() {
  if (!store_.IsShared()) return;
  FollowLease();
  if (clock_.Monotonic() < next_look_at_others_) return;
  next_look_at_others_ = clock_.Monotonic() + kLookAtOthersEvery;
  FollowOthers();
  watchers_.NotifyAll();
}

void Pipeline::FollowLease() {
  const std::optional<uint64_t> lease = store_.GetLease();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (lease == lease_) return;
    if (lease_.has_value()) DropRecords();
  }
  wake_runner_.notify_all();
  if (!lease.has_value()) return;
  const absl::Status taken = TakeUpRounds(*lease);
  if (!taken.ok()) spdlog::warn("the rounds are not taken up yet: {}", std::string(taken.message()));
}

void Pipeline::FollowOthers() {
  std::set<std::string> known, running;  // before the look: what is newer than that is this process's own doing
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!lease_.has_value()) return;
    for (const auto& [round_id, record] : records_) {
      known.insert(round_id);
      if (record.worker_pid != 0) running.insert(round_id);
    }
  }
  const absl::StatusOr<std::vector<v1::Round>> rounds = store_.ListUnfinishedRounds();
  if (!rounds.ok()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!lease_.has_value()) return;
    for (const v1::Round& round : *rounds) {
      known.erase(round.round_id());
      NoteSeenElsewhere(round, running);
    }
  }
  wake_runner_.notify_all();
  for (const std::string& round_id : known) {  // those that have ended
    const absl::StatusOr<v1::Round> round = store_.GetRound(round_id);
    if (!round.ok() || !IsTerminal(round->state())) continue;
    const bool lacks_reports = FilesOf(round_id).LacksReportsOf(*round);
    std::lock_guard<std::mutex> lock(mutex_);
    const auto record = records_.find(round_id);
    if (record == records_.end()) continue;
    if (record->second.phase == RoundRecord::Phase::kOpen) {
      lacks_reports ? Enqueue(round_id) : static_cast<void>(records_.erase(record));
    } else if (record->second.worker_pid != 0) {
      record->second.is_cancelled = true;
    }
  }
  wake_runner_.notify_all();
}

void Pipeline::NoteSeenElsewhere(const v1::Round& round, const std::set<std::string>& running) {
  const auto found = records_.find(round.round_id());
  const bool is_waiting = found == records_.end() || found->second.phase == RoundRecord::Phase::kOpen;
  if (round.state() != v1::ROUND_STATE_OPEN) {
    // Sealed, while its worker ran before the look: somebody has cancelled it and had it tried again.
    const bool is_retried = round.state() == v1::ROUND_STATE_SEALED && running.count(round.round_id()) > 0;
    if (is_waiting || is_retried) Enqueue(round.round_id());
    return;
  }
  if (found == records_.end()) return AddOpenRound(round);
  RoundRecord& record = found->second;
  if (!is_waiting || round.reports() <= record.reports) return;
  record.reports = round.reports();
  record.changed = true;
  if (record.reports >= record.active_nodes) record.is_complete = seal_now_ = true;
}

}  // namespace blink
