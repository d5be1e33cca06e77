#include "aggregator_server/rounds/pipeline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator_server/rounds/new_round.h"
#include "aggregator_server/rounds/round_files.h"
#include "aggregator_server/rounds/round_run.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/privacy/parameters.h"
#include "common/wire/artifacts.h"
#include "common/wire/round.h"

namespace blink {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr absl::Duration kGpusAnswerMax = absl::Seconds(10);

// Rounds of before there were rosters do not say it: then all are active.
uint32_t ActiveNodes(const v1::Round& round) {
  return round.active_nodes() > 0 ? round.active_nodes() : round.parameters().node_count();
}

std::string TextOf(const absl::Status& status) { return status.ToString(absl::StatusToStringMode::kWithNoExtraData); }

std::string TriedAgain(absl::Duration wait, const PipelineOptions& options) {
  return absl::StrCat("tried again after ", absl::FormatDuration(wait), ", then twice as long each time, at most ",
                      absl::FormatDuration(options.retry_after_max));
}

}  // namespace

Pipeline::Pipeline(PipelineOptions options, ReportStore& store, Clock& clock)
    : options_(std::move(options)), store_(store), clock_(clock) {}

Pipeline::~Pipeline() { Stop(); }

absl::Status Pipeline::Start() {
  BLINK_RETURN_IF_ERROR(MakeDirectories(options_.rounds_folder));
  std::set<std::string> going_on;
  for (const v1::Round& round : store_.ListRounds()) {
    if (!IsTerminal(round.state())) going_on.insert(round.round_id());
    if (round.state() == v1::ROUND_STATE_OPEN) {
      open_[round.round_id()] = {round.deadline_ms(), ActiveNodes(round), round.reports() >= ActiveNodes(round)};
    } else if (!IsTerminal(round.state())) {
      spdlog::info("round {} goes on: it is {}", round.round_id(), RoundStateName(round.state()));
      sealed_.push_back(round.round_id());
    } else if (FilesOf(round.round_id()).LacksReportsOf(round)) {
      sealed_.push_back(round.round_id());
    }
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options_.rounds_folder, error)) {
    const std::string round_id = entry.path().filename().string();
    if (going_on.count(round_id) == 0) FilesOf(round_id).RemoveWhatWorkersKept();
  }
  scheduler_ = std::thread([this] { Schedule(); });
  runner_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void Pipeline::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_scheduler_.notify_all();
  wake_runner_.notify_all();
  if (scheduler_.joinable()) scheduler_.join();
  if (runner_.joinable()) runner_.join();
}

absl::StatusOr<v1::Round> Pipeline::CreateRound(const v1::CreateRoundRequest& request) {
  BLINK_ASSIGN_OR_RETURN(v1::Round round, NewRound(options_, request));
  std::lock_guard<std::mutex> create_lock(create_mutex_);
  BLINK_RETURN_IF_ERROR(CheckTrainableByWorker(round));
  round.set_created_ms(absl::ToUnixMillis(clock_.Now()));
  round.set_deadline_ms(round.created_ms() + static_cast<int64_t>(request.open_for_ms()));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (open_.size() >= kRoundsListedMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat(kRoundsListedMax, " rounds are open already: seal or cancel one"));
    }
  }
  BLINK_ASSIGN_OR_RETURN(v1::Round stored, store_.CreateRound(round, request.request_id()));
  if (stored.round_id() == round.round_id()) {
    spdlog::info("round {} is open until {}", stored.round_id(),
                 absl::FormatTime(absl::FromUnixMillis(stored.deadline_ms()), absl::UTCTimeZone()));
    {
      std::lock_guard<std::mutex> lock(mutex_);
      open_[stored.round_id()] = {stored.deadline_ms(), ActiveNodes(stored)};
    }
    // Reports may have come before the line above: the round was in the store already.
    BLINK_ASSIGN_OR_RETURN(const v1::Round now, store_.GetRound(stored.round_id()));
    NoteReport(stored.round_id(), now.reports());
    return stored;
  }
  BLINK_RETURN_IF_ERROR(CheckSameRequest(request.request_id(), stored, round));
  return WithLive(std::move(stored));
}

