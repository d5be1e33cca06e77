#include "node_client/agent.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/wire/groups_codec.h"
#include "node_client/draw_reports.h"
#include "node_client/pacing.h"
#include "node_client/policy.h"

namespace blink {
namespace {

constexpr size_t kReportsPerStream = 4096;
constexpr size_t kRefusedRemembered = 1024;

}  // namespace

Agent::Agent(const Kit& kit, Journal& journal, AggregatorLink& link, Clock& clock, RandomSource& random,
             AgentOptions options)
    : kit_(kit),
      journal_(journal),
      link_(link),
      clock_(clock),
      random_(random),
      options_(std::move(options)),
      log_(clock) {}

AgentOutcome Agent::Run() {
  if (options_.started != absl::InfinitePast()) SleepToQuantum(clock_, options_.started, StartQuantum(kit_.config));
  ResumeRounds();
  absl::Time progress_at = clock_.Now();
  while (true) {
    if (options_.stopped()) {
      return {options_.daemon ? ExitCode::kOk : ExitCode::kInterrupted, "stopped by a signal"};
    }
    const absl::Status status = TakeStep();
    if (fatal_.has_value()) return *fatal_;
    if (options_.stopped()) continue;
    if (const auto outcome = FindOutcome()) return *outcome;

    const absl::Time now = clock_.Now();
    const bool waits_for_round = !options_.daemon && rounds_.empty();
    const bool progress = status.ok() && !waits_for_round;
    if (progress) progress_at = now;
    const absl::Duration left = options_.give_up_after - (now - progress_at);
    const AgentOutcome given_up = {ExitCode::kUnreachable,
                                   status.ok() ? "no round was opened within the time allowed"
                                               : absl::StrCat("gave up; the last error was: ", status.message())};
    if (left <= absl::ZeroDuration()) return given_up;
    auto wait = DrawWaitAfter(status);
    if (!wait.ok()) return {ExitCode::kInternal, std::string(wait.status().message())};
    // No attempt comes before its time: it would break the window, and a fleet that began together would come together.
    const bool is_last = !progress && *wait >= left;
    if (is_last) *wait = left;
    if (!status.ok()) LogFailure(status, *wait, is_last);
    clock_.SleepFor(*wait);
    if (is_last && !options_.stopped()) return given_up;
  }
}

void Agent::LogFailure(const absl::Status& status, absl::Duration wait, bool is_last) {
  const absl::Duration precision = wait < absl::Seconds(10) ? absl::Milliseconds(100) : absl::Seconds(1);
  log_.WriteLine(spdlog::level::warn,
                 absl::StrCat("attempt ", failures_, " failed, ", is_last ? "giving up in " : "trying again in ",
                              absl::ToDoubleSeconds(absl::Ceil(wait, precision)), " s: ", status.message()));
}

absl::StatusOr<absl::Duration> Agent::DrawWaitAfter(const absl::Status& status) {
  // DrawWait bounds the peer's window, which can neither wake a fleet at once nor put it to sleep for ever.
  if (status.ok()) {
    failures_ = unanswered_ = 0;
    BLINK_ASSIGN_OR_RETURN(absl::Duration wait, DrawWait(options_.retry, 0, window_.value_or(options_.poll), random_));
    for (const auto& [id, round] : rounds_) {
      if (round.progress != Progress::kPrepared) continue;
      wait = std::min(wait, std::max(absl::ZeroDuration(), round.send_at - clock_.Now()));
    }
    return wait;
  }
  ++failures_;
  if (window_.has_value()) {  // the aggregator is there: once it is gone, the backoff begins anew
    unanswered_ = 0;
    return DrawWait(options_.retry, 0, window_, random_);
  }
  return DrawWait(options_.retry, unanswered_++, std::nullopt, random_);
}

absl::Status Agent::TakeStep() {
  BLINK_RETURN_IF_ERROR(PollRounds());
  absl::Status first_error;
  for (auto& [id, round] : rounds_) {
    if (round.progress == Progress::kOver) continue;
    const absl::Status status = AdvanceRound(round);
    if (fatal_.has_value()) return status;
    first_error.Update(status);
  }
  return first_error;
}

absl::Status Agent::PollRounds() {
  auto answer = link_.GetRounds(kit_.config.first_node, options_.round_id);
  window_ = answer.retry;
  if (!answer.value.ok()) {
    if (IsRetryable(answer.value.status()) || options_.stopped()) return answer.value.status();
    return EndRun(ExitCode::kRefusedByPeer, answer.value.status());
  }
  for (auto& [id, round] : rounds_) round.offered = false;
  for (auto& [id, offered] : refused_) offered = false;
  for (const OfferedRound& offer : *answer.value) {
    if (const auto refused = refused_.find(offer.round_id); refused != refused_.end()) {
      refused->second = true;
    } else if (!offer.view.ok()) {
      if (rounds_.contains(offer.round_id)) continue;  // accepted before: asked for by name below
      RefuseRound(offer.round_id, offer.view.status());
    } else {
      NoteRound(*offer.view);
    }
  }
  // A round that is no longer open has left the list: ask for it by name.
  for (auto& [id, round] : rounds_) {
    if (round.progress == Progress::kOver || round.offered) continue;
    auto named = link_.GetRounds(kit_.config.first_node, id);
    if (!named.value.ok() && named.value.status().code() == absl::StatusCode::kNotFound) {
      if (round.progress == Progress::kResumed) {  // the aggregator was set up anew since
        log_.WriteLine(spdlog::level::warn, absl::StrCat("round ", id, ": the aggregator no longer knows it"));
        CloseRound(round);
      } else {
        FailRound(round, ExitCode::kRefusedByPeer, "the aggregator no longer knows the round");
      }
      continue;
    }
    BLINK_RETURN_IF_ERROR(named.value.status());
    absl::Status answer_for_it = absl::InternalError(absl::StrCat("the aggregator did not answer for round ", id));
    for (const OfferedRound& offer : *named.value) {
      if (offer.round_id != id) continue;
      if (offer.view.ok()) {
        NoteRound(*offer.view);
      } else {
        answer_for_it = absl::InternalError(
            absl::StrCat("the aggregator's answer for round ", id, ": ", offer.view.status().message()));
      }
    }
    if (!round.offered) return answer_for_it;
  }
  std::erase_if(rounds_,
                [](const auto& entry) { return entry.second.progress == Progress::kOver && !entry.second.offered; });
  if (refused_.size() > kRefusedRemembered) std::erase_if(refused_, [](const auto& entry) { return !entry.second; });
  return absl::OkStatus();
}

void Agent::NoteRound(const RoundView& view) {
  auto it = rounds_.find(view.round_id);
  if (it == rounds_.end()) {
    if (view.state != v1::ROUND_STATE_OPEN && options_.round_id != view.round_id) return;
    it = rounds_.emplace(view.round_id, TrackedRound(view)).first;
  }
  TrackedRound& round = it->second;
  round.offered = true;
  if (round.progress == Progress::kOver) return;
  if (round.IsPrepared() && view.parameters != round.view.parameters) {
    return FailRound(round, ExitCode::kRefusedByPolicy, "the aggregator changed the round's parameters");
  }
  round.view = view;
  if (round.progress == Progress::kResumed) round.progress = Progress::kSeen;
}

void Agent::ResumeRounds() {
  for (const std::string& id : journal_.UnfinishedRounds()) {
    if (!options_.round_id.empty() && options_.round_id != id) continue;
    const auto bound = journal_.RoundBinding(id);
    RoundView view{
        id, bound->parameters, kit_.config.roster_version, v1::ROUND_STATE_OPEN, absl::InfiniteFuture(), std::nullopt};
    TrackedRound& round = rounds_.emplace(id, TrackedRound(std::move(view))).first->second;
    round.epoch = bound->epoch;
    round.progress = Progress::kResumed;
  }
}

std::optional<Digest> Agent::FindDrawFor(const TrackedRound& round, NodeIndex node) const {
  const auto bound = journal_.RoundBinding(round.view.round_id);
  return bound.has_value() ? journal_.FindDraw(bound->epoch, bound->parameters, node)
                           : journal_.FindDraw(round.epoch, round.view.parameters, node);
}

absl::Status Agent::CheckHeldDigest(const TrackedRound& round, NodeIndex node, const std::optional<Digest>& held) {
  if (!held.has_value() || held == FindDrawFor(round, node)) return absl::OkStatus();
  link_.NoteForeignReport(round.view.round_id, node);
  return EndRun(
      ExitCode::kJournal,
      absl::FailedPreconditionError(absl::StrCat(
          "round ", round.view.round_id, ": the aggregator holds a report of node ", node,
          " that this journal did not draw. Either an older copy of the journal was restored, or somebody else reports "
          "with this certificate (or the aggregator lies, which can stop this node and nothing more). Nothing more is "
          "drawn or sent. Bring the latest journal back; otherwise have the certificate revoked and the node leave the "
          "roster")));
}

absl::Status Agent::CommitJournal() {
  const absl::Status committed = journal_.Commit();
  return committed.ok() ? committed : EndRun(JournalExitCode(committed), committed);
}

absl::Status Agent::ConcludeRound(TrackedRound& round) {
  const RoundView& view = round.view;
  if (view.state == v1::ROUND_STATE_FAILED || view.state == v1::ROUND_STATE_CANCELLED) {
    FailRound(round, ExitCode::kRoundFailed, absl::StrCat("the round is ", RoundStateName(view.state)));
    return absl::OkStatus();
  }
  BLINK_RETURN_IF_ERROR(CheckHeldDigest(round, kit_.config.first_node, view.held_digest));
  bool all = round.progress == Progress::kDelivered || HasAllReceipts(round);
  if (const auto bound = journal_.RoundBinding(view.round_id); !all && bound.has_value()) {
    // The reports may have arrived although their receipts did not.
    round.epoch = bound->epoch;
    if (kit_.config.is_gateway()) {
      BLINK_ASSIGN_OR_RETURN(const std::vector<bool> held, FetchHeldReports(round));
      all = AreAllHeld(held);
    } else {
      all = view.held_digest.has_value();  // and it is ours
    }
  }
  if (all) {
    FinishRound(round, "sealed with every report of this kit in it");
  } else {
    FailRound(round, ExitCode::kRefusedByPeer,
              absl::StrCat("the round is ", RoundStateName(view.state),
                           "; not every report of this kit was acknowledged before"));
  }
  return absl::OkStatus();
}

absl::Status Agent::AdvanceRound(TrackedRound& round) {
  if (round.view.state != v1::ROUND_STATE_OPEN) return ConcludeRound(round);
  if (!round.IsPrepared()) BLINK_RETURN_IF_ERROR(PrepareReports(round));
  if (round.progress == Progress::kOver || clock_.Now() < round.send_at) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(CheckHeldDigest(round, kit_.config.first_node, round.view.held_digest));
  const bool was_delivered = round.progress == Progress::kDelivered;
  round.progress = Progress::kPrepared;  // until this step has seen every report held
  BLINK_RETURN_IF_ERROR(DeliverReports(round));
  if (round.progress != Progress::kDelivered) return absl::OkStatus();
  if (options_.leave_at_receipt) {
    FinishRound(round, "every report of this kit is acknowledged");
  } else if (!was_delivered) {
    log_.WriteLine(spdlog::level::info, absl::StrCat("round ", round.view.round_id, ": ", kit_.config.NodesName(),
                                                     " acknowledged; staying until the round is sealed"));
  }
  return absl::OkStatus();
}

absl::Status Agent::PrepareReports(TrackedRound& round) {
  const RoundView& view = round.view;
  const absl::Time now = journal_.MonotoneNow(clock_.Now());
  const absl::Status terms = CheckTerms(kit_.config, kit_.policy, view);
  const auto decision = terms.ok() ? DecideDraw(kit_.policy, journal_, view, now) : absl::StatusOr<DrawDecision>(terms);
  if (!decision.ok()) {
    RefuseRound(view.round_id, decision.status());
    round.progress = Progress::kOver;  // for this process alone: the policy may change before the next one
    return absl::OkStatus();
  }
  round.epoch = decision->epoch;
  // An older journal must not draw a second time what the aggregator holds already. Digests alone decide.
  BLINK_RETURN_IF_ERROR(CheckHeldDigest(round, kit_.config.first_node, view.held_digest));
  if (!decision->complete && kit_.config.is_gateway()) {
    const auto held = FetchHeldReports(round);
    if (!held.ok()) return fatal_.has_value() ? held.status() : TakeRefusal(round, held.status());
  }
  std::optional<NodeGroups> groups;
  if (!decision->complete) {
    BLINK_ASSIGN_OR_RETURN(groups, FetchGroups(round));
    if (round.progress == Progress::kOver) return absl::OkStatus();
  }
  const auto delay = DrawSendDelay(kit_.policy.send_spread_seconds, random_);
  if (!delay.ok()) return EndRun(ExitCode::kInternal, delay.status());
  round.send_at = clock_.Now() + *delay;
  const DrawTask task{kit_, view, *decision, now, groups.has_value() ? &*groups : nullptr, options_.threads};
  HiddenWork hidden_work(clock_);
  absl::Duration quantum = PreparationQuantum(kit_.config, absl::ZeroDuration(), false);
  if (!journal_.RoundBinding(view.round_id).has_value()) {
    const auto measured = MeasureHiddenWork(task, clock_, journal_);
    if (!measured.ok()) return EndRun(ExitCode::kInternal, measured.status());
    quantum = PreparationQuantum(kit_.config, *measured, decision->begins_epoch);
    const std::optional<DrawFailure> failure = DrawReports(
        task, [this](NodeIndex) -> RandomSource& { return random_; }, hidden_work, journal_);
    if (failure.has_value()) return EndRun(failure->code, failure->why);
  }
  FillQuantum(clock_, hidden_work.total(), quantum);
  round.progress = Progress::kPrepared;
  log_.WriteLine(spdlog::level::info,
                 absl::StrCat("round ", view.round_id, ": epsilon ", absl::StrFormat("%.8g", view.parameters.epsilon()),
                              ", ", kit_.config.hosted(), " report(s) of epoch ", round.epoch, " are ready"));
  return absl::OkStatus();
}

absl::StatusOr<std::optional<NodeGroups>> Agent::FetchGroups(TrackedRound& round) {
  const RoundView& view = round.view;
  if (!view.parameters.sends_group_degrees()) return std::nullopt;
  const uint32_t n = view.parameters.node_count();
  const GroupQuestion& question = view.parameters.question();
  const auto answer = link_.GetGroups(kit_.config.first_node, view.round_id, GroupsBytes(n));
  if (answer.retry.has_value()) window_ = answer.retry;
  if (!answer.value.ok()) {
    BLINK_RETURN_IF_ERROR(TakeRefusal(round, answer.value.status()));
    return std::nullopt;
  }
  absl::StatusOr<NodeGroups> groups = DecodeGroups(*answer.value, n, question.count);
  if (groups.ok() && QuestionAbout(*groups) != question) {
    groups = absl::InvalidArgumentError("the aggregator's groups are not those that the round's parameters name");
  }
  if (groups.ok()) return *std::move(groups);
  RefuseRound(view.round_id, groups.status());
  round.progress = Progress::kOver;
  return std::nullopt;
}

absl::StatusOr<OutgoingReport> Agent::LoadReport(const TrackedRound& round, NodeIndex node) const {
  BLINK_ASSIGN_OR_RETURN(CodedReport report, journal_.LoadReport(round.epoch, round.view.parameters, node));
  return OutgoingReport{node, round.view.parameters, std::move(report)};
}

bool Agent::HasAllReceipts(const TrackedRound& round) const {
  for (NodeIndex node = kit_.config.first_node; node <= kit_.config.last_node; ++node) {
    if (!kit_.config.IsRetired(node) && !journal_.HasReceipt(round.view.round_id, node)) return false;
  }
  return true;
}

bool Agent::AreAllHeld(const std::vector<bool>& held) const {
  for (NodeIndex node = kit_.config.first_node; node <= kit_.config.last_node; ++node) {
    if (!kit_.config.IsRetired(node) && !held[node - kit_.config.first_node]) return false;
  }
  return true;
}

absl::Status Agent::DeliverReports(TrackedRound& round) {
  if (kit_.config.is_gateway()) return DeliverGatewayReports(round);
  const NodeIndex node = kit_.config.first_node;
  if (round.view.held_digest.has_value() && journal_.HasReceipt(round.view.round_id, node)) {
    round.progress = Progress::kDelivered;
    return absl::OkStatus();
  }
  BLINK_RETURN_IF_ERROR(DeliverReport(round, node));
  if (round.progress == Progress::kOver) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(CommitJournal());
  round.progress = Progress::kDelivered;
  return absl::OkStatus();
}

absl::Status Agent::DeliverReport(TrackedRound& round, NodeIndex node) {
  auto report = LoadReport(round, node);
  if (!report.ok()) return EndRun(ExitCode::kJournal, report.status());
  auto reply = link_.SubmitReport(round.view.round_id, *report);
  if (reply.retry.has_value()) window_ = reply.retry;
  if (!reply.value.ok()) return TakeRefusal(round, reply.value.status());
  return TakeReceipt(round, node, *reply.value);
}

absl::StatusOr<std::vector<bool>> Agent::FetchHeldReports(const TrackedRound& round) {
  const KitConfig& config = kit_.config;
  std::vector<bool> held(config.hosted());
  std::optional<std::pair<NodeIndex, Digest>> foreign;
  const auto listed = link_.ListDigests(round.view.round_id, config.first_node, config.last_node,
                                        [&](NodeIndex node, const Digest& digest) {
                                          held[node - config.first_node] = true;
                                          if (!foreign.has_value() && digest != FindDrawFor(round, node))
                                            foreign.emplace(node, digest);
                                        });
  if (listed.retry.has_value()) window_ = listed.retry;
  BLINK_RETURN_IF_ERROR(listed.value.status());  // an answer that breaks off or makes no sense says nothing
  if (foreign.has_value()) BLINK_RETURN_IF_ERROR(CheckHeldDigest(round, foreign->first, foreign->second));
  return held;
}

absl::Status Agent::DeliverGatewayReports(TrackedRound& round) {
  const KitConfig& config = kit_.config;
  const auto held = FetchHeldReports(round);
  if (!held.ok()) return fatal_.has_value() ? held.status() : TakeRefusal(round, held.status());
  std::vector<NodeIndex> streamed;
  absl::Status not_accepted;  // the first answer to a report that asks for it again
  for (NodeIndex node = config.first_node; node <= config.last_node && round.progress != Progress::kOver; ++node) {
    if (config.IsRetired(node)) continue;
    // A receipt may have been lost on the way, or with an earlier process. Then the held report is sent again to get
    // it.
    if ((*held)[node - config.first_node] && journal_.HasReceipt(round.view.round_id, node)) continue;
    if (config.node_count / 8 + 1024 <= kStreamReportBytesMax) {
      streamed.push_back(node);
    } else {
      BLINK_RETURN_IF_ERROR(DeliverReport(round, node));  // too large, perhaps, for one message
    }
  }
  for (size_t begin = 0; begin < streamed.size() && round.progress != Progress::kOver; begin += kReportsPerStream) {
    const size_t end = std::min(streamed.size(), begin + kReportsPerStream);
    const absl::Status sent = SubmitStream(round, streamed, begin, end, &not_accepted);
    if (fatal_.has_value()) return sent;
    BLINK_RETURN_IF_ERROR(CommitJournal());
    BLINK_RETURN_IF_ERROR(sent);
  }
  BLINK_RETURN_IF_ERROR(CommitJournal());
  if (round.progress == Progress::kOver) return absl::OkStatus();
  if (!not_accepted.ok()) {
    return absl::UnavailableError(absl::StrCat("some reports are not acknowledged: ", not_accepted.message()));
  }
  round.progress = Progress::kDelivered;
  return absl::OkStatus();
}

absl::Status Agent::SubmitStream(TrackedRound& round, const std::vector<NodeIndex>& nodes, size_t begin, size_t end,
                                 absl::Status* not_accepted) {
  size_t next = begin, answered = 0;
  absl::Status journal_error;
  auto reply = link_.SubmitReports(
      round.view.round_id,
      [&]() -> absl::StatusOr<std::optional<OutgoingReport>> {
        if (next == end) return std::nullopt;
        auto report = LoadReport(round, nodes[next++]);
        if (!report.ok()) return journal_error = report.status();
        return *std::move(report);
      },
      [&](NodeIndex node, const absl::StatusOr<Receipt>& receipt) -> absl::Status {
        ++answered;
        if (receipt.ok()) return TakeReceipt(round, node, *receipt);
        not_accepted->Update(TakeRefusal(round, receipt.status()));
        return absl::OkStatus();
      });
  if (reply.retry.has_value()) window_ = reply.retry;
  if (!journal_error.ok()) return EndRun(ExitCode::kJournal, journal_error);
  if (round.progress == Progress::kOver) return absl::OkStatus();
  if (!reply.value.ok()) return TakeRefusal(round, reply.value.status());
  if (answered != end - begin) return absl::UnavailableError("the aggregator did not answer for every report");
  return absl::OkStatus();
}

absl::Status Agent::TakeReceipt(const TrackedRound& round, NodeIndex node, const Receipt& receipt) {
  if (receipt.round_id != round.view.round_id || receipt.node != node || FindDrawFor(round, node) != receipt.digest) {
    return absl::InternalError(absl::StrCat("the aggregator's receipt for node ", node, " is for another report"));
  }
  if (!journal_.HasReceipt(receipt.round_id, node)) {
    journal_.StageReceipt(receipt.round_id, node, receipt.digest, receipt.received_minute);
  }
  return absl::OkStatus();
}

absl::Status Agent::TakeRefusal(TrackedRound& round, const absl::Status& status) {
  // FAILED_PRECONDITION: the round is not open. The next poll tells what became of it.
  if (IsRetryable(status) || status.code() == absl::StatusCode::kFailedPrecondition || options_.stopped())
    return status;
  FailRound(round, ExitCode::kRefusedByPeer, absl::StrCat("the aggregator refuses: ", status.message()));
  return absl::OkStatus();
}

void Agent::RefuseRound(const std::string& round_id, const absl::Status& why) {
  log_.WriteLine(spdlog::level::warn, absl::StrCat("round ", round_id, " is refused by this node: ", why.message()));
  refused_[round_id] = true;
  refusal_ = AgentOutcome{ExitCode::kRefusedByPolicy, absl::StrCat("round ", round_id, " is refused: ", why.message())};
}

void Agent::FailRound(TrackedRound& round, ExitCode code, const std::string& why) {
  if (round.progress == Progress::kOver) return;
  log_.WriteLine(spdlog::level::err, absl::StrCat("round ", round.view.round_id, ": ", why));
  CloseRound(round);
  if (!failure_.has_value()) failure_ = AgentOutcome{code, absl::StrCat("round ", round.view.round_id, ": ", why)};
}

void Agent::CloseRound(TrackedRound& round) {
  round.progress = Progress::kOver;
  // Written once: a round that runs backwards and ends again and again must not fill the disk.
  if (!journal_.RoundBinding(round.view.round_id).has_value() || journal_.RoundIsOver(round.view.round_id)) return;
  journal_.StageRoundOver(round.view.round_id);
  // If this fails, the next process looks at the round once more, although it is over.
  if (const absl::Status committed = journal_.Commit(); !committed.ok()) {
    spdlog::warn("{}", std::string(committed.message()));
  }
}

void Agent::FinishRound(TrackedRound& round, const char* how) {
  log_.WriteLine(spdlog::level::info, absl::StrCat("round ", round.view.round_id, ": ", how));
  CloseRound(round);
  ++finished_;
}

absl::Status Agent::EndRun(ExitCode code, const absl::Status& why) {
  fatal_ = AgentOutcome{code, std::string(why.message())};
  return absl::AbortedError(why.message());
}

std::optional<AgentOutcome> Agent::FindOutcome() const {
  if (options_.daemon) return std::nullopt;
  for (const auto& [id, round] : rounds_) {
    if (round.progress != Progress::kOver) return std::nullopt;
  }
  if (failure_.has_value()) return failure_;
  if (finished_ > 0) return AgentOutcome{};
  return refusal_;  // or nothing yet: wait for a round
}

}  // namespace blink
