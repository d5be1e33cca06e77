#include "node_client/agent.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"
#include "common/privacy/privatizer.h"
#include "node_client/policy.h"

namespace blink {
namespace {

constexpr uint64_t kBatchBytes = 1 << 20;  // drawn reports held in memory before they go to the disk
constexpr size_t kReportsPerStream = 4096;
constexpr size_t kRefusedRemembered = 1024;
constexpr uint32_t kLogLinesPerHourMax = 500;

// Uniform in [0, spread], in milliseconds; the modulo's bias, below 2^-29, cannot matter to a time.
absl::StatusOr<absl::Duration> DrawSpread(int64_t spread_seconds, RandomSource& random) {
  if (spread_seconds == 0) return absl::ZeroDuration();
  uint64_t value = 0;
  BLINK_RETURN_IF_ERROR(random.Fill(absl::MakeSpan(reinterpret_cast<uint8_t*>(&value), sizeof(value))));
  return absl::Milliseconds(value % (static_cast<uint64_t>(spread_seconds) * 1000 + 1));
}

// Preparing a round takes a little longer for longer lists. It is made to take a whole number of these, which depends
// on public sizes alone and is some times what the work needs, so that no call that follows tells anything by its time.
absl::Duration PreparationQuantum(const KitConfig& kit) {
  return absl::Milliseconds(250) + absl::Nanoseconds(20) * (static_cast<int64_t>(kit.hosted()) * kit.node_count);
}

// So does loading lists and journal. An aggregator can end a node by a refusal, and its supervisor starts it again, as
// often as it takes to measure that. The list of one node fits into one quantum whatever it is, the lists of a gateway
// while they are sparse.
absl::Duration StartQuantum(const KitConfig& kit) {
  const int64_t n = kit.node_count;
  return absl::Milliseconds(250) + absl::Nanoseconds(300) * n + absl::Nanoseconds(2) * (kit.hosted() * n);
}

}  // namespace

Agent::Agent(const Kit& kit, Journal& journal, AggregatorLink& link, Clock& clock, RandomSource& random,
             AgentOptions options)
    : kit_(kit), journal_(journal), link_(link), clock_(clock), random_(random), options_(std::move(options)) {}

AgentOutcome Agent::Run() {
  if (options_.started != absl::InfinitePast()) SleepToQuantum(options_.started, StartQuantum(kit_.config));
  ResumeRounds();
  absl::Time progress_at = clock_.Now();
  while (true) {
    if (options_.stopped()) {
      return {options_.daemon ? ExitCode::kOk : ExitCode::kInterrupted, "stopped by a signal"};
    }
    const absl::Status status = Step();
    answered_ = status.ok();
    if (fatal_.has_value()) return *fatal_;
    if (options_.stopped()) continue;
    if (const auto outcome = OutcomeIfDone()) return *outcome;

    const absl::Time now = clock_.Now();
    const bool waits_for_round = !options_.daemon && rounds_.empty();
    if (status.ok() && !waits_for_round) progress_at = now;
    if (now - progress_at > options_.give_up_after) {
      return {ExitCode::kUnreachable, status.ok() ? "no round was opened within the time allowed"
                                                  : absl::StrCat("gave up; the last error was: ", status.message())};
    }
    if (!status.ok()) {
      Say(spdlog::level::warn, absl::StrCat("attempt ", attempt_ + 1, " failed, will try again: ", status.message()));
    }
    auto wait = WaitAfter(status);
    if (!wait.ok()) return {ExitCode::kInternal, std::string(wait.status().message())};
    clock_.SleepFor(*wait);
  }
}

void Agent::SleepToQuantum(absl::Time started, absl::Duration quantum) {
  absl::Duration rest;  // a wall clock may have been set, by hours, in either direction
  absl::IDivDuration(std::max(absl::ZeroDuration(), clock_.Now() - started), quantum, &rest);
  clock_.SleepFor(quantum - rest);
}

absl::StatusOr<absl::Duration> Agent::WaitAfter(const absl::Status& status) {
  // DrawWait clamps what the peer wishes: it can neither wake a fleet at once nor put it to sleep for ever.
  if (status.ok()) {
    attempt_ = 0;
    BLINK_ASSIGN_OR_RETURN(absl::Duration wait, DrawWait(options_.retry, 0, window_.value_or(options_.poll), random_));
    for (const auto& [id, round] : rounds_) {
      if (round.over || !round.prepared || round.delivered) continue;
      wait = std::min(wait, std::max(absl::ZeroDuration(), round.send_at - clock_.Now()));
    }
    return wait;
  }
  return DrawWait(options_.retry, attempt_++, window_, random_);
}

absl::Status Agent::Step() {
  BLINK_RETURN_IF_ERROR(Poll());
  absl::Status first_error;
  for (auto& [id, round] : rounds_) {
    if (round.over) continue;
    const absl::Status status = Advance(round);
    if (fatal_.has_value()) return status;
    first_error.Update(status);
  }
  return first_error;
}

absl::Status Agent::Poll() {
  auto answer = link_.GetRounds(kit_.config.first_node, options_.round_id);
  window_ = answer.retry;
  if (!answer.value.ok()) {
    if (IsRetryable(answer.value.status()) || options_.stopped()) return answer.value.status();
    return Fatal(ExitCode::kRefusedByPeer, answer.value.status());
  }
  for (auto& [id, round] : rounds_) round.offered = false;
  for (auto& [id, offered] : refused_) offered = false;
  for (const OfferedRound& offer : *answer.value) {
    if (const auto refused = refused_.find(offer.round_id); refused != refused_.end()) {
      refused->second = true;
    } else if (!offer.view.ok()) {
      if (rounds_.contains(offer.round_id)) continue;  // accepted before: asked for by name below
      Refuse(offer.round_id, offer.view.status());
    } else {
      Observe(*offer.view);
    }
  }
  // A round that is no longer open has left the list: ask for it by name.
  for (auto& [id, round] : rounds_) {
    if (round.over || round.offered) continue;
    auto named = link_.GetRounds(kit_.config.first_node, id);
    if (!named.value.ok() && named.value.status().code() == absl::StatusCode::kNotFound) {
      if (round.resumed) {  // of an aggregator that was set up anew since
        Say(spdlog::level::warn, absl::StrCat("round ", id, ": the aggregator no longer knows it"));
        Over(round);
      } else {
        Fail(round, ExitCode::kRefusedByPeer, "the aggregator no longer knows the round");
      }
      continue;
    }
    BLINK_RETURN_IF_ERROR(named.value.status());
    absl::Status answer_for_it = absl::InternalError(absl::StrCat("the aggregator did not answer for round ", id));
    for (const OfferedRound& offer : *named.value) {
      if (offer.round_id != id) continue;
      if (offer.view.ok()) {
        Observe(*offer.view);
      } else {
        answer_for_it = absl::InternalError(
            absl::StrCat("the aggregator's answer for round ", id, ": ", offer.view.status().message()));
      }
    }
    if (!round.offered) return answer_for_it;
  }
  std::erase_if(rounds_, [](const auto& entry) { return entry.second.over && !entry.second.offered; });
  if (refused_.size() > kRefusedRemembered) std::erase_if(refused_, [](const auto& entry) { return !entry.second; });
  return absl::OkStatus();
}

void Agent::Observe(const RoundView& view) {
  auto it = rounds_.find(view.round_id);
  if (it == rounds_.end()) {
    if (view.state != v1::ROUND_STATE_OPEN && options_.round_id != view.round_id) return;
    it = rounds_.emplace(view.round_id, Tracked(view)).first;
  }
  Tracked& round = it->second;
  round.offered = true;
  if (round.over) return;
  if (round.prepared && view.parameters != round.view.parameters) {
    return Fail(round, ExitCode::kRefusedByPolicy, "the aggregator changed the round's parameters");
  }
  round.view = view;
  round.resumed = false;
}

void Agent::ResumeRounds() {
  for (const std::string& id : journal_.UnfinishedRounds()) {
    if (!options_.round_id.empty() && options_.round_id != id) continue;
    const auto bound = journal_.RoundBinding(id);
    RoundView view{
        id, bound->parameters, kit_.config.roster_version, v1::ROUND_STATE_OPEN, absl::InfiniteFuture(), std::nullopt};
    Tracked& round = rounds_.emplace(id, Tracked(std::move(view))).first->second;
    round.epoch = bound->epoch;
    round.resumed = true;
  }
}

std::optional<Digest> Agent::DrawFor(const Tracked& round, NodeIndex node) const {
  const auto bound = journal_.RoundBinding(round.view.round_id);
  return bound.has_value() ? journal_.FindDraw(bound->epoch, bound->parameters, node)
                           : journal_.FindDraw(round.epoch, round.view.parameters, node);
}

absl::Status Agent::CheckHeld(const Tracked& round, NodeIndex node, const std::optional<Digest>& held) {
  if (!held.has_value() || held == DrawFor(round, node)) return absl::OkStatus();
  return Fatal(
      ExitCode::kJournal,
      absl::FailedPreconditionError(absl::StrCat(
          "round ", round.view.round_id, ": the aggregator holds a report of node ", node,
          " that this journal did not draw. Either an older copy of the journal was restored, or somebody else reports "
          "with this certificate (or the aggregator lies, which can stop this node and nothing more). Nothing more is "
          "drawn or sent. Bring the latest journal back; otherwise have the certificate revoked and the node leave the "
          "roster")));
}

absl::Status Agent::Commit() {
  const absl::Status committed = journal_.Commit();
  return committed.ok() ? committed : Fatal(JournalExitCode(committed), committed);
}

absl::Status Agent::End(Tracked& round) {
  const RoundView& view = round.view;
  if (view.state == v1::ROUND_STATE_FAILED || view.state == v1::ROUND_STATE_CANCELLED) {
    Fail(round, ExitCode::kRoundFailed, absl::StrCat("the round is ", RoundStateName(view.state)));
    return absl::OkStatus();
  }
  BLINK_RETURN_IF_ERROR(CheckHeld(round, kit_.config.first_node, view.held_digest));
  bool all = round.delivered || AllReceipted(round);
  if (const auto bound = journal_.RoundBinding(view.round_id); !all && bound.has_value()) {
    // The reports may have arrived although their receipts did not.
    round.epoch = bound->epoch;
    if (kit_.config.is_gateway()) {
      BLINK_ASSIGN_OR_RETURN(const std::vector<bool> held, AskHeld(round));
      all = AllHeld(held);
    } else {
      all = view.held_digest.has_value();  // and it is ours
    }
  }
  if (all) {
    Finish(round, "sealed with every report of this kit in it");
  } else {
    Fail(round, ExitCode::kRefusedByPeer,
         absl::StrCat("the round is ", RoundStateName(view.state),
                      "; not every report of this kit was acknowledged before"));
  }
  return absl::OkStatus();
}

absl::Status Agent::Advance(Tracked& round) {
  if (round.view.state != v1::ROUND_STATE_OPEN) return End(round);
  if (!round.prepared) BLINK_RETURN_IF_ERROR(Prepare(round));
  if (round.over || clock_.Now() < round.send_at) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(CheckHeld(round, kit_.config.first_node, round.view.held_digest));
  const bool was_delivered = round.delivered;
  round.delivered = false;
  BLINK_RETURN_IF_ERROR(Deliver(round));
  if (!round.delivered || round.over) return absl::OkStatus();
  if (options_.leave_at_receipt) {
    Finish(round, "every report of this kit is acknowledged");
  } else if (!was_delivered) {
    Say(spdlog::level::info, absl::StrCat("round ", round.view.round_id, ": ", kit_.config.NodesName(),
                                          " acknowledged; staying until the round is sealed"));
  }
  return absl::OkStatus();
}

absl::Status Agent::Prepare(Tracked& round) {
  const RoundView& view = round.view;
  const absl::Time now = journal_.MonotoneNow(clock_.Now());
  const absl::Status terms = CheckTerms(kit_.config, kit_.policy, view);
  const auto decision = terms.ok() ? DecideDraw(kit_.policy, journal_, view, now) : absl::StatusOr<DrawDecision>(terms);
  if (!decision.ok()) {
    Refuse(view.round_id, decision.status());
    round.over = true;
    return absl::OkStatus();
  }
  round.epoch = decision->epoch;
  // An older journal must not draw a second time what the aggregator holds already. Digests alone decide.
  BLINK_RETURN_IF_ERROR(CheckHeld(round, kit_.config.first_node, view.held_digest));
  if (!decision->complete && kit_.config.is_gateway()) {
    const auto held = AskHeld(round);
    if (!held.ok()) return fatal_.has_value() ? held.status() : TakeRefusal(round, held.status());
  }
  const auto spread = DrawSpread(kit_.policy.send_spread_seconds, random_);
  if (!spread.ok()) return Fatal(ExitCode::kInternal, spread.status());
  const absl::Time started = clock_.Now();
  round.send_at = started + *spread;

  if (!journal_.RoundBinding(view.round_id).has_value()) {
    journal_.StageClock(now);
    if (decision->begins_epoch) journal_.StageEpoch(decision->epoch, now, kit_.lists);
    bool epoch_is_staged = decision->begins_epoch;
    for (NodeIndex node = kit_.config.first_node; !decision->complete && node <= kit_.config.last_node; ++node) {
      if (journal_.FindDraw(decision->epoch, view.parameters, node).has_value()) continue;
      auto noise = DrawNoise(view.parameters, node, random_);
      if (!noise.ok()) {
        journal_.DiscardStaged();
        return Fatal(ExitCode::kInternal, noise.status());
      }
      const AdjacencyLists& lists = epoch_is_staged ? kit_.lists : journal_.snapshot();
      auto report = ApplyNoise(view.parameters, node, *std::move(noise), lists.Of(node));
      if (!report.ok()) {
        journal_.DiscardStaged();
        return Fatal(ExitCode::kInternal, report.status());
      }
      journal_.StageDraw(decision->epoch, view.parameters, node, EncodeReport(view.parameters, *report));
      if (journal_.staged_bytes() >= kBatchBytes) {
        BLINK_RETURN_IF_ERROR(Commit());
        epoch_is_staged = false;
      }
    }
    // Last of all: a bound round has every draw.
    journal_.StageRound(view.round_id, decision->epoch, view.parameters);
    BLINK_RETURN_IF_ERROR(Commit());
  }
  SleepToQuantum(started, PreparationQuantum(kit_.config));
  round.prepared = true;
  Say(spdlog::level::info,
      absl::StrCat("round ", view.round_id, ": epsilon ", absl::StrFormat("%.8g", view.parameters.epsilon()), ", ",
                   kit_.config.hosted(), " report(s) of epoch ", round.epoch, " are ready"));
  return absl::OkStatus();
}

absl::StatusOr<OutgoingReport> Agent::Load(const Tracked& round, NodeIndex node) const {
  BLINK_ASSIGN_OR_RETURN(CodedReport report, journal_.LoadReport(round.epoch, round.view.parameters, node));
  return OutgoingReport{node, round.view.parameters, std::move(report)};
}

bool Agent::AllReceipted(const Tracked& round) const {
  for (NodeIndex node = kit_.config.first_node; node <= kit_.config.last_node; ++node) {
    if (!kit_.config.IsRetired(node) && !journal_.HasReceipt(round.view.round_id, node)) return false;
  }
  return true;
}

bool Agent::AllHeld(const std::vector<bool>& held) const {
  for (NodeIndex node = kit_.config.first_node; node <= kit_.config.last_node; ++node) {
    if (!kit_.config.IsRetired(node) && !held[node - kit_.config.first_node]) return false;
  }
  return true;
}

absl::Status Agent::Deliver(Tracked& round) {
  if (kit_.config.is_gateway()) return DeliverMany(round);
  const NodeIndex node = kit_.config.first_node;
  if (round.view.held_digest.has_value() && journal_.HasReceipt(round.view.round_id, node)) {
    round.delivered = true;
    return absl::OkStatus();
  }
  BLINK_RETURN_IF_ERROR(DeliverOne(round, node));
  if (round.over) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(Commit());
  round.delivered = true;
  return absl::OkStatus();
}

absl::Status Agent::DeliverOne(Tracked& round, NodeIndex node) {
  auto report = Load(round, node);
  if (!report.ok()) return Fatal(ExitCode::kJournal, report.status());
  auto reply = link_.SubmitReport(round.view.round_id, *report);
  if (reply.retry.has_value()) window_ = reply.retry;
  if (!reply.value.ok()) return TakeRefusal(round, reply.value.status());
  return TakeReceipt(round, node, *reply.value);
}

absl::StatusOr<std::vector<bool>> Agent::AskHeld(const Tracked& round) {
  const KitConfig& config = kit_.config;
  std::vector<bool> held(config.hosted());
  std::optional<std::pair<NodeIndex, Digest>> foreign;
  const auto listed = link_.ListDigests(round.view.round_id, config.first_node, config.last_node,
                                        [&](NodeIndex node, const Digest& digest) {
                                          held[node - config.first_node] = true;
                                          if (!foreign.has_value() && digest != DrawFor(round, node))
                                            foreign.emplace(node, digest);
                                        });
  if (listed.retry.has_value()) window_ = listed.retry;
  BLINK_RETURN_IF_ERROR(listed.value.status());  // an answer that breaks off or makes no sense says nothing
  if (foreign.has_value()) BLINK_RETURN_IF_ERROR(CheckHeld(round, foreign->first, foreign->second));
  return held;
}

absl::Status Agent::DeliverMany(Tracked& round) {
  const KitConfig& config = kit_.config;
  const auto held = AskHeld(round);
  if (!held.ok()) return fatal_.has_value() ? held.status() : TakeRefusal(round, held.status());
  std::vector<NodeIndex> streamed;
  absl::Status not_accepted;  // the first answer to a report that asks for it again
  for (NodeIndex node = config.first_node; node <= config.last_node && !round.over; ++node) {
    if (config.IsRetired(node)) continue;
    // A report that is held, but whose receipt was lost on the way or with this process, is sent again for its receipt.
    if ((*held)[node - config.first_node] && journal_.HasReceipt(round.view.round_id, node)) continue;
    if (config.node_count / 8 + 1024 <= kStreamReportBytesMax) {
      streamed.push_back(node);
    } else {
      BLINK_RETURN_IF_ERROR(DeliverOne(round, node));  // too large, perhaps, for one message
    }
  }
  for (size_t begin = 0; begin < streamed.size() && !round.over; begin += kReportsPerStream) {
    const size_t end = std::min(streamed.size(), begin + kReportsPerStream);
    const absl::Status sent = SubmitStream(round, streamed, begin, end, &not_accepted);
    if (fatal_.has_value()) return sent;
    BLINK_RETURN_IF_ERROR(Commit());
    BLINK_RETURN_IF_ERROR(sent);
  }
  BLINK_RETURN_IF_ERROR(Commit());
  if (!not_accepted.ok() && !round.over) {
    return absl::UnavailableError(absl::StrCat("some reports are not acknowledged: ", not_accepted.message()));
  }
  round.delivered = !round.over;
  return absl::OkStatus();
}

absl::Status Agent::SubmitStream(Tracked& round, const std::vector<NodeIndex>& nodes, size_t begin, size_t end,
                                 absl::Status* not_accepted) {
  size_t next = begin, answered = 0;
  absl::Status journal_error;
  auto reply = link_.SubmitReports(
      round.view.round_id,
      [&]() -> absl::StatusOr<std::optional<OutgoingReport>> {
        if (next == end) return std::nullopt;
        auto report = Load(round, nodes[next++]);
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
  if (!journal_error.ok()) return Fatal(ExitCode::kJournal, journal_error);
  if (round.over) return absl::OkStatus();
  if (!reply.value.ok()) return TakeRefusal(round, reply.value.status());
  if (answered != end - begin) return absl::UnavailableError("the aggregator did not answer for every report");
  return absl::OkStatus();
}

absl::Status Agent::TakeReceipt(const Tracked& round, NodeIndex node, const Receipt& receipt) {
  if (receipt.round_id != round.view.round_id || receipt.node != node || DrawFor(round, node) != receipt.digest) {
    return absl::InternalError(absl::StrCat("the aggregator's receipt for node ", node, " is for another report"));
  }
  if (!journal_.HasReceipt(receipt.round_id, node)) {
    journal_.StageReceipt(receipt.round_id, node, receipt.digest, receipt.received_minute);
  }
  return absl::OkStatus();
}

absl::Status Agent::TakeRefusal(Tracked& round, const absl::Status& status) {
  // Not open: the next poll tells what became of the round.
  if (IsRetryable(status) || status.code() == absl::StatusCode::kFailedPrecondition || options_.stopped())
    return status;
  Fail(round, ExitCode::kRefusedByPeer, absl::StrCat("the aggregator refuses a report: ", status.message()));
  return absl::OkStatus();
}

void Agent::Say(spdlog::level::level_enum level, const std::string& line) {
  const int64_t hour = absl::ToUnixSeconds(clock_.Now()) / 3600;
  if (hour != log_hour_) log_lines_ = 0;
  log_hour_ = hour;
  if (++log_lines_ > kLogLinesPerHourMax) return;
  spdlog::log(level, line);
  if (log_lines_ == kLogLinesPerHourMax)
    spdlog::warn("more than {} lines in this hour: leaving out its others", log_lines_);
}

void Agent::Refuse(const std::string& round_id, const absl::Status& why) {
  Say(spdlog::level::warn, absl::StrCat("round ", round_id, " is refused by this node: ", why.message()));
  refused_[round_id] = true;
  refusal_ = AgentOutcome{ExitCode::kRefusedByPolicy, absl::StrCat("round ", round_id, " is refused: ", why.message())};
}

void Agent::Fail(Tracked& round, ExitCode code, const std::string& why) {
  if (round.over) return;
  Say(spdlog::level::err, absl::StrCat("round ", round.view.round_id, ": ", why));
  Over(round);
  if (!failure_.has_value()) failure_ = AgentOutcome{code, absl::StrCat("round ", round.view.round_id, ": ", why)};
}

void Agent::Over(Tracked& round) {
  round.over = true;
  // Once: a round that runs backwards and ends again and again must not fill the disk.
  if (!journal_.RoundBinding(round.view.round_id).has_value() || journal_.RoundIsOver(round.view.round_id)) return;
  journal_.StageRoundOver(round.view.round_id);
  // Should this fail, the next process looks once more at a round that is over.
  if (const absl::Status committed = journal_.Commit(); !committed.ok()) {
    spdlog::warn("{}", std::string(committed.message()));
  }
}

void Agent::Finish(Tracked& round, const char* how) {
  Say(spdlog::level::info, absl::StrCat("round ", round.view.round_id, ": ", how));
  Over(round);
  ++finished_;
}

absl::Status Agent::Fatal(ExitCode code, const absl::Status& why) {
  fatal_ = AgentOutcome{code, std::string(why.message())};
  return absl::AbortedError(why.message());
}

std::optional<AgentOutcome> Agent::OutcomeIfDone() const {
  if (options_.daemon) return std::nullopt;
  for (const auto& [id, round] : rounds_) {
    if (!round.over) return std::nullopt;
  }
  if (failure_.has_value()) return failure_;
  if (finished_ > 0) return AgentOutcome{};
  return refusal_;  // or nothing yet: wait for a round
}

}  // namespace blink
