#include "aggregator_server/rounds/round_run.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "aggregator_server/rounds/round_history.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/wire/artifacts.h"
#include "common/wire/round.h"

namespace blink {
namespace {

const std::vector<v1::RoundState>& ListRunningStates() {
  static const auto* const states =
      new std::vector<v1::RoundState>{v1::ROUND_STATE_SEALED, v1::ROUND_STATE_ESTIMATING, v1::ROUND_STATE_TRAINING};
  return *states;
}

std::vector<std::string> MakeWorkerArguments(const PipelineOptions& options, const RoundFiles& files, bool has_key) {
  std::vector<std::string> arguments = {options.worker_path, "--round-folder", files.folder(), "--output",
                                        files.result()};
  if (!options.attributes_folder.empty()) {
    arguments.push_back("--attributes");
    arguments.push_back(options.attributes_folder);
  }
  if (options.worker_threads > 0) {
    arguments.push_back("--threads");
    arguments.push_back(absl::StrCat(options.worker_threads));
  }
  if (options.ignore_memory) arguments.push_back("--ignore-memory");
  if (has_key) {
    arguments.push_back("--reports-key-fd");
    arguments.push_back(absl::StrCat(kWorkerKeyDescriptor));
  }
  return arguments;
}

}  // namespace

RoundRun::RoundRun(const PipelineOptions& options, ReportStore& store, Clock& clock, uint64_t lease,
                   std::string round_id, Hooks hooks)
    : options_(options),
      store_(store),
      clock_(clock),
      lease_(lease),
      round_id_(std::move(round_id)),
      hooks_(std::move(hooks)),
      files_(options.rounds_folder, round_id_) {}

absl::StatusOr<v1::Round> RoundRun::Update(const std::function<absl::Status(v1::Round&)>& change) {
  return store_.UpdateRoundAsHolder(lease_, round_id_, ListRunningStates(), change);
}

absl::Status RoundRun::Run() {
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, store_.GetRound(round_id_));
  attempt_ = round.attempts();
  if (IsTerminal(round.state())) return KeepReports(round);
  const absl::Status written = files_.Write(round, store_);
  // There may be space later, or a database.
  if (absl::IsResourceExhausted(written) || absl::IsUnavailable(written)) return written;
  if (!written.ok()) return FailRound(std::string(written.message()));
  crashes_ = {.checkpoint_bytes = files_.CheckpointBytes()};
  bool ended = false;
  while (!ended) BLINK_RETURN_IF_ERROR(RunWorkerOnce(ended));
  return absl::OkStatus();
}

absl::Status RoundRun::KeepReports(const v1::Round& round) {
  if (!files_.LacksReportsOf(round)) return absl::OkStatus();
  const absl::Status written = files_.Write(round, store_);
  BLINK_ASSIGN_OR_RETURN(const v1::Round now, store_.GetRound(round_id_));
  if (now.reports_deleted_ms() != 0) return now.result_deleted() ? files_.RemoveFolder() : files_.RemoveReports();
  if (!written.ok() && !absl::IsResourceExhausted(written) && !absl::IsUnavailable(written)) {  // nothing hangs on it
    spdlog::error("the reports of round {} stay in the store alone: {}", round_id_, written.ToString());
    return absl::OkStatus();
  }
  return written;
}

absl::Status RoundRun::RunWorkerOnce(bool& ended) {
  ended = true;
  const absl::StatusOr<v1::Round> round = Update([this](v1::Round& changed) {
    if (changed.state() == v1::ROUND_STATE_SEALED) EnterState(changed, v1::ROUND_STATE_ESTIMATING, clock_.Now());
    changed.set_attempts(changed.attempts() + 1);
    changed.set_progress(0);
    changed.set_progress_text("starting the worker");
    return absl::OkStatus();
  });
  if (absl::IsFailedPrecondition(round.status())) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(round.status());
  attempt_ = round->attempts();
  hooks_.changed();
  const absl::StatusOr<std::optional<SecretKey>> key = store_.GetDataKey(round_id_);
  if (absl::IsUnavailable(key.status())) {
    TakeBackAttempt();
    return key.status();
  }
  if (!key.ok()) return FailRound(std::string(key.status().message()));
  spdlog::info("round {}: attempt {}", round_id_, round->attempts());
  const auto started = [&](pid_t pid) {
    if (hooks_.started) hooks_.started(pid, round->attempts());
  };
  const absl::StatusOr<WorkerExit> exit =
      options_.run_worker(MakeWorkerArguments(options_, files_, key->has_value()), options_.worker_limits,
                          hooks_.progress, hooks_.should_stop, started, *key);
  if (exit.ok() && hooks_.ended) hooks_.ended(*exit);
  if (absl::IsResourceExhausted(exit.status())) return exit.status();
  if (!exit.ok()) return FailRound(std::string(exit.status().message()));
  return ConcludeAttempt(*round, *exit, ended);
}

