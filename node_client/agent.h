// The protocol as the node sees it: one agent per kit, for one node or for a gateway's range.
//
//   GetRounds ---------------> which rounds are open
//   CheckTerms, DecideDraw     against kit, policy and ledger alone; a refusal is logged, and nothing is sent
//   (ListDigests) -----------> a gateway asks what is held for its nodes; a single node was told in the answer above
//   CheckHeld                  a digest that this journal did not draw ends the run: see below
//   the moment of sending      is drawn, before any list is read
//   DrawNoise, ApplyNoise      the epoch's snapshot; only for nodes that have no draw yet
//   Journal::Commit            report and debit are durable; then it waits until the time that public sizes alone allow
//   SubmitReport(s) ---------> the same bytes at every retry, reconnect and restart
//   <--------------- receipt   into the journal
//   GetRounds ... -----------> until the round is sealed; a report that the aggregator lost (a backup) is sent again
//
// The other anchor: a report that the aggregator holds and this journal never drew means that an older copy of the
// journal was restored, or that somebody else reports with this certificate. The node then stops, before it draws, with
// the journal's exit code. Digests alone decide that, never a list. An aggregator that lies can so stop a node; it
// learns nothing by it.
//
// The aggregator sees the same calls, at times of the same distribution, whatever the lists are; only the reports'
// bytes differ, through the mechanism.
//
// Threads: Run() uses the calling thread alone. `stopped` may turn true at any time, from anywhere; a clock whose
// sleeps it ends makes the stop prompt.
#ifndef BLINK_NODE_CLIENT_AGENT_H_
#define BLINK_NODE_CLIENT_AGENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/exit_code.h"
#include "common/base/logging.h"
#include "common/privacy/random_source.h"
#include "common/wire/retry_policy.h"
#include "node_client/aggregator_link.h"
#include "node_client/journal.h"
#include "node_client/kit.h"

namespace blink {

struct AgentOptions {
  bool daemon = false;                                          // go on over rounds until stopped
  bool leave_at_receipt = false;                                // otherwise stay until the round is sealed
  std::string round_id;                                         // only this round; empty: all open rounds
  absl::Duration give_up_after = absl::InfiniteDuration();      // without progress
  RetryPolicy retry;                                            // bounds every window that the aggregator names
  RetryWindow poll{absl::Milliseconds(500), absl::Seconds(2)};  // between polls when the aggregator names none
  // When the process began: the first call is made a whole number of quanta after it, whatever loading the lists took.
  absl::Time started = absl::InfinitePast();
  std::function<bool()> stopped = [] { return false; };
};

struct AgentOutcome {
  ExitCode code = ExitCode::kOk;
  std::string message;  // why, for a person
};

class Agent {
 public:
  // Everything must outlive the agent.
  Agent(const Kit& kit, Journal& journal, AggregatorLink& link, Clock& clock, RandomSource& random,
        AgentOptions options);

  // Until every round seen is sealed (or, by option, acknowledged), refused or failed. A daemon: until stopped, or
  // until something happens that no retry mends: the journal cannot be written, the random source fails, the aggregator
  // refuses the certificate.
  AgentOutcome Run();

 private:
  struct Tracked {
    explicit Tracked(RoundView seen) : view(std::move(seen)) {}
    RoundView view;
    bool prepared = false;   // every hosted node's report is durable
    uint32_t epoch = 0;      // of the draws, once prepared
    absl::Time send_at;      // once prepared
    bool delivered = false;  // all reports were held when last looked at
    bool over = false;       // finished, refused or failed: nothing more to do
    bool offered = false;    // in the latest answer
    bool resumed = false;    // answered by an earlier process, not yet seen by this one
  };

  absl::Status Step();  // one poll, and all that can be done now
  absl::Status Poll();
  void Observe(const RoundView& view);
  absl::Status Advance(Tracked& round);
  absl::Status Prepare(Tracked& round);
  absl::Status End(Tracked& round);
  absl::Status Deliver(Tracked& round);
  absl::Status DeliverOne(Tracked& round, NodeIndex node);
  absl::Status DeliverMany(Tracked& round);
  // The digest of the draw that answers the round; nothing when the journal has none.
  std::optional<Digest> DrawFor(const Tracked& round, NodeIndex node) const;
  // Ends the run when what the aggregator holds for a node is not what this journal drew.
  absl::Status CheckHeld(const Tracked& round, NodeIndex node, const std::optional<Digest>& held);
  absl::Status Commit();  // or the end of the run
  // Which of the kit's reports the aggregator says it holds, by ListDigests, each checked by CheckHeld. [hosted]
  absl::StatusOr<std::vector<bool>> AskHeld(const Tracked& round);
  absl::Status SubmitStream(Tracked& round, const std::vector<NodeIndex>& nodes, size_t begin, size_t end,
                            absl::Status* not_accepted);
  absl::StatusOr<OutgoingReport> Load(const Tracked& round, NodeIndex node) const;
  absl::Status TakeReceipt(const Tracked& round, NodeIndex node, const Receipt& receipt);
  // A peer's answer to a submission: OK to go on (the round may have failed), or the error to retry after.
  absl::Status TakeRefusal(Tracked& round, const absl::Status& status);
  bool AllReceipted(const Tracked& round) const;
  bool AllHeld(const std::vector<bool>& held) const;  // as AllReceipted: of the nodes that are not retired

  // Until a whole number of quanta has passed since `started`.
  void SleepToQuantum(absl::Time started, absl::Duration quantum);
  // Logs what the aggregator brings about: so many lines an hour, and no more, that it cannot fill a disk with them.
  void Say(spdlog::level::level_enum level, const std::string& line);
  void Refuse(const std::string& round_id, const absl::Status& why);
  void Fail(Tracked& round, ExitCode code, const std::string& why);
  void Over(Tracked& round);
  void ResumeRounds();  // those that an earlier process answered and did not see to their end
  void Finish(Tracked& round, const char* how);
  absl::Status Fatal(ExitCode code, const absl::Status& why);  // remembers the outcome, returns ABORTED
  std::optional<AgentOutcome> OutcomeIfDone() const;
  absl::StatusOr<absl::Duration> WaitAfter(const absl::Status& status);

  const Kit& kit_;
  Journal& journal_;
  AggregatorLink& link_;
  Clock& clock_;
  RandomSource& random_;
  const AgentOptions options_;

  std::map<std::string, Tracked> rounds_;
  std::map<std::string, bool> refused_;  // logged once each; true: offered in the latest answer
  std::optional<RetryWindow> window_;    // of the latest answer
  int attempt_ = 0;
  bool answered_ = false;  // the latest step ended without an error
  uint64_t finished_ = 0;
  int64_t log_hour_ = 0;
  uint32_t log_lines_ = 0;  // in this hour
  std::optional<AgentOutcome> failure_, refusal_, fatal_;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_AGENT_H_
