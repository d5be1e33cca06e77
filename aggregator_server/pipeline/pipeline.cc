#include "aggregator_server/pipeline/pipeline.h"

#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator_server/reports/report_file.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/wire/artifacts.h"
#include "common/wire/round.h"
#include "common/wire/training_spec.h"

namespace blink {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);
constexpr absl::Duration kGpusAnswerMax = absl::Seconds(10);
constexpr uint64_t kOpenForMsMin = 1'000;
constexpr uint64_t kOpenForMsMax = 31'536'000'000;
constexpr size_t kRequestIdCharactersMax = 64;
constexpr uint64_t kMetricsBytesMax = 1 << 20;
const std::vector<v1::RoundState>& Running() {
  static const auto* const states = new std::vector<v1::RoundState>{
      v1::ROUND_STATE_SEALED, v1::ROUND_STATE_ESTIMATING, v1::ROUND_STATE_TRAINING};
  return *states;
}

absl::StatusOr<std::string> NewRoundId() {
  std::string bytes(16, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return absl::UnavailableError("the system gave no random bytes for a round id");
  }
  return absl::BytesToHexString(bytes);
}

// Rounds of before there were rosters do not say it: then all are active.
uint32_t ActiveNodes(const v1::Round& round) {
  return round.active_nodes() > 0 ? round.active_nodes() : round.parameters().node_count();
}

// A checkpoint grows with every epoch, and a search has one more with every candidate: their size is how far a worker has come.
uint64_t CheckpointBytes(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const uint64_t size = entry.path().extension() == ".checkpoint" ? entry.file_size(error) : 0;
    if (!error) bytes += size;
  }
  return bytes;
}

absl::Status CheckRequestId(const std::string& request_id) {
  const bool printable =
      std::all_of(request_id.begin(), request_id.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (request_id.size() <= kRequestIdCharactersMax && printable) return absl::OkStatus();
  return absl::InvalidArgumentError("request_id must have 1 .. 64 printable ASCII characters without spaces");
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
    } else if (HasReportsToKeep(round)) {
      sealed_.push_back(round.round_id());
    }
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options_.rounds_folder, error)) {
    const std::string round_id = entry.path().filename().string();
    if (going_on.count(round_id) == 0) RemoveWhatWorkersKept(round_id);
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
  BLINK_RETURN_IF_ERROR(CheckRequestId(request.request_id()));
  v1::PrivacyParameters asked = request.parameters();
  if (asked.node_count() == 0) asked.set_node_count(options_.node_count);
  if (asked.mechanism() == 0) asked.set_mechanism(kMechanismVersion);
  if (asked.node_count() != options_.node_count) {
    return absl::InvalidArgumentError(absl::StrCat("node_count is ", asked.node_count(), ", the roster has ",
                                                   options_.node_count, " nodes: leave it out"));
  }
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(asked));
  BLINK_ASSIGN_OR_RETURN(v1::TrainingSpec training, NormalizeTrainingSpec(request.training()));
  if (request.open_for_ms() < kOpenForMsMin || request.open_for_ms() > kOpenForMsMax) {
    return absl::InvalidArgumentError(absl::StrCat("open_for_ms is ", request.open_for_ms(), ", it must be in ",
                                                   kOpenForMsMin, " .. ", kOpenForMsMax));
  }
  const uint32_t active = options_.active_nodes > 0 ? options_.active_nodes : options_.node_count;
  if (request.quorum() > active) {
    return absl::InvalidArgumentError(
        absl::StrCat("quorum is ", request.quorum(), ", it must be in 1 .. ", active, ", the active nodes of the roster"));
  }
  if (!v1::Implausible_IsValid(request.implausible())) {
    return absl::InvalidArgumentError(absl::StrCat("implausible is ", static_cast<int>(request.implausible()),
                                                   ", which this version does not know"));
  }
  if (request.degree_max() > options_.node_count - 1) {
    return absl::InvalidArgumentError(absl::StrCat("degree_max is ", request.degree_max(), ", it must be in 1 .. ",
                                                   options_.node_count - 1, ", or 0 for no bound"));
  }
  std::lock_guard<std::mutex> create_lock(create_mutex_);
  BLINK_RETURN_IF_ERROR(CheckTrainableByWorker(training, parameters));
  v1::Round round;
  BLINK_ASSIGN_OR_RETURN(*round.mutable_round_id(), NewRoundId());
  round.set_deployment(options_.deployment);
  *round.mutable_parameters() = ParametersToProto(parameters);
  round.set_roster_version(options_.roster_version);
  round.set_active_nodes(active);
  *round.mutable_training() = std::move(training);
  round.set_state(v1::ROUND_STATE_OPEN);
  round.set_created_ms(absl::ToUnixMillis(clock_.Now()));
  round.set_deadline_ms(round.created_ms() + static_cast<int64_t>(request.open_for_ms()));
  round.set_quorum(std::max<uint32_t>(1, request.quorum()));
  round.set_implausible(request.implausible() == v1::IMPLAUSIBLE_UNSPECIFIED ? v1::IMPLAUSIBLE_FLAG : request.implausible());
  round.set_degree_max(request.degree_max());

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
  return WithLive(std::move(stored));
}

