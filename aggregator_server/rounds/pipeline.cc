#include "aggregator_server/rounds/pipeline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator_server/rounds/new_round.h"
#include "aggregator_server/rounds/round_files.h"
#include "aggregator_server/rounds/round_history.h"
#include "aggregator_server/rounds/round_run.h"
#include "aggregator_server/select/memory_need.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/privacy/parameters.h"
#include "common/wire/artifacts.h"
#include "common/wire/groups_codec.h"
#include "common/wire/round.h"

namespace blink {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kLookAtStoreEvery = std::chrono::seconds(2);
constexpr auto kTellOthersEvery = std::chrono::seconds(2);
// How often the log tells of an open round: while reports come, and while none do.
constexpr absl::Duration kTellOfReportsEvery = absl::Minutes(1);
constexpr absl::Duration kTellOfSilenceEvery = absl::Minutes(10);
constexpr absl::Duration kGpusAnswerMax = absl::Seconds(10);

std::vector<double> StageBounds() { return {0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400, 43200, 86400, 604800}; }

double SecondsSince(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

// Rounds of before there were rosters do not say it: then all are active.
uint32_t CountActiveNodes(const v1::Round& round) {
  return round.active_nodes() > 0 ? round.active_nodes() : round.parameters().node_count();
}

std::string FormatStatus(const absl::Status& status) {
  return status.ToString(absl::StatusToStringMode::kWithNoExtraData);
}

std::string DescribeRetry(absl::Duration wait, const PipelineOptions& options) {
  return absl::StrCat("tried again after ", absl::FormatDuration(wait), ", then twice as long each time, at most ",
                      absl::FormatDuration(options.retry_after_max));
}

// What a silent worker said last may be far from the truth, such as "48 s left".
std::string DescribeProgress(const WorkerProgress& progress) {
  if (progress.silent_for == absl::ZeroDuration()) return progress.text;
  return absl::StrCat("no sign of life for ", absl::FormatDuration(progress.silent_for),
                      progress.text.empty() ? "" : "; before: ", progress.text);
}

absl::Status RefuseRetryOfDeleted(const v1::Round& round) {
  return absl::FailedPreconditionError(absl::StrCat(
      "the reports of round ", round.round_id(), " were deleted at ",
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMillis(round.reports_deleted_ms()), absl::UTCTimeZone()),
      ": create another round"));
}

std::string OperatorText(const std::string& by) { return by.empty() ? "an operator" : by; }

}  // namespace

Pipeline::Pipeline(PipelineOptions options, ReportStore& store, Clock& clock)
    : options_(std::move(options)),
      store_(store),
      clock_(clock),
      open_seconds_(StageBounds()),
      estimating_seconds_(StageBounds()),
      training_seconds_(StageBounds()),
      deletion_(options_, store_, clock_,
                {.is_busy =
                     [this](const std::string& round_id) {
                       const std::lock_guard<std::mutex> lock(mutex_);
                       return records_.count(round_id) > 0;
                     },
                 .changed = [this](const std::string& round_id) { NotifyWatchers(round_id); }}) {}

Pipeline::~Pipeline() { Stop(); }

absl::Status Pipeline::TakeUp() {
  BLINK_RETURN_IF_ERROR(MakeDirectories(options_.rounds_folder));
  const std::optional<uint64_t> lease = store_.GetLease();
  return lease.has_value() ? TakeUpRounds(*lease) : absl::OkStatus();
}

absl::Status Pipeline::Start() {
  BLINK_RETURN_IF_ERROR(TakeUp());
  scheduler_ = std::thread([this] { SealRoundsUntilStopped(); });
  runner_ = std::thread([this] { RunRoundsUntilStopped(); });
  deletion_.Start();
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
  deletion_.Stop();
}