absl::Status RoundRun::ConcludeAttempt(const v1::Round& round, const WorkerExit& exit, bool& ended) {
  switch (exit.kind) {
    case WorkerExit::Kind::kDone:
      return PublishResult();
    case WorkerExit::Kind::kStopped:
      return absl::OkStatus();
    case WorkerExit::Kind::kError:
    case WorkerExit::Kind::kTimeout:
      return FailRound(exit.message);
    case WorkerExit::Kind::kDiskFull:
      TakeBackAttempt();
      return absl::ResourceExhaustedError(exit.message);  // there may be space later
    case WorkerExit::Kind::kOccupied:
      // A holder of the lease that was stopped leaves its worker to go on. Its result counts no more, and the next
      // attempt goes on from its checkpoint when it has ended.
      TakeBackAttempt();
      return absl::UnavailableError(absl::StrCat(exit.message,
                                                 ", the worker of an aggregator that held the lease before: the round "
                                                 "goes on when it has ended; if that aggregator hangs, end it"));
    case WorkerExit::Kind::kSignal:
    case WorkerExit::Kind::kSilent:
      break;
  }
  return RestartOrFail(round, exit, ended);
}

absl::Status RoundRun::RestartOrFail(const v1::Round& round, const WorkerExit& exit, bool& ended) {
  const uint64_t checkpoint_bytes = files_.CheckpointBytes();
  const bool has_progressed = checkpoint_bytes > crashes_.checkpoint_bytes;
  if (has_progressed) crashes_ = {.checkpoint_bytes = checkpoint_bytes};
  if (++crashes_.count >= options_.crashes_max) {
    return FailRound(absl::StrCat(exit.message, " (the worker has crashed ", crashes_.count, " times",
                                  checkpoint_bytes > 0 ? " since its last checkpoint" : "", ")"));
  }
  if (!has_progressed && round.attempts() >= options_.attempts_max) {
    return FailRound(absl::StrCat(exit.message, " (attempt ", round.attempts(), " of at most ", options_.attempts_max,
                                  ", those before restarts of the aggregator included)"));
  }
  spdlog::warn("round {}: {}; starting it again", round_id_, exit.message);
  ended = false;
  return absl::OkStatus();
}

// It ended because of the disk or of another worker: otherwise a crash on the day after would find the attempts used
// up.
void RoundRun::TakeBackAttempt() {
  const auto take_back = [](v1::Round& round) {
    if (round.attempts() > 0) round.set_attempts(round.attempts() - 1);
    return absl::OkStatus();
  };
  const absl::Status taken = Update(take_back).status();
  if (!taken.ok()) {  // a store that is full as well
    spdlog::debug("round {}: the attempt counts: {}", round_id_, taken.ToString());
  }
}

absl::Status RoundRun::PublishResult() {
  const absl::StatusOr<std::string> metrics = ReadFile(files_.result() + "/metrics.json", kMetricsBytesMax);
  if (absl::IsResourceExhausted(metrics.status())) return metrics.status();  // too many open files: the result is there
  if (!metrics.ok()) return FailRound(absl::StrCat("the worker left no result: ", metrics.status().message()));
  bool is_mine = false;
  const auto make_ready = [&](v1::Round& round) {
    EnterState(round, v1::ROUND_STATE_READY, clock_.Now());
    round.set_progress(1);
    round.set_progress_text("the result can be fetched");
    round.set_result_json(*metrics);
  };
  BLINK_RETURN_IF_ERROR(EndRound(make_ready, is_mine));
  if (is_mine) spdlog::info("round {} is ready", round_id_);
  return absl::OkStatus();
}

absl::Status RoundRun::FailRound(const std::string& reason) {
  bool is_mine = false;
  const auto fail = [&](v1::Round& round) {
    EnterState(round, v1::ROUND_STATE_FAILED, clock_.Now());
    round.set_failure_reason(reason);
  };
  BLINK_RETURN_IF_ERROR(EndRound(fail, is_mine));
  if (!is_mine) return absl::OkStatus();
  spdlog::warn("round {} failed: {}", round_id_, reason);
  if (hooks_.failed) hooks_.failed();
  return absl::OkStatus();
}

// `is_mine`: false when it was cancelled at the last moment, perhaps by way of another aggregator, which has also begun
// another attempt.
absl::Status RoundRun::EndRound(const std::function<void(v1::Round&)>& change, bool& is_mine) {
  const auto apply = [&](v1::Round& round) {
    if (round.attempts() != attempt_) return absl::FailedPreconditionError("another attempt has begun");
    change(round);
    return absl::OkStatus();
  };
  const absl::Status ended = Update(apply).status();
  is_mine = ended.ok();
  if (absl::IsFailedPrecondition(ended)) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(ended);
  hooks_.changed();
  return absl::OkStatus();
}

}  // namespace blink