absl::Status Pipeline::CheckTrainableByWorker(const v1::Round& round) {
  if (!options_.facts) return absl::OkStatus();
  const absl::StatusOr<TrainingFacts> facts = options_.facts();
  if (!facts.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("no round can be trained: ", facts.status().message()));
  }
  if (!gpus_.has_value()) BLINK_RETURN_IF_ERROR(AskForGpus());
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(round.parameters()));
  return CheckTrainable(
      round.training(), *facts,
      {.flip_probability = parameters.sends_bits() ? parameters.flip_probability() : 0, .gpus = gpus_});
}

absl::Status Pipeline::AskForGpus() {
  WorkerLimits limits = options_.worker_limits;
  limits.wall_time = kGpusAnswerMax;
  const auto is_stopping = [this] {
    std::lock_guard<std::mutex> lock(mutex_);
    return stopping_;
  };
  const absl::StatusOr<WorkerExit> exit = RunWorker(
      {options_.worker_path, "--gpus"}, limits, [](const WorkerProgress&) {}, is_stopping);
  const std::string why = exit.ok() ? exit->message : std::string(exit.status().message());
  // Its own verdict on itself, such as too little memory for its libraries, would be that on every round.
  if (exit.ok() ? exit->kind == WorkerExit::Kind::kError : !absl::IsResourceExhausted(exit.status())) {
    return absl::FailedPreconditionError(absl::StrCat("no round can be trained, the worker does not start: ", why));
  }
  if (exit.ok()) gpus_ = exit->gpus;
  if (!gpus_.has_value()) spdlog::warn("it is not known which GPUs the worker has: it did not answer {}", why);
  return absl::OkStatus();
}

absl::StatusOr<v1::Round> Pipeline::SealBecause(const std::string& round_id, const std::string& why) {
  absl::StatusOr<v1::Round> sealed =
      store_.UpdateRound(round_id, {v1::ROUND_STATE_OPEN}, [&](v1::Round& round) -> absl::Status {
        const uint32_t n = ActiveNodes(round);
        if (round.reports() < round.quorum()) {
          round.set_state(v1::ROUND_STATE_FAILED);
          round.set_failure_reason(absl::StrCat(round.reports(), " of ", n, " nodes reported, the quorum is ",
                                                round.quorum(), " (sealed ", why, ")"));
        } else {
          round.set_state(v1::ROUND_STATE_SEALED);
          round.set_progress_text(absl::StrCat("sealed ", why, ", with ", round.reports(), " of ", n, " reports"));
        }
        return absl::OkStatus();
      });
  if (!sealed.ok()) return sealed;
  spdlog::info("round {} is {}: {}", round_id, RoundStateName(sealed->state()),
               sealed->state() == v1::ROUND_STATE_FAILED ? sealed->failure_reason() : sealed->progress_text());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(round_id);
    sealed_.push_back(round_id);
  }
  wake_runner_.notify_all();
  Changed(round_id);
  return sealed;
}

absl::StatusOr<v1::Round> Pipeline::Seal(const std::string& round_id) {
  return SealBecause(round_id, "by an operator");
}

absl::StatusOr<v1::Round> Pipeline::Cancel(const std::string& round_id) {
  v1::RoundState before = v1::ROUND_STATE_UNSPECIFIED;
  absl::StatusOr<v1::Round> cancelled =
      store_.UpdateRound(round_id,
                         {v1::ROUND_STATE_OPEN, v1::ROUND_STATE_SEALED, v1::ROUND_STATE_ESTIMATING,
                          v1::ROUND_STATE_TRAINING, v1::ROUND_STATE_CANCELLED},
                         [&](v1::Round& round) {
                           before = round.state();
                           round.set_state(v1::ROUND_STATE_CANCELLED);
                           round.set_progress_text("cancelled by an operator");
                           return absl::OkStatus();
                         });
  if (!cancelled.ok()) return cancelled;
  spdlog::info("round {} is cancelled", round_id);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    open_.erase(round_id);
    live_.erase(round_id);
    if (before == v1::ROUND_STATE_OPEN) {
      sealed_.push_back(round_id);
    } else if (!IsTerminal(before)) {
      cancelled_.insert(round_id);
    }
  }
  wake_runner_.notify_all();
  Changed(round_id);
  return cancelled;
}