absl::StatusOr<v1::Round> Pipeline::CreateRound(const v1::CreateRoundRequest& request, const std::string& by) {
  std::optional<FollowedRound> followed;
  if (!request.follows().empty()) {
    BLINK_ASSIGN_OR_RETURN(followed, FindFollowed(request));
  }
  BLINK_ASSIGN_OR_RETURN(NewRound made, MakeRound(options_, request, followed ? &*followed : nullptr));
  v1::Round& round = made.round;
  std::lock_guard<std::mutex> create_lock(create_mutex_);
  BLINK_RETURN_IF_ERROR(CheckTrainableByWorker(round));
  EnterState(round, v1::ROUND_STATE_OPEN, clock_.Now(), by);
  round.set_created_ms(round.history(0).at_ms());
  round.set_deadline_ms(round.created_ms() + static_cast<int64_t>(request.open_for_ms()));
  size_t open_elsewhere = 0;
  if (store_.IsShared()) {
    BLINK_ASSIGN_OR_RETURN(const std::vector<v1::Round> open, store_.ListOpenRounds());
    open_elsewhere = open.size();
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (std::max(CountOpenRounds(), open_elsewhere) >= kRoundsListedMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat(kRoundsListedMax, " rounds are open already: seal or cancel one"));
    }
  }
  BLINK_ASSIGN_OR_RETURN(v1::Round stored, store_.CreateRound(round, request.request_id(), made.groups));
  if (stored.round_id() == round.round_id()) {
    spdlog::info("round {} is open until {}", stored.round_id(),
                 absl::FormatTime(absl::FromUnixMillis(stored.deadline_ms()), absl::UTCTimeZone()));
    {
      std::lock_guard<std::mutex> lock(mutex_);
      AddOpenRound(stored);
    }
    // Reports may have come before the line above: the round was in the store already.
    BLINK_ASSIGN_OR_RETURN(const v1::Round now, store_.GetRound(stored.round_id()));
    NoteReport(stored.round_id(), now.reports());
    return stored;
  }
  BLINK_RETURN_IF_ERROR(CheckSameRequest(request.request_id(), stored, round));
  return AddProgress(std::move(stored));
}

absl::StatusOr<FollowedRound> Pipeline::FindFollowed(const v1::CreateRoundRequest& request) {
  if (!request.request_id().empty()) {
    BLINK_ASSIGN_OR_RETURN(const std::optional<v1::Round> held, store_.FindRequest(request.request_id()));
    if (held && held->follows() == request.follows()) {  // it has the groups, whatever became of where they came from
      BLINK_ASSIGN_OR_RETURN(const std::string coded, store_.GetGroups(*held));
      BLINK_ASSIGN_OR_RETURN(NodeGroups groups,
                             DecodeGroups(coded, held->parameters().node_count(), held->parameters().group_count()));
      return FollowedRound{*held, std::move(groups)};
    }
  }
  absl::StatusOr<v1::Round> round = store_.GetRound(request.follows());
  if (absl::IsNotFound(round.status())) {
    return absl::NotFoundError(absl::StrCat("follows names round ", request.follows(), ", and there is no such round"));
  }
  BLINK_RETURN_IF_ERROR(round.status());
  return ReadFollowedRound(*std::move(round), FilesOf(request.follows()).result(), options_.node_count);
}

absl::Status Pipeline::CheckTrainableByWorker(const v1::Round& round) {
  if (!options_.facts) return absl::OkStatus();
  const absl::StatusOr<TrainingFacts> facts = options_.facts();
  if (!facts.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("no round can be trained: ", facts.status().message()));
  }
  // Without a model nothing depends on the answer, which may take a while on a busy machine.
  const bool trains = round.training().model() != v1::MODEL_NONE;
  if (trains && !gpus_.has_value()) BLINK_RETURN_IF_ERROR(AskForGpus());
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(round.parameters()));
  const bool draws_links = parameters.sends_group_degrees();  // from answers; without a model nothing can be wrong
  if (trains || !draws_links) {
    BLINK_RETURN_IF_ERROR(
        CheckTrainable(round.training(), *facts,
                       {.estimated = !draws_links,
                        .flip_probability = parameters.sends_bits() ? parameters.flip_probability() : 0,
                        .gpus = gpus_}));
  }
  if (options_.ignore_memory) return absl::OkStatus();
  MachineMemory memory = FindMachineMemory();
  if (const uint64_t limit = options_.worker_limits.memory_bytes; limit > 0 && limit < memory.total) {
    memory.total = limit;
    memory.total_of = "--worker-memory-bytes";
  }
  // A limit is one of address space, to which rows on the disk belong as well.
  const bool on_disk = options_.worker_limits.memory_bytes == 0;
  const ReportsInMemory reports = ReportsInMemory::Of(&parameters, round.implausible(), on_disk);
  const absl::Status fits =
      CheckMemory(EstimateMemoryNeed(round.training(), SizeOf(*facts), reports), memory.total, memory.total_of);
  // Another try would end likewise.
  return fits.ok() ? fits
                   : absl::FailedPreconditionError(
                         absl::StrCat("no worker could finish this round: ", fits.message(), " of blink-aggregator"));
}