absl::Status Pipeline::CheckTrainableByWorker(const v1::TrainingSpec& training, const PrivacyParameters& parameters) {
  if (!options_.facts) return absl::OkStatus();
  const absl::StatusOr<TrainingFacts> facts = options_.facts();
  if (!facts.ok()) {
    return absl::FailedPreconditionError(absl::StrCat("no round can be trained: ", facts.status().message()));
  }
  if (!gpus_.has_value()) BLINK_RETURN_IF_ERROR(AskForGpus());
  return CheckTrainable(training, *facts,
                        {.flip_probability = parameters.sends_bits() ? parameters.flip_probability() : 0, .gpus = gpus_});
}

absl::Status Pipeline::AskForGpus() {
  WorkerLimits limits = options_.worker_limits;
  limits.wall_time = kGpusAnswerMax;
  const auto is_stopping = [this] {
    std::lock_guard<std::mutex> lock(mutex_);
    return stopping_;
  };
  const absl::StatusOr<WorkerExit> exit =
      RunWorker({options_.worker_path, "--gpus"}, limits, [](const WorkerProgress&) {}, is_stopping);
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
  absl::StatusOr<v1::Round> cancelled = store_.UpdateRound(
      round_id,
      {v1::ROUND_STATE_OPEN, v1::ROUND_STATE_SEALED, v1::ROUND_STATE_ESTIMATING, v1::ROUND_STATE_TRAINING,
       v1::ROUND_STATE_CANCELLED},
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

void Pipeline::Changed(const std::string& round_id) { NotifyWatchers({round_id}); }

void Pipeline::NotifyWatchers(const std::set<std::string>& round_ids) {
  if (round_ids.empty()) return;
  std::lock_guard<std::mutex> lock(watchers_mutex_);
  for (const auto& [id, watcher] : watchers_) {
    if (round_ids.count(watcher.first) > 0) watcher.second();
  }
}

uint64_t Pipeline::Watch(const std::string& round_id, Watcher watcher) {
  std::lock_guard<std::mutex> lock(watchers_mutex_);
  watchers_[next_watcher_] = {round_id, std::move(watcher)};
  return next_watcher_++;
}

void Pipeline::Unwatch(uint64_t id) {
  std::lock_guard<std::mutex> lock(watchers_mutex_);
  watchers_.erase(id);
}

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
  return absl::StrCat(FolderOf(round_id), "/result/", artifact);
}

std::string Pipeline::FolderOf(const std::string& round_id) const {
  return absl::StrCat(options_.rounds_folder, "/", round_id);
}

std::string Pipeline::CheckpointFolderOf(const std::string& round_id) const {
  return absl::StrCat(FolderOf(round_id), "/result.checkpoint");
}

void Pipeline::RemoveWhatWorkersKept(const std::string& round_id) {
  std::error_code ignored;  // what is left does no harm, and the next start tries again
  std::filesystem::remove_all(absl::StrCat(FolderOf(round_id), "/result.tmp"), ignored);
  std::filesystem::remove_all(CheckpointFolderOf(round_id), ignored);
}

void Pipeline::Schedule() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    wake_scheduler_.wait_for(lock, kTick, [&] { return stopping_ || seal_now_; });
    if (stopping_) return;
    seal_now_ = false;
    const absl::Time now = clock_.Now();
    std::vector<std::pair<std::string, std::string>> due;
    for (auto& [round_id, open] : open_) {
      if (now < open.not_before) continue;
      if (open.complete) {
        due.emplace_back(round_id, "when all had reported");
      } else if (now >= absl::FromUnixMillis(open.deadline_ms)) {
        due.emplace_back(round_id, "at the deadline");
      }
    }
    std::set<std::string> changed = std::exchange(changed_, {});
    lock.unlock();
    for (const auto& [round_id, why] : due) {
      const absl::Status sealed = SealBecause(round_id, why).status();
      if (sealed.ok()) continue;
      std::lock_guard<std::mutex> relock(mutex_);
      if (absl::IsFailedPrecondition(sealed)) {  // an operator was faster
        open_.erase(round_id);
      } else if (const auto open = open_.find(round_id); open != open_.end()) {
        spdlog::error("round {} cannot be sealed, trying again: {}", round_id, sealed.ToString(absl::StatusToStringMode::kWithNoExtraData));
        open->second.not_before = now + options_.retry_after;
      }
    }
    NotifyWatchers(changed);
    lock.lock();
  }
}