v1::Round Pipeline::WithLive(v1::Round round) {
  if (IsTerminal(round.state())) return round;
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto live = live_.find(round.round_id()); live != live_.end()) {
    round.set_progress(live->second.progress);
    round.set_progress_text(live->second.text);
  } else if (round.state() == v1::ROUND_STATE_OPEN) {
    round.set_progress(static_cast<double>(round.reports()) / ActiveNodes(round));
    round.set_progress_text(absl::StrCat(round.reports(), " of ", ActiveNodes(round), " reports"));
  }
  return round;
}

absl::StatusOr<v1::Round> Pipeline::GetRound(const std::string& round_id) {
  BLINK_ASSIGN_OR_RETURN(v1::Round round, store_.GetRound(round_id));
  return WithLive(std::move(round));
}

std::vector<v1::Round> Pipeline::ListRounds() {
  std::vector<v1::Round> rounds = store_.ListRounds();
  for (v1::Round& round : rounds) round = WithLive(std::move(round));
  return rounds;
}

void Pipeline::NoteReport(const std::string& round_id, uint32_t reports) {
  std::lock_guard<std::mutex> lock(mutex_);
  changed_.insert(round_id);
  const auto open = open_.find(round_id);
  if (open == open_.end() || reports < open->second.active_nodes) return;
  open->second.complete = true;
  seal_now_ = true;
  wake_scheduler_.notify_all();
}

void Pipeline::Changed(const std::string& round_id) { watchers_.Notify({round_id}); }

uint64_t Pipeline::Watch(const std::string& round_id, Watcher watcher) {
  return watchers_.Add(round_id, std::move(watcher));
}

void Pipeline::Unwatch(uint64_t id) { watchers_.Remove(id); }

absl::StatusOr<std::string> Pipeline::ResultPath(const std::string& round_id, const std::string& artifact) {
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, store_.GetRound(round_id));
  const auto is_asked_for = [&](const Artifact& known) { return artifact == known.name; };
  if (std::none_of(kArtifacts.begin(), kArtifacts.end(), is_asked_for)) {
    const auto append_name = [](std::string* out, const Artifact& known) { out->append(known.name); };
    return absl::InvalidArgumentError(
        absl::StrCat("there is no such artifact: ask for ", absl::StrJoin(kArtifacts, ", ", append_name)));
  }
  if (round.state() != v1::ROUND_STATE_READY) {
    return absl::FailedPreconditionError(
        absl::StrCat("round ", round_id, " has no result: it is ", RoundStateName(round.state()),
                     round.failure_reason().empty() ? "" : absl::StrCat(" (", round.failure_reason(), ")")));
  }
  return absl::StrCat(FilesOf(round_id).result(), "/", artifact);
}

RoundFiles Pipeline::FilesOf(const std::string& round_id) const { return RoundFiles(options_.rounds_folder, round_id); }

void Pipeline::Schedule() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    wake_scheduler_.wait_for(lock, kTick, [&] { return stopping_ || seal_now_; });
    if (stopping_) return;
    seal_now_ = false;
    const absl::Time now = clock_.Now();
    const std::vector<std::pair<std::string, std::string>> due = DueAt(now);
    const std::set<std::string> changed = std::exchange(changed_, {});
    lock.unlock();
    for (const auto& [round_id, why] : due) {
      const absl::Status sealed = SealBecause(round_id, why).status();
      if (!sealed.ok()) SealLater(round_id, now, sealed);
    }
    watchers_.Notify(changed);
    lock.lock();
  }
}

void Pipeline::SealLater(const std::string& round_id, absl::Time now, const absl::Status& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto open = open_.find(round_id);
  if (open == open_.end()) return;
  if (absl::IsFailedPrecondition(why)) {  // an operator was faster
    open_.erase(open);
    return;
  }
  std::optional<Retry>& retry = open->second.retry;
  if (!retry.has_value()) retry.emplace(options_.retry_after, options_.retry_after_max);
  const auto [wait, is_news] = retry->Failed(why);
  if (is_news) {
    spdlog::error("round {} cannot be sealed: {}; {}", round_id, TextOf(why), TriedAgain(wait, options_));
  }
  open->second.not_before = now + wait;
}