absl::Status Pipeline::AskForGpus() {
  WorkerLimits limits = options_.worker_limits;
  limits.wall_time = kGpusAnswerMax;
  limits.niceness = 0;  // it is short, and has to be in time
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
  if (!gpus_.has_value()) spdlog::warn("it is not known which GPUs the worker has: it did not answer: {}", why);
  return absl::OkStatus();
}

absl::StatusOr<v1::Round> Pipeline::SealBecause(const std::string& round_id, const std::string& why,
                                                const std::string& by, std::optional<uint64_t> lease) {
  const auto seal = [&](v1::Round& round) -> absl::Status {
    const uint32_t n = CountActiveNodes(round);
    if (round.reports() < round.quorum()) {
      EnterState(round, v1::ROUND_STATE_FAILED, clock_.Now(), by);
      round.set_failure_reason(absl::StrCat(round.reports(), " of ", n, " nodes reported, the quorum is ",
                                            round.quorum(), " (sealed ", why, ")"));
    } else {
      EnterState(round, v1::ROUND_STATE_SEALED, clock_.Now(), by);
      round.set_progress_text(absl::StrCat("sealed ", why, ", with ", round.reports(), " of ", n, " reports"));
    }
    return absl::OkStatus();
  };
  absl::StatusOr<v1::Round> sealed = lease.has_value()
                                         ? store_.UpdateRoundAsHolder(*lease, round_id, {v1::ROUND_STATE_OPEN}, seal)
                                         : store_.UpdateRound(round_id, {v1::ROUND_STATE_OPEN}, seal);
  if (!sealed.ok()) return sealed;
  if (sealed->state() == v1::ROUND_STATE_FAILED) ++failed_rounds_;
  open_seconds_.Add(std::max(0.0, absl::ToDoubleSeconds(clock_.Now() - absl::FromUnixMillis(sealed->created_ms()))));
  spdlog::info("round {} is {}: {}", round_id, RoundStateName(sealed->state()),
               sealed->state() == v1::ROUND_STATE_FAILED ? sealed->failure_reason() : sealed->progress_text());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Enqueue(round_id);
  }
  wake_runner_.notify_all();
  NotifyWatchers(round_id);
  return sealed;
}

absl::StatusOr<v1::Round> Pipeline::Seal(const std::string& round_id, const std::string& by) {
  return SealBecause(round_id, absl::StrCat("by ", OperatorText(by)), by, std::nullopt);
}

absl::StatusOr<v1::Round> Pipeline::Cancel(const std::string& round_id, const std::string& by) {
  v1::RoundState before = v1::ROUND_STATE_UNSPECIFIED;
  absl::StatusOr<v1::Round> cancelled =
      store_.UpdateRound(round_id,
                         {v1::ROUND_STATE_OPEN, v1::ROUND_STATE_SEALED, v1::ROUND_STATE_ESTIMATING,
                          v1::ROUND_STATE_TRAINING, v1::ROUND_STATE_CANCELLED},
                         [&](v1::Round& round) {
                           before = round.state();
                           if (before == v1::ROUND_STATE_CANCELLED) return absl::OkStatus();
                           EnterState(round, v1::ROUND_STATE_CANCELLED, clock_.Now(), by);
                           round.set_progress_text(absl::StrCat("cancelled by ", OperatorText(by)));
                           return absl::OkStatus();
                         });
  if (!cancelled.ok()) return cancelled;
  spdlog::info("round {} is {}", round_id, cancelled->progress_text());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (before == v1::ROUND_STATE_OPEN) {
      Enqueue(round_id);
    } else if (const auto record = records_.find(round_id); record != records_.end() && !IsTerminal(before)) {
      record->second.is_cancelled = true;
    }
  }
  wake_runner_.notify_all();
  NotifyWatchers(round_id);
  return cancelled;
}