void Pipeline::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_runner_.wait(lock, [&] { return stopping_ || !sealed_.empty(); });
    if (stopping_) return;
    const std::string round_id = sealed_.front();
    sealed_.pop_front();
    lock.unlock();
    const absl::Status processed = Process(round_id);
    if (const absl::StatusOr<v1::Round> round = store_.GetRound(round_id); round.ok() && IsTerminal(round->state())) {
      RemoveWhatWorkersKept(round_id);
    }
    lock.lock();
    live_.erase(round_id);
    cancelled_.erase(round_id);
    if (processed.ok() || stopping_) continue;
    spdlog::error("round {} waits: {}", round_id, processed.ToString(absl::StatusToStringMode::kWithNoExtraData));
    live_[round_id].text = absl::StrCat("waiting: ", processed.message());
    sealed_.push_back(round_id);
    wake_runner_.wait_for(lock, absl::ToChronoMilliseconds(options_.retry_after), [&] { return stopping_; });
  }
}

absl::Status Pipeline::Process(const std::string& round_id) {
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, store_.GetRound(round_id));
  if (IsTerminal(round.state())) return KeepReports(round);
  const absl::Status written = WriteRoundFolder(round);
  if (absl::IsResourceExhausted(written)) return written;  // there may be space later
  if (!written.ok()) return Fail(round_id, std::string(written.message()));
  Crashes crashes{.checkpoint_bytes = CheckpointBytes(CheckpointFolderOf(round_id))};
  bool ended = false;
  while (!ended) BLINK_RETURN_IF_ERROR(Attempt(round_id, crashes, ended));
  return absl::OkStatus();
}

absl::Status Pipeline::WriteRoundFolder(const v1::Round& round) {
  const std::string folder = FolderOf(round.round_id());
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  BLINK_ASSIGN_OR_RETURN(const std::unique_ptr<ReportFileWriter> writer,
                         ReportFileWriter::Create(absl::StrCat(folder, "/reports.blr")));
  BLINK_RETURN_IF_ERROR(store_.VisitReports(
      round.round_id(), [&](uint64_t node, const CodedReport& report) { return writer->Add(node, report); }));
  BLINK_RETURN_IF_ERROR(writer->Finish());
  return WriteRoundJson(round, folder);
}

// A round that sealed has its folder, or fails for what is in the way of one.
bool Pipeline::HasReportsToKeep(const v1::Round& round) const {
  std::error_code error;
  const bool ended_early = round.state() == v1::ROUND_STATE_CANCELLED || round.state() == v1::ROUND_STATE_FAILED;
  return ended_early && round.reports() > 0 && !std::filesystem::exists(FolderOf(round.round_id()) + "/round.json", error) && !error;
}

absl::Status Pipeline::KeepReports(const v1::Round& round) {
  if (!HasReportsToKeep(round)) return absl::OkStatus();
  const absl::Status written = WriteRoundFolder(round);
  if (!written.ok() && !absl::IsResourceExhausted(written)) {  // nothing hangs on it
    spdlog::error("the reports of round {} stay in the store alone: {}", round.round_id(), written.ToString());
    return absl::OkStatus();
  }
  return written;
}

// Whether the state was changed by somebody else meanwhile (cancelled): then there is nothing left to do.
absl::Status Pipeline::Attempt(const std::string& round_id, Crashes& crashes, bool& ended) {
  ended = true;
  const absl::StatusOr<v1::Round> round = store_.UpdateRound(round_id, Running(), [](v1::Round& changed) {
    if (changed.state() == v1::ROUND_STATE_SEALED) changed.set_state(v1::ROUND_STATE_ESTIMATING);
    changed.set_attempts(changed.attempts() + 1);
    changed.set_progress(0);
    changed.set_progress_text("starting the worker");
    return absl::OkStatus();
  });
  if (absl::IsFailedPrecondition(round.status())) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(round.status());
  Changed(round_id);
  const std::string folder = FolderOf(round_id);
  std::vector<std::string> arguments = {options_.worker_path,       "--round-folder", folder,
                                        "--attributes",             options_.attributes_folder,
                                        "--output",                 absl::StrCat(folder, "/result")};
  if (options_.worker_threads > 0) {
    arguments.push_back("--threads");
    arguments.push_back(absl::StrCat(options_.worker_threads));
  }
  spdlog::info("round {}: attempt {}", round_id, round->attempts());
  const absl::StatusOr<WorkerExit> exit = RunWorker(
      arguments, options_.worker_limits, [&](const WorkerProgress& progress) { Hear(round_id, progress); },
      [&] { return ShouldStop(round_id); });
  if (absl::IsResourceExhausted(exit.status())) return exit.status();
  if (!exit.ok()) return Fail(round_id, std::string(exit.status().message()));
  return Conclude(*round, *exit, crashes, ended);
}

