// Operators, the turns of aggregators, and what happens while a worker runs.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator_server/reports/report_file.h"
#include "common/base/durable_file.h"
#include "common/wire/round.h"
#include "tests/simulation/world.h"

namespace blink::simulation {
namespace {

constexpr size_t kRoundsMax = 24;  // of a world
constexpr size_t kOpenMax = 4;

}  // namespace

absl::Duration World::ClockOffset() { return (clock_.Now() - absl::UnixEpoch()) - clock_.Monotonic(); }

std::string World::DrawRoundId() {
  const uint64_t high = random_.Below(~uint64_t{0});
  return absl::StrFormat("%016x%016x", high, random_.Below(~uint64_t{0}));
}

void World::CreateRound() {
  Process* const process = Any();
  const size_t open = std::count_if(model_.rounds().begin(), model_.rounds().end(),
                                    [](const auto& round) { return round.second.is_open(); });
  if (process == nullptr || open >= kOpenMax || model_.rounds().size() >= kRoundsMax) return;
  if (last_request_.empty() || !random_.OneIn(3)) last_request_ = absl::StrCat("request-", ++requests_);
  v1::CreateRoundRequest request;
  request.set_deployment("demo");
  request.mutable_parameters()->set_epsilon_micro(6'000'000);
  request.mutable_parameters()->set_degree_share_ppm(100'000);
  request.set_open_for_ms(600'000);
  request.set_quorum(3);
  request.set_request_id(last_request_);
  const auto made = process->pipeline().CreateRound(request, "operator/ann");
  if (made.ok()) {
    const bool is_new = model_.Find(made->round_id()) == nullptr;
    Violate(model_.AddRound(*made));
    const absl::Duration deadline = absl::FromUnixMillis(made->deadline_ms()) - absl::UnixEpoch();
    if (is_new && process->lease.has_value()) process->due.emplace(made->round_id(), deadline - ClockOffset());
  } else if (IsHealthy(*process)) {
    Violate(absl::StrCat("no round can be created: ", made.status().message()));
  } else {
    AdoptRounds(process->store());
  }
  Note(absl::StrCat("create: ", made.ok() ? NameOf(made->round_id()) : absl::StatusCodeToString(made.status().code())));
}

void World::SealRound() {
  const std::string id = Pick(/*open=*/!random_.OneIn(8));
  Process* const process = Any();
  if (id.empty() || process == nullptr) return;
  model_.Find(id)->may_be_sealed = true;
  const auto sealed = process->pipeline().Seal(id, "operator/ann");
  Note(absl::StrCat("seal ", NameOf(id), ": ", absl::StatusCodeToString(sealed.status().code())));
  CheckStates(process->store());
}

void World::CancelRound() {
  const std::string id = Pick(/*open=*/random_.OneIn(2));
  Process* const process = Any();
  if (id.empty() || process == nullptr) return;
  model_.Find(id)->may_be_sealed = true;
  const auto cancelled = process->pipeline().Cancel(id, "operator/bob");
  Note(absl::StrCat("cancel ", NameOf(id), ": ", absl::StatusCodeToString(cancelled.status().code())));
  CheckStates(process->store());
}

void World::RetryRound() {
  const std::string id = Pick(/*open=*/false);
  Process* const process = Any();
  if (id.empty() || process == nullptr || model_.Find(id)->retries >= 4) return;  // the history keeps 32 states
  if (model_.Find(id)->states.size() > 20) return;
  ++model_.Find(id)->retries;
  const auto retried = process->pipeline().AnalyseAgain(id, v1::TrainingSpec(), "operator/ann");
  Note(absl::StrCat("retry ", NameOf(id), ": ", absl::StatusCodeToString(retried.status().code())));
  CheckStates(process->store());
}

void World::TurnOfAggregator() {
  Process* const process = Any();
  if (process == nullptr) return;
  if (process->shared() != nullptr && random_.OneIn(6)) {  // its runner alone: the other threads do not get on
    Note("a turn of a runner alone");
    process->pipeline().RunNextRound();
    return CheckStates(process->store());
  }
  Turn(*process);
}

void World::PassDeadline() {
  absl::Duration wait = absl::Seconds(random_.Below(60));
  for (const auto& [id, known] : model_.rounds()) {
    if (!known.is_open()) continue;
    const absl::Duration left = absl::FromUnixMillis(known.deadline_ms) - clock_.Now();
    if (left > absl::ZeroDuration()) wait = left - absl::Seconds(5) + absl::Seconds(random_.Below(10));
    break;
  }
  clock_.Advance(std::max(wait, absl::ZeroDuration()));
  Note("time passes");
  TurnOfAggregator();
}

void World::JumpClock() {
  const auto jump = absl::Seconds(static_cast<int64_t>(random_.Below(7200)) - 3600);
  Note(absl::StrCat("the clock is set by ", absl::FormatDuration(jump)));
  clock_.Jump(jump);
}

// Of every open round whose time has come, as this process must know it.
void World::NoteDue(Process& process) {
  const std::optional<uint64_t> lease = process.store().GetLease();
  if (!lease.has_value()) return;
  for (auto& [id, known] : model_.rounds()) {
    if (!known.is_open()) continue;
    const absl::Duration deadline = absl::FromUnixMillis(known.deadline_ms) - absl::UnixEpoch();
    const auto due = process.due.find(id);
    const bool is_known = process.lease == lease && due != process.due.end();
    if (clock_.Monotonic() >= (is_known ? due->second : deadline - ClockOffset())) known.may_be_sealed = true;
  }
}

// What a pipeline that has just looked at its store knows.
void World::NoteTakenUp(Process& process) {
  const std::optional<uint64_t> lease = process.store().GetLease();
  if (process.lease != lease) process.due.clear();
  process.lease = lease;
  if (!lease.has_value()) return;
  for (const auto& [id, known] : model_.rounds()) {
    if (!known.is_open()) continue;
    const absl::Duration deadline = absl::FromUnixMillis(known.deadline_ms) - absl::UnixEpoch();
    process.due.emplace(id, deadline - ClockOffset());
  }
}

void World::Turn(Process& process) {
  Note("a turn of an aggregator");
  clock_.Advance(absl::Seconds(1 + random_.Below(3)));
  if (process.shared() != nullptr && (is_settling_ || !random_.OneIn(6))) process.shared()->RenewLease();
  NoteDue(process);
  process.pipeline().SealWhatIsDue();
  NoteTakenUp(process);
  CheckStates(process.store());
  if (disk_ != nullptr && !disk_->is_dead()) disk_->RunBackgroundWork();
  for (uint64_t runs = is_settling_ ? 100 : random_.Below(3); runs > 0; --runs) {
    if (!process.pipeline().RunNextRound()) break;
  }
  CheckStates(process.store());
}

absl::StatusOr<WorkerExit> World::RunWorker(size_t i, const std::vector<std::string>& arguments,
                                            const std::function<void(const WorkerProgress&)>& progress,
                                            const std::function<bool()>& should_stop) {
  const auto value_of = [&](const char* flag) { return *(std::find(arguments.begin(), arguments.end(), flag) + 1); };
  const std::string folder = value_of("--round-folder"), output = value_of("--output");
  const std::string id = folder.substr(folder.rfind('/') + 1);
  KnownRound* const known = model_.Find(id);
  const auto end = [&](WorkerExit::Kind kind, const char* message) {
    if (known != nullptr && kind != WorkerExit::Kind::kStopped) known->may_fail = true;
    Note(absl::StrCat("a worker of ", NameOf(id), " ends: ", message));
    return WorkerExit{kind, 1, message, std::nullopt};
  };
  ++depth_;
  progress({v1::ROUND_STATE_ESTIMATING, 0.5, "half way", absl::ZeroDuration()});
  if (!is_settling_ && depth_ == 1) HappenDuringWork(*processes_[i], id);
  if (random_.OneIn(8)) progress({v1::ROUND_STATE_ESTIMATING, 0.9, "nearly", absl::ZeroDuration()});
  progress({v1::ROUND_STATE_TRAINING, 0.5, "epoch 1 of 2", absl::ZeroDuration()});
  if (!is_settling_ && depth_ == 1) HappenDuringWork(*processes_[i], id);
  --depth_;
  if (should_stop() || (disk_ != nullptr && disk_->is_dead())) return end(WorkerExit::Kind::kStopped, "stopped");
  if (!is_settling_) {
    if (random_.OneIn(8)) return end(WorkerExit::Kind::kSignal, "killed");
    if (random_.OneIn(16)) return end(WorkerExit::Kind::kSilent, "silent");
    if (random_.OneIn(12)) return end(WorkerExit::Kind::kError, "an error");
  }
  const absl::StatusOr<RoundFolder> read = ReadRoundFolder(folder);
  if (!read.ok()) Violate(absl::StrCat(NameOf(id), ": a worker cannot read it: ", read.status().message()));
  const absl::StatusOr<std::string> file = ReadFile(folder + "/reports.blr", 1 << 20);
  const std::string digest = DigestToHex(Sha256Of(file.value_or("")));
  const absl::Status written = MakeDirectories(output);
  if (!written.ok() ||
      !WriteFileAtomically(output + "/metrics.json", absl::StrCat("{\"reports\":\"", digest, "\"}")).ok()) {
    return end(WorkerExit::Kind::kError, "the result cannot be written");
  }
  Note(absl::StrCat("a worker of ", NameOf(id), " is done: ", digest.substr(0, 16)));
  return WorkerExit{WorkerExit::Kind::kDone, 0, "", std::nullopt};
}

void World::HappenDuringWork(Process& process, const std::string& round_id) {
  if (disk_ != nullptr && disk_->is_dead()) return;
  switch (random_.Below(16)) {
    case 0:
      return clock_.Advance(absl::Seconds(random_.Below(30)));
    case 1: {
      model_.Find(round_id)->may_be_sealed = true;
      const auto cancelled = process.pipeline().Cancel(round_id, "operator/bob");
      return Note(absl::StrCat("cancel during the work: ", absl::StatusCodeToString(cancelled.status().code())));
    }
    case 2: {
      const std::string id = Pick(/*open=*/true);
      const NodeIndex node = kNodes - 1;
      if (!id.empty()) static_cast<void>(Deliver(process, {id, node, ReportOf(node, 0)}));
      return;
    }
    case 3:
      return JumpClock();
    case 4:
      if (disk_ == nullptr) return;
      Note("the power is cut during the work");
      return disk_->CutPowerUnderWriters();
    case 5: {  // it is held up, and the other one takes over
      if (disk_ != nullptr) return;
      clock_.Advance(SharedDatabase::kLease + absl::Seconds(1));
      Process* const other = processes_[processes_[0].get() == &process ? 1 : 0].get();
      if (other != nullptr) Turn(*other);
      return;
    }
    default:
      return;
  }
}

}  // namespace blink::simulation