absl::StatusOr<v1::Round> Pipeline::AnalyseAgain(const std::string& round_id, const v1::TrainingSpec& training,
                                                 const std::string& by) {
  BLINK_ASSIGN_OR_RETURN(v1::Round round, store_.GetRound(round_id));
  if (round.reports_deleted_ms() != 0) return RefuseRetryOfDeleted(round);
  if (round.state() != v1::ROUND_STATE_FAILED && round.state() != v1::ROUND_STATE_CANCELLED) {
    const bool by_hand = round.state() == v1::ROUND_STATE_READY && !round.encrypted();
    return absl::FailedPreconditionError(absl::StrCat(
        "round ", round_id, " is ", RoundStateName(round.state()), ", and only a failed or cancelled one is retried",
        by_hand ? ": run blink-worker on its folder for another analysis" : ""));
  }
  if (round.reports() == 0) {
    return absl::FailedPreconditionError(absl::StrCat("round ", round_id, " has no report: create another round"));
  }
  BLINK_ASSIGN_OR_RETURN(*round.mutable_training(), TrainingOfRetry(round, training));
  {
    const std::lock_guard<std::mutex> create_lock(create_mutex_);
    BLINK_RETURN_IF_ERROR(CheckTrainableByWorker(round));
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto record = records_.find(round_id);
    if (record != records_.end() && record->second.phase == RoundRecord::Phase::kRunning) {
      return absl::FailedPreconditionError(
          absl::StrCat("round ", round_id, " is still being ended: try again in a few seconds"));
    }
  }
  const auto seal_again = [&](v1::Round& stored) {
    if (stored.reports_deleted_ms() != 0) return RefuseRetryOfDeleted(stored);
    EnterState(stored, v1::ROUND_STATE_SEALED, clock_.Now(), by);
    *stored.mutable_training() = round.training();
    stored.clear_failure_reason();
    stored.set_attempts(0);
    stored.set_progress(0);
    stored.set_progress_text(absl::StrCat("retried by ", OperatorText(by)));
    return absl::OkStatus();
  };
  BLINK_ASSIGN_OR_RETURN(const v1::Round retried,
                         store_.UpdateRound(round_id, {v1::ROUND_STATE_FAILED, v1::ROUND_STATE_CANCELLED}, seal_again));
  spdlog::info("round {} is {}", round_id, retried.progress_text());
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Enqueue(round_id);
  }
  wake_runner_.notify_all();
  NotifyWatchers(round_id);
  return retried;
}

absl::StatusOr<Pipeline::MissingNodes> Pipeline::ListMissing(const std::string& round_id, uint64_t first) {
  constexpr uint64_t kReportsOfPage = 10'000;
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, store_.GetRound(round_id));
  const uint64_t n = round.parameters().node_count();
  MissingNodes missing;
  if (first >= n) return missing;
  uint64_t reports = 0, at = first;
  const auto of_round = options_.retired.find(round.roster_version());
  static const std::vector<NodeRange> kNone;
  const std::vector<NodeRange>& all_retired = of_round == options_.retired.end() ? kNone : of_round->second;
  const auto add_up_to = [&](uint64_t end) {  // nodes at .. end - 1, but for the retired
    while (at < end) {
      const auto retired = std::lower_bound(all_retired.begin(), all_retired.end(), at,
                                            [](const NodeRange& range, uint64_t node) { return range.last < node; });
      const uint64_t to = retired == all_retired.end() ? end : std::min(end, retired->first);
      if (at < to) missing.ranges.push_back({at, to - 1});
      at = to == end ? end : retired->last + 1;
    }
  };
  const auto visit = [&](uint64_t node, const Digest&) {
    add_up_to(node);
    at = node + 1;
    ++reports;
    return absl::OkStatus();
  };
  BLINK_RETURN_IF_ERROR(store_.VisitDigests(round_id, first, n - 1, kReportsOfPage, visit));
  if (reports == kReportsOfPage && at < n) {
    missing.next = at;
  } else {
    add_up_to(n);
  }
  return missing;
}