std::vector<std::pair<std::string, std::string>> Pipeline::DueAt(absl::Time now) const {
  std::vector<std::pair<std::string, std::string>> due;
  for (const auto& [round_id, open] : open_) {
    if (now < open.not_before) continue;
    if (open.complete) {
      due.emplace_back(round_id, "when all had reported");
    } else if (now >= absl::FromUnixMillis(open.deadline_ms)) {
      due.emplace_back(round_id, "at the deadline");
    }
  }
  return due;
}

void Pipeline::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    const auto next = FirstToRun();
    if (next == sealed_.end()) {  // until one is due, or a change of sealed_ or cancelled_ makes one so
      if (waiting_.empty()) {
        wake_runner_.wait(lock);
      } else {
        wake_runner_.wait_until(lock, EndOfFirstWait());
      }
      continue;
    }
    const std::string round_id = *next;
    sealed_.erase(next);
    lock.unlock();
    const absl::Status processed = RunOf(round_id).Run();
    if (const absl::StatusOr<v1::Round> round = store_.GetRound(round_id); round.ok() && IsTerminal(round->state())) {
      FilesOf(round_id).RemoveWhatWorkersKept();
    }
    lock.lock();
    live_.erase(round_id);
    const bool was_cancelled = cancelled_.erase(round_id) > 0;
    if (processed.ok() || stopping_) {
      waiting_.erase(round_id);
    } else {
      TryLater(round_id, processed, was_cancelled);
    }
  }
}

void Pipeline::TryLater(const std::string& round_id, const absl::Status& why, bool at_once) {
  Waiting& waiting = waiting_.try_emplace(round_id, options_).first->second;
  const auto [wait, is_news] = waiting.retry.Failed(why);
  waiting.not_before = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(wait);
  if (at_once) waiting.not_before = {};
  if (is_news) spdlog::error("round {} waits: {}; {}", round_id, TextOf(why), TriedAgain(wait, options_));
  live_[round_id].text = absl::StrCat("waiting: ", why.message());
  sealed_.push_back(round_id);
}

std::deque<std::string>::iterator Pipeline::FirstToRun() {
  const auto now = std::chrono::steady_clock::now();
  return std::find_if(sealed_.begin(), sealed_.end(), [&](const std::string& round_id) {
    const auto waiting = waiting_.find(round_id);
    return waiting == waiting_.end() || waiting->second.not_before <= now || cancelled_.count(round_id) > 0;
  });
}

std::chrono::steady_clock::time_point Pipeline::EndOfFirstWait() const {
  auto first = std::chrono::steady_clock::time_point::max();
  for (const auto& [round_id, waiting] : waiting_) first = std::min(first, waiting.not_before);
  return first;
}

RoundRun Pipeline::RunOf(const std::string& round_id) {
  return RoundRun(options_, store_, round_id,
                  {.changed = [this, round_id] { Changed(round_id); },
                   .progress = [this, round_id](const WorkerProgress& progress) { Hear(round_id, progress); },
                   .should_stop = [this, round_id] { return ShouldStop(round_id); }});
}

void Pipeline::Hear(const std::string& round_id, const WorkerProgress& progress) {
  bool training = progress.stage == v1::ROUND_STATE_TRAINING;
  bool enters_training = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (cancelled_.count(round_id) > 0) return;
    enters_training = training && !live_[round_id].training;
  }
  if (enters_training) {
    // The state first, then the text that belongs to it. A second attempt finds the round in training already: a state
    // never moves back. After a full disk the next line tries again.
    const absl::Status entered = store_
                                     .UpdateRound(round_id, {v1::ROUND_STATE_SEALED, v1::ROUND_STATE_ESTIMATING},
                                                  [](v1::Round& round) {
                                                    round.set_state(v1::ROUND_STATE_TRAINING);
                                                    return absl::OkStatus();
                                                  })
                                     .status();
    training = entered.ok() || absl::IsFailedPrecondition(entered);
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (cancelled_.count(round_id) > 0) return;
    Live& live = live_[round_id];
    live = {progress.progress, progress.text, training || live.training};
    changed_.insert(round_id);
  }
  if (enters_training) Changed(round_id);
}

bool Pipeline::ShouldStop(const std::string& round_id) {
  std::lock_guard<std::mutex> lock(mutex_);
  return stopping_ || cancelled_.count(round_id) > 0;
}

}  // namespace blink