absl::Status Pipeline::Conclude(const v1::Round& round, const WorkerExit& exit, Crashes& crashes, bool& ended) {
  const std::string& round_id = round.round_id();
  ended = true;
  switch (exit.kind) {
    case WorkerExit::Kind::kDone:
      return Publish(round_id);
    case WorkerExit::Kind::kStopped:
      return absl::OkStatus();
    case WorkerExit::Kind::kError:
    case WorkerExit::Kind::kTimeout:
      return Fail(round_id, exit.message);
    case WorkerExit::Kind::kDiskFull:
      TakeBackAttempt(round_id);
      return absl::ResourceExhaustedError(exit.message);  // there may be space later
    case WorkerExit::Kind::kSignal:
      break;
  }
  const uint64_t checkpoint_bytes = CheckpointBytes(CheckpointFolderOf(round_id));
  const bool has_progressed = checkpoint_bytes > crashes.checkpoint_bytes;
  if (has_progressed) crashes = {.checkpoint_bytes = checkpoint_bytes};
  if (++crashes.count >= options_.crashes_max) {
    return Fail(round_id, absl::StrCat(exit.message, " (the worker has crashed ", crashes.count, " times",
                                       checkpoint_bytes > 0 ? " since its last checkpoint" : "", ")"));
  }
  if (!has_progressed && round.attempts() >= options_.attempts_max) {
    return Fail(round_id, absl::StrCat(exit.message, " (attempt ", round.attempts(), " of at most ", options_.attempts_max,
                                       ", those before restarts of the aggregator included)"));
  }
  spdlog::warn("round {}: {}; starting it again", round_id, exit.message);
  ended = false;
  return absl::OkStatus();
}

// It ended because of the disk: otherwise a crash on the day after would find the attempts used up.
void Pipeline::TakeBackAttempt(const std::string& round_id) {
  const auto take_back = [](v1::Round& round) {
    if (round.attempts() > 0) round.set_attempts(round.attempts() - 1);
    return absl::OkStatus();
  };
  const absl::Status taken = store_.UpdateRound(round_id, Running(), take_back).status();
  if (!taken.ok()) spdlog::debug("round {}: the attempt counts: {}", round_id, taken.ToString());  // a store that is full as well
}

absl::Status Pipeline::Publish(const std::string& round_id) {
  const absl::StatusOr<std::string> metrics =
      ReadFile(absl::StrCat(FolderOf(round_id), "/result/metrics.json"), kMetricsBytesMax);
  if (absl::IsResourceExhausted(metrics.status())) return metrics.status();  // too many open files: the result is there
  if (!metrics.ok()) {
    return Fail(round_id, absl::StrCat("the worker left no result: ", metrics.status().message()));
  }
  const absl::Status ready = store_
                                 .UpdateRound(round_id, Running(),
                                              [&](v1::Round& round) {
                                                round.set_state(v1::ROUND_STATE_READY);
                                                round.set_progress(1);
                                                round.set_progress_text("the result can be fetched");
                                                round.set_result_json(*metrics);
                                                return absl::OkStatus();
                                              })
                                 .status();
  if (absl::IsFailedPrecondition(ready)) return absl::OkStatus();  // cancelled at the last moment
  BLINK_RETURN_IF_ERROR(ready);
  spdlog::info("round {} is ready", round_id);
  Changed(round_id);
  return absl::OkStatus();
}

absl::Status Pipeline::Fail(const std::string& round_id, const std::string& reason) {
  const absl::Status failed = store_
                                  .UpdateRound(round_id, Running(),
                                               [&](v1::Round& round) {
                                                 round.set_state(v1::ROUND_STATE_FAILED);
                                                 round.set_failure_reason(reason);
                                                 return absl::OkStatus();
                                               })
                                  .status();
  if (absl::IsFailedPrecondition(failed)) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(failed);
  spdlog::warn("round {} failed: {}", round_id, reason);
  Changed(round_id);
  return absl::OkStatus();
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
    // The state first, then the text that belongs to it. A second attempt finds the round in training already: a state never
    // moves back. After a full disk the next line tries again.
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