v1::Round Pipeline::AddProgress(v1::Round round) {
  if (IsTerminal(round.state())) return round;
  const absl::Status can_store = round.state() == v1::ROUND_STATE_OPEN ? store_.CheckCanStore() : absl::OkStatus();
  std::lock_guard<std::mutex> lock(mutex_);
  if (const auto record = records_.find(round.round_id()); record != records_.end() && record->second.progress) {
    round.set_progress(record->second.progress->fraction);
    round.set_progress_text(record->second.progress->text);
  } else if (round.state() == v1::ROUND_STATE_OPEN) {
    round.set_progress(static_cast<double>(round.reports()) / CountActiveNodes(round));
    round.set_progress_text(absl::StrCat(round.reports(), " of ", CountActiveNodes(round), " reports"));
    if (!can_store.ok()) {
      round.set_progress_text(absl::StrCat(round.progress_text(), "; none can be stored now: ", can_store.message()));
    }
  }
  return round;
}

void Pipeline::TellOfTheStore() {
  if (std::chrono::steady_clock::now() < next_look_at_store_) return;
  next_look_at_store_ = std::chrono::steady_clock::now() + kLookAtStoreEvery;
  const absl::Status can_store = store_.CheckCanStore();
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t open = CountOpenRounds();
  if (open == 0 || can_store.ok() != store_is_stuck_) return;
  store_is_stuck_ = !can_store.ok();
  for (auto& [round_id, record] : records_) record.changed |= record.phase == RoundRecord::Phase::kOpen;
  if (store_is_stuck_) {
    spdlog::error("no report can be stored, and {} rounds are open: {}", open, std::string(can_store.message()));
  } else {
    spdlog::info("reports can be stored again");
  }
}

absl::StatusOr<v1::Round> Pipeline::GetRound(const std::string& round_id) {
  BLINK_ASSIGN_OR_RETURN(v1::Round round, store_.GetRound(round_id));
  return AddProgress(std::move(round));
}

absl::StatusOr<std::vector<v1::Round>> Pipeline::ListRounds() {
  BLINK_ASSIGN_OR_RETURN(std::vector<v1::Round> rounds, store_.ListRounds());
  for (v1::Round& round : rounds) round = AddProgress(std::move(round));
  return rounds;
}

void Pipeline::NoteReport(const std::string& round_id, uint32_t reports) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto record = records_.find(round_id);
  if (record == records_.end()) return;  // CreateRound will look at the count of reports, or the round has ended
  record->second.changed = true;
  record->second.reports = std::max(record->second.reports, reports);
  if (record->second.phase != RoundRecord::Phase::kOpen || reports < record->second.active_nodes) return;
  record->second.is_complete = true;
  seal_now_ = true;
  wake_scheduler_.notify_all();
}

void Pipeline::NotifyWatchers(const std::string& round_id) { watchers_.Notify({round_id}); }

uint64_t Pipeline::Watch(const std::string& round_id, Watcher watcher) {
  return watchers_.Add(round_id, std::move(watcher));
}

void Pipeline::Unwatch(uint64_t id) { watchers_.Remove(id); }

absl::StatusOr<std::string> Pipeline::FindResult(const std::string& round_id, const std::string& artifact) {
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, store_.GetRound(round_id));
  const auto is_asked_for = [&](const Artifact& known) { return artifact == known.name; };
  const Artifact* const known = std::find_if(kArtifacts.begin(), kArtifacts.end(), is_asked_for);
  if (known == kArtifacts.end()) {
    const auto append_name = [](std::string* out, const Artifact& known) { out->append(known.name); };
    return absl::InvalidArgumentError(
        absl::StrCat("there is no such artifact: ask for ", absl::StrJoin(kArtifacts, ", ", append_name)));
  }
  if (round.state() != v1::ROUND_STATE_READY) {
    return absl::FailedPreconditionError(
        absl::StrCat("round ", round_id, " has no result: it is ", RoundStateName(round.state()),
                     round.failure_reason().empty() ? "" : absl::StrCat(" (", round.failure_reason(), ")")));
  }
  if (round.result_deleted()) {
    return absl::FailedPreconditionError(absl::StrCat("round ", round_id, " has no result: an operator deleted it"));
  }
  if (known->presence == Artifact::kWithModel && round.training().model() == v1::MODEL_NONE) {
    return absl::NotFoundError(
        absl::StrCat("round ", round_id, " trained no model (--model none), so there is no ", artifact));
  }
  return absl::StrCat(FilesOf(round_id).result(), "/", artifact);
}

RoundFiles Pipeline::FilesOf(const std::string& round_id) const { return RoundFiles(options_.rounds_folder, round_id); }

