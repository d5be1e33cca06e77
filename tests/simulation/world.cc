#include "tests/simulation/world.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/wire/round.h"

namespace blink::simulation {
namespace {

constexpr NodeIndex kFirstPlainNode = 3;  // those before it have a journal and an agent
constexpr uint64_t kStepsBetweenChecks = 50;

}  // namespace

World::World(WorldOptions options) : options_(std::move(options)), random_(options_.seed) {
  if (options_.is_shared) {
    database_ = std::make_unique<SharedDatabase>(clock_);
    if (options_.fault == Fault::kLeavesTheLeaseUnfenced) database_->LeaveLeasesUnfenced();
    if (options_.fault == Fault::kTakesTheSecondReport) database_->KeepTheLatestReport();
    if (options_.fault == Fault::kCountsDuplicatesTwice) database_->CountDuplicates();
  } else {
    disk_ = std::make_unique<SimulatedDisk>(clock_, random_);
    if (options_.fault == Fault::kAcknowledgesBeforeTheSync) disk_->LieAboutSyncs();
  }
  nodes_.push_back(std::make_unique<NodeProcess>(folder_ / "node-0", 0, 0, options_.seed));
  nodes_.push_back(std::make_unique<NodeProcess>(folder_ / "nodes-1-2", 1, kFirstPlainNode - 1, options_.seed + 1));
}

World::~World() {
  for (size_t i = 0; i < processes_.size(); ++i) processes_[i].reset();
}

const std::vector<World::Operation>& World::Operations(bool is_shared) {
  static const auto* const of_both = new std::vector<Operation>{{200, &World::SubmitReport},
                                                                {60, &World::RepeatReport},
                                                                {40, &World::SubmitAnotherReport},
                                                                {40, &World::SubmitBatch},
                                                                {40, &World::TurnOfNode},
                                                                {25, &World::CreateRound},
                                                                {12, &World::SealRound},
                                                                {6, &World::CancelRound},
                                                                {12, &World::RetryRound},
                                                                {90, &World::TurnOfAggregator},
                                                                {15, &World::PassDeadline},
                                                                {12, &World::JumpClock},
                                                                {10, &World::Crash},
                                                                {8, &World::Restart}};
  static const auto* const alone = [] {
    auto* const all = new std::vector<Operation>(*of_both);
    all->insert(all->end(), {{12, &World::CrashInAWrite},
                             {4, &World::FailDisk},
                             {20, &World::ChangeDisk},
                             {4, &World::Backup},
                             {2, &World::RestoreBackup}});
    return all;
  }();
  static const auto* const shared = [] {
    auto* const all = new std::vector<Operation>(*of_both);
    all->insert(all->end(), {{40, &World::TurnOfAggregator}, {15, &World::ChangeNetwork}, {15, &World::LoseAnswer}});
    return all;
  }();
  return is_shared ? *shared : *alone;
}

void World::Step() {
  ++steps_;
  const std::vector<Operation>& operations = Operations(options_.is_shared);
  uint64_t weights = 0;
  for (const Operation& operation : operations) weights += operation.weight;
  uint64_t at = random_.Below(weights);
  size_t chosen = 0;
  while (at >= operations[chosen].weight) at -= operations[chosen++].weight;
  (this->*operations[chosen].run)();
  BuryTheDead();
  if (steps_ % kStepsBetweenChecks == 0) CheckAll();
}

void World::Note(const std::string& what) {
  if (options_.trace) options_.trace(what);
}

void World::Violate(const std::string& what) {
  if (what.empty() || !violation_.empty()) return;
  violation_ = absl::StrReplaceAll(what, {{folder_.path(), "FOLDER"}});  // its name differs from run to run
  Note(absl::StrCat("VIOLATION ", violation_));
}

std::string World::NameOf(const std::string& round_id) {
  const KnownRound* const known = model_.Find(round_id);
  return known == nullptr ? "an unknown round" : absl::StrCat("round ", known->number);
}

Process* World::Any() {
  const size_t i = options_.is_shared ? random_.Below(processes_.size()) : 0;
  return processes_[i] != nullptr ? processes_[i].get() : Start(i);
}

std::string World::Pick(bool open) {
  std::vector<std::string> ids;
  for (int number = 1; number <= model_.round_count(); ++number) {
    const std::string& id = model_.IdOf(number);
    if (!open || model_.Find(id)->is_open()) ids.push_back(id);
  }
  return ids.empty() ? "" : ids[random_.Below(ids.size())];
}

CodedReport World::ReportOf(NodeIndex node, uint32_t variant) const {
  return testing::MakeReport(testing::MakeParameters(kNodes), node, variant);
}

// ---- reports ----

void World::SubmitReport() {
  const std::string id = Pick(/*open=*/!random_.OneIn(8));
  if (id.empty()) return CreateRound();
  const NodeIndex node = kFirstPlainNode + random_.Below(kNodes - kFirstPlainNode);
  Send({{id, node, ReportOf(node, 0)}});
}

void World::SubmitAnotherReport() {
  const std::string id = Pick(/*open=*/!random_.OneIn(4));
  if (id.empty()) return;
  const NodeIndex node = kFirstPlainNode + random_.Below(kNodes - kFirstPlainNode);
  Send({{id, node, ReportOf(node, 1 + random_.Below(2))}});
}

// Because its acknowledgement was lost, or by mistake.
void World::RepeatReport() {
  const std::string id = Pick(/*open=*/!random_.OneIn(3));
  if (id.empty()) return;
  std::vector<Submission> sent;
  for (const auto& [node, reports] : model_.Find(id)->sent) {
    for (const auto& [digest, report] : reports) sent.push_back({id, node, report});
  }
  if (!sent.empty()) Send({sent[random_.Below(sent.size())]});
}

void World::SubmitBatch() {
  std::vector<Submission> batch;
  const uint64_t size = 2 + random_.Below(4);
  for (uint64_t i = 0; i < size; ++i) {
    const std::string id = Pick(/*open=*/!random_.OneIn(8));
    if (id.empty()) return;
    const NodeIndex node = kFirstPlainNode + random_.Below(kNodes - kFirstPlainNode);
    batch.push_back({id, node, ReportOf(node, random_.OneIn(3) ? 1 : 0)});
    if (random_.OneIn(4)) batch.push_back(batch.back());
  }
  Send(batch);
}

void World::Send(const std::vector<Submission>& submissions) {
  Process* const process = Any();
  if (process == nullptr) return;
  if (submissions.size() == 1) return static_cast<void>(Deliver(*process, submissions.front()));
  for (const Submission& sent : submissions) model_.NoteSent(sent.round_id, sent.node, sent.report);
  const std::vector<absl::StatusOr<v1::Receipt>> answers = process->Submit(submissions);
  std::string outcome = "batch:";
  for (size_t i = 0; i < answers.size(); ++i) {
    const Submission& sent = submissions[i];
    absl::StrAppend(&outcome, " ", NameOf(sent.round_id), " node ", sent.node, " ",
                    absl::StatusCodeToString(answers[i].status().code()));
    if (answers[i].ok()) NoteReceipt(sent, *answers[i]);
  }
  Note(outcome);
}

absl::StatusOr<v1::Receipt> World::Deliver(Process& process, const Submission& sent) {
  model_.NoteSent(sent.round_id, sent.node, sent.report);
  const auto held = process.store().GetDigest(sent.round_id, sent.node);
  const auto round = process.store().GetRound(sent.round_id);
  const absl::StatusOr<v1::Receipt> answer = process.Submit({sent}).front();
  Note(absl::StrCat("report of node ", sent.node, " for ", NameOf(sent.round_id), ": ",
                    absl::StatusCodeToString(answer.status().code())));
  if (answer.ok()) {
    NoteReceipt(sent, *answer);
  } else if (IsHealthy(process) && held.ok() && round.ok()) {
    const bool is_held = held->has_value() && **held == sent.report.digest;
    const bool is_another = held->has_value() && !is_held;
    const bool is_open = round->state() == v1::ROUND_STATE_OPEN;
    const absl::StatusCode code = answer.status().code();
    const bool is_right = is_another ? code == absl::StatusCode::kAlreadyExists || !is_open
                                     : !is_held && !is_open && code == absl::StatusCode::kFailedPrecondition;
    if (!is_right) {
      Violate(absl::StrCat(NameOf(sent.round_id), ": a report of node ", sent.node,
                           " is refused without a cause: ", answer.status().message()));
    }
  }
  return answer;
}

void World::NoteReceipt(const Submission& sent, const v1::Receipt& receipt) {
  if (receipt.round_id() != sent.round_id || receipt.node_id() != sent.node ||
      receipt.digest() != DigestToBytes(sent.report.digest)) {
    Violate(absl::StrCat(NameOf(sent.round_id), ": the receipt of node ", sent.node, " is for another report"));
  }
  Violate(model_.NoteAcknowledged(sent.round_id, sent.node, sent.report.digest));
}

void World::TurnOfNode() {
  NodeProcess& node = *nodes_[random_.Below(nodes_.size())];
  Process* const process = random_.OneIn(8) ? nullptr : Any();
  const bool dies = random_.OneIn(4);
  Note(absl::StrCat("a life of a node", dies ? " that dies at its receipt" : "", process == nullptr ? ", alone" : ""));
  Violate(node.Live(
      process, [&](const Submission& sent) { return Deliver(*process, sent); }, clock_,
      1 + static_cast<int>(random_.Below(3)), dies));
}

// ---- checks ----

bool World::IsHealthy(const Process& process) const {
  if (is_fragile_ || process.is_broken) return false;
  return disk_ != nullptr ? !disk_->is_dead() && !disk_->is_full() : process.is_reachable;
}

void World::AdoptRounds(ReportStore& store) {
  const auto rounds = store.ListRounds();
  if (!rounds.ok()) return;
  for (const v1::Round& round : *rounds) Violate(model_.AddRound(round));
}

void World::CheckStates(ReportStore& store) {
  if (disk_ != nullptr && disk_->is_dead()) return;  // the next process shows what is left
  for (const auto& [id, known] : model_.rounds()) {
    if (known.states.back() == v1::ROUND_STATE_READY) continue;
    const auto round = store.GetRound(id);
    if (absl::IsUnavailable(round.status())) return;
    Violate(round.ok() ? model_.CheckStates(*round)
                       : absl::StrCat("round ", known.number, " is lost: ", round.status().message()));
  }
  if (database_ == nullptr) return;
  for (const std::string& id : database_->TakeTrespasses()) {
    Violate(absl::StrCat(NameOf(id), " is run by an aggregator that has lost the lease"));
  }
}

void World::CheckReports(ReportStore& store) {
  if (disk_ != nullptr && disk_->is_dead()) return;
  for (const auto& [id, known] : model_.rounds()) {
    const auto round = store.GetRound(id);
    if (absl::IsUnavailable(round.status())) return;
    if (!round.ok()) return Violate(absl::StrCat("round ", known.number, " is lost: ", round.status().message()));
    Violate(model_.CheckReports(*round, store));
    const bool has_result = round->state() == v1::ROUND_STATE_READY || (is_settled_ && known.is_over());
    if (has_result) Violate(model_.CheckResult(*round, RoundsFolder()));
  }
}

void World::CheckAll() {
  for (const auto& process : processes_) {
    if (process == nullptr) continue;
    CheckStates(process->store());
    CheckReports(process->store());
  }
}

void World::Settle() {
  is_settling_ = true;
  Note("settle");
  if (disk_ != nullptr) {
    disk_->SetFull(false);
    disk_->SetSyncTime(absl::ZeroDuration());
    Drop(0, /*is_crash=*/false);
  }
  for (size_t i = 0; i < (options_.is_shared ? 2 : 1); ++i) {
    if (processes_[i] == nullptr) Start(i);
    if (processes_[i] == nullptr) return Violate("an aggregator does not start");
    processes_[i]->SetReachable(true);
    AdoptRounds(processes_[i]->store());
  }
  for (int turn = 0; turn < 100 && violation_.empty(); ++turn) {
    for (auto& node : nodes_) {
      Violate(node->Live(
          processes_[0].get(), [&](const Submission& sent) { return Deliver(*processes_[0], sent); }, clock_, 2,
          /*dies_at_receipt=*/false));
    }
    for (const auto& process : processes_) {
      if (process != nullptr) Turn(*process);
    }
    const auto is_over = [](const auto& round) { return round.second.is_over(); };
    const bool may_hold_lease = !options_.is_shared || turn >= 8;  // who died with it holds it for a while
    is_settled_ = may_hold_lease && std::all_of(model_.rounds().begin(), model_.rounds().end(), is_over);
    if (is_settled_) return CheckAll();
    clock_.Advance(turn < 50 ? absl::Seconds(1) : absl::Hours(1));
  }
  if (violation_.empty()) Violate("a round does not come to its end, and nothing hinders it");
}

}  // namespace blink::simulation