void Pipeline::AddOpenRound(const v1::Round& round) {
  if (!lease_.has_value()) return;
  const auto [added, is_new] = records_.try_emplace(round.round_id());
  if (!is_new) return;  // somebody was faster and has sealed or cancelled it
  RoundRecord& record = added->second;
  record.deadline = clock_.Monotonic() + (absl::FromUnixMillis(round.deadline_ms()) - clock_.Now());
  record.active_nodes = CountActiveNodes(round);
  record.is_complete = round.reports() >= record.active_nodes;
  record.reports = record.told_reports = round.reports();
  record.tell_from = clock_.Monotonic() + kTellOfReportsEvery;
}

void Pipeline::LogCollection(absl::Duration now) {
  for (auto& [round_id, record] : records_) {
    if (record.phase != RoundRecord::Phase::kOpen || now < record.tell_from) continue;
    const uint32_t fresh = record.reports - record.told_reports;
    if (fresh == 0 && now < record.tell_from + kTellOfSilenceEvery - kTellOfReportsEvery) continue;
    spdlog::info("round {}: {} of {} nodes have reported, {} of them since the last line; open for another {}",
                 round_id, record.reports, record.active_nodes, fresh,
                 absl::FormatDuration(absl::Trunc(record.deadline - now, absl::Seconds(1))));
    record.told_reports = record.reports;
    record.tell_from = now + kTellOfReportsEvery;
  }
}

void Pipeline::Enqueue(const std::string& round_id) {
  if (!lease_.has_value()) return;
  RoundRecord& record = records_[round_id];
  record.phase = RoundRecord::Phase::kQueued;
  record.retry.reset();
  record.turn = next_turn_++;
  record.is_cancelled = false;
  record.run_not_before = SteadyTime::min();
  record.progress.reset();
}

size_t Pipeline::CountOpenRounds() const {
  return std::count_if(records_.begin(), records_.end(),
                       [](const auto& item) { return item.second.phase == RoundRecord::Phase::kOpen; });
}

std::set<std::string> Pipeline::TakeChanged() {
  std::set<std::string> changed;
  for (auto& [round_id, record] : records_) {
    if (std::exchange(record.changed, false)) changed.insert(round_id);
  }
  return changed;
}

void Pipeline::SealRoundsUntilStopped() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    wake_scheduler_.wait_for(lock, kTick, [&] { return stopping_ || seal_now_; });
    if (stopping_) return;
    seal_now_ = false;
    lock.unlock();
    SealWhatIsDue();
    lock.lock();
  }
}

void Pipeline::SealWhatIsDue() {
  LookAtShared();
  TellOfTheStore();
  std::unique_lock<std::mutex> lock(mutex_);
  const std::optional<uint64_t> lease = lease_;
  const absl::Duration now = clock_.Monotonic();
  const std::vector<std::pair<std::string, std::string>> due = ListDue(now);
  const std::set<std::string> changed = TakeChanged();
  LogCollection(now);
  lock.unlock();
  for (const auto& [round_id, why] : due) {
    const absl::Status sealed = SealBecause(round_id, why, /*by=*/"", lease).status();
    if (!sealed.ok()) SealLater(round_id, now, sealed);
  }
  watchers_.Notify(changed);
}

void Pipeline::SealLater(const std::string& round_id, absl::Duration now, const absl::Status& why) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = records_.find(round_id);
  if (found == records_.end() || found->second.phase != RoundRecord::Phase::kOpen) return;
  if (absl::IsFailedPrecondition(why)) {  // an operator was faster, and is about to queue it
    records_.erase(found);
    return;
  }
  RoundRecord& record = found->second;
  if (!record.retry.has_value()) record.retry.emplace(options_.retry_after, options_.retry_after_max);
  const auto [wait, is_news] = record.retry->NoteFailure(why);
  if (is_news) {
    spdlog::error("round {} cannot be sealed: {}; {}", round_id, FormatStatus(why), DescribeRetry(wait, options_));
  }
  record.seal_not_before = now + wait;
}

std::vector<std::pair<std::string, std::string>> Pipeline::ListDue(absl::Duration now) const {
  std::vector<std::pair<std::string, std::string>> due;
  for (const auto& [round_id, record] : records_) {
    if (record.phase != RoundRecord::Phase::kOpen || now < record.seal_not_before) continue;
    if (record.is_complete) {
      due.emplace_back(round_id, "when all had reported");
    } else if (now >= record.deadline) {
      due.emplace_back(round_id, "at the deadline");
    }
  }
  return due;
}

void Pipeline::RunRoundsUntilStopped() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    if (RunNextRound(lock)) continue;
    // until the first may run, or a seal or a cancellation wakes us
    if (const SteadyTime end = FindEndOfFirstWait(); end == SteadyTime::max()) {
      wake_runner_.wait(lock);
    } else {
      wake_runner_.wait_until(lock, end);
    }
  }
}

bool Pipeline::RunNextRound() {
  std::unique_lock<std::mutex> lock(mutex_);
  return RunNextRound(lock);
}

bool Pipeline::RunNextRound(std::unique_lock<std::mutex>& lock) {
  const auto next = FindFirstToRun();
  if (next == records_.end()) return false;
  next->second.phase = RoundRecord::Phase::kRunning;
  const std::string round_id = running_ = next->first;
  const uint64_t lease = *lease_;  // there are no records without one
  const uint64_t turn = next->second.turn;
  lock.unlock();
  const absl::Status processed = MakeRun(round_id, lease, turn).Run();
  const absl::StatusOr<v1::Round> round = store_.GetRound(round_id);
  if (round.ok() && IsTerminal(round->state())) FilesOf(round_id).RemoveWhatWorkersKept();
  lock.lock();
  running_.clear();
  if (const RoundRecord& record = next->second;
      record.stage_began.has_value() && round.ok() && round->state() == v1::ROUND_STATE_READY) {
    const bool was_training = record.progress && record.progress->is_training;
    (was_training ? training_seconds_ : estimating_seconds_).Add(SecondsSince(*record.stage_began));
  }
  if (next->second.phase == RoundRecord::Phase::kQueued) return true;  // an operator retries it
  if (processed.ok() || stopping_ || lease_ != lease) {
    records_.erase(next);  // only the runner erases what it runs
  } else {
    RunLater(round_id, next->second, processed);
  }
  return true;
}

void Pipeline::RunLater(const std::string& round_id, RoundRecord& record, const absl::Status& why) {
  if (!record.retry.has_value()) record.retry.emplace(options_.retry_after, options_.retry_after_max);
  const auto [wait, is_news] = record.retry->NoteFailure(why);
  if (is_news) spdlog::error("round {} waits: {}; {}", round_id, FormatStatus(why), DescribeRetry(wait, options_));
  record.progress = RoundRecord::Progress{.text = absl::StrCat("waiting: ", why.message())};
  record.phase = RoundRecord::Phase::kQueued;
  record.turn = next_turn_++;
  const bool was_cancelled = std::exchange(record.is_cancelled, false);  // during the run: its end is tried at once
  record.run_not_before =
      was_cancelled ? SteadyTime::min() : std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(wait);
}

Pipeline::Records::iterator Pipeline::FindFirstToRun() {
  const SteadyTime now = std::chrono::steady_clock::now();
  auto first = records_.end();
  for (auto item = records_.begin(); item != records_.end(); ++item) {
    const RoundRecord& record = item->second;
    if (record.phase != RoundRecord::Phase::kQueued || (record.run_not_before > now && !record.is_cancelled)) continue;
    if (first == records_.end() || record.turn < first->second.turn) first = item;
  }
  return first;
}

Pipeline::SteadyTime Pipeline::FindEndOfFirstWait() const {
  SteadyTime first = SteadyTime::max();
  for (const auto& [round_id, record] : records_) {
    if (record.phase == RoundRecord::Phase::kQueued) first = std::min(first, record.run_not_before);
  }
  return first;
}

RoundRun Pipeline::MakeRun(const std::string& round_id, uint64_t lease, uint64_t turn) {
  return RoundRun(
      options_, store_, clock_, lease, round_id,
      {.changed = [this, round_id] { NotifyWatchers(round_id); },
       .progress = [this, round_id, lease](const WorkerProgress& progress) { TakeProgress(round_id, lease, progress); },
       .should_stop = [this, round_id, lease, turn] { return ShouldStop(round_id, lease, turn); },
       .started = [this, round_id](pid_t pid, uint32_t attempt) { NoteWorker(round_id, pid, attempt); },
       .ended = [this, round_id](const WorkerExit& exit) { NoteWorkerExit(round_id, exit); },
       .failed = [this] { ++failed_rounds_; }});
}

void Pipeline::NoteWorker(const std::string& round_id, pid_t pid, uint32_t attempt) {
  std::lock_guard<std::mutex> lock(mutex_);
  RoundRecord& record = records_.at(round_id);
  record.worker_pid = pid;
  record.attempt = attempt;
  record.told = std::chrono::steady_clock::now();
  if (!record.stage_began.has_value()) record.stage_began = record.told;
}

void Pipeline::NoteWorkerExit(const std::string& round_id, const WorkerExit& exit) {
  std::lock_guard<std::mutex> lock(mutex_);
  records_.at(round_id).worker_pid = 0;
  ++worker_exits_.at(static_cast<size_t>(exit.kind));
}

PipelineActivity Pipeline::GetActivity() {
  PipelineActivity activity{.open_seconds = open_seconds_.Read(),
                            .estimating_seconds = estimating_seconds_.Read(),
                            .training_seconds = training_seconds_.Read()};
  {
    std::lock_guard<std::mutex> lock(mutex_);
    activity.worker_exits = worker_exits_;
    activity.rounds_deleted = deletion_.deleted();
    activity.failed_rounds = failed_rounds_;
    for (const auto& [round_id, record] : records_) {
      activity.queued += record.phase == RoundRecord::Phase::kQueued;
      if (record.worker_pid == 0) continue;
      WorkerActivity& worker = activity.worker.emplace();
      worker.round_id = round_id;
      worker.pid = record.worker_pid;
      worker.attempt = record.attempt;
      worker.silent = absl::Seconds(SecondsSince(record.told));
      if (record.progress) {
        worker.is_training = record.progress->is_training;
        worker.progress = record.progress->fraction;
      }
    }
  }
  if (activity.worker) activity.worker->checkpoint = FilesOf(activity.worker->round_id).CheckpointTime();
  return activity;
}

void Pipeline::TakeProgress(const std::string& round_id, uint64_t lease, const WorkerProgress& progress) {
  bool is_training = progress.stage == v1::ROUND_STATE_TRAINING;
  bool enters_training = false, tells_others = false;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const RoundRecord& record = records_.at(round_id);
    if (record.is_cancelled) return;
    enters_training = is_training && !(record.progress && record.progress->is_training);
  }
  if (enters_training) {
    // The state first, then the text that belongs to it. A second attempt finds the round in training already: a state
    // never moves back. After a full disk the next line tries again.
    const absl::Status entered =
        store_
            .UpdateRoundAsHolder(lease, round_id, {v1::ROUND_STATE_SEALED, v1::ROUND_STATE_ESTIMATING},
                                 [this](v1::Round& round) {
                                   EnterState(round, v1::ROUND_STATE_TRAINING, clock_.Now());
                                   return absl::OkStatus();
                                 })
            .status();
    is_training = entered.ok() || absl::IsFailedPrecondition(entered);
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    RoundRecord& record = records_.at(round_id);
    if (record.is_cancelled) return;
    const bool was_training = record.progress && record.progress->is_training;
    is_training = is_training || was_training;
    if (progress.silent_for == absl::ZeroDuration()) record.told = std::chrono::steady_clock::now();
    if (is_training && !was_training && record.stage_began.has_value()) {
      estimating_seconds_.Add(SecondsSince(*record.stage_began));
      record.stage_began = std::chrono::steady_clock::now();
    }
    record.progress = RoundRecord::Progress{progress.progress, DescribeProgress(progress), is_training};
    record.changed = true;
    tells_others = store_.IsShared() && std::chrono::steady_clock::now() >= record.shared + kTellOthersEvery;
    if (tells_others) record.shared = std::chrono::steady_clock::now();
  }
  if (enters_training) NotifyWatchers(round_id);
  if (tells_others) store_.TellProgress(round_id, progress.progress, DescribeProgress(progress));
}

// Asks the store itself: the scheduler may be waiting for a database that does not answer.
bool Pipeline::ShouldStop(const std::string& round_id, uint64_t lease, uint64_t turn) {
  if (store_.GetLease() != lease) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  const RoundRecord& record = records_.at(round_id);
  return stopping_ || lease_ != lease || record.is_cancelled || record.turn != turn;
}

}  // namespace blink
