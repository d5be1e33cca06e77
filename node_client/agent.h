// The protocol as the node sees it: one agent per kit, for one node or for a gateway's range.
//
//   GetRounds ---------------> which rounds are open
//   CheckTerms, DecideDraw     against kit, policy and ledger alone; a refusal is logged, and nothing is sent
//   (ListDigests) -----------> a gateway asks what is held for its nodes; a single node was told in the answer above
//   CheckHeldDigest            a digest that this journal did not draw ends the run: see below
//   (GetGroups) -------------> the groups that a round of Mechanism::kGroupDegrees asks about. It is refused unless
//                              they are those of its parameters, and a partition of all nodes of the roster
//   DrawSendDelay              the moment of sending is drawn before any list is read
//   DrawReports                draws for the nodes without a draw; report and debit are durable
//   FillQuantum                its steps that draw noise or read lists take a time that depends on neither (pacing.h)
//   SubmitReport(s) ---------> the same bytes at every retry, reconnect and restart
//   <--------------- receipt   into the journal
//   GetRounds ... -----------> until the round is sealed; a report that the aggregator lost (a backup) is sent again
//
// The answers of the aggregator are a second anchor. Suppose that it holds a report that this journal never drew. Then
// an older copy of the journal was restored, or somebody else reports with this certificate. The node stops before it
// draws, with the journal's exit code. Digests alone decide that, never a list. So an aggregator that lies can stop a
// node, and learns nothing by it.
//
// The aggregator sees the same calls, at times of the same distribution, whatever the lists are. Only the bytes of the
// reports differ, and these come from the mechanism.
//
// Threads: Run() uses the calling thread, and others for drawing reports alone, when the options say so. `stopped` may
// turn true at any time, on any thread. The stop is prompt when the clock's sleeps end with it.
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
#include "common/privacy/node_groups.h"
#include "common/privacy/random_source.h"
#include "common/wire/retry_policy.h"
#include "node_client/aggregator_link.h"
#include "node_client/journal.h"
#include "node_client/kit.h"
#include "node_client/limited_log.h"

namespace blink {

struct AgentOptions {
  bool daemon = false;            // go on over rounds until stopped
  bool leave_at_receipt = false;  // otherwise stay until the round is sealed
  std::string round_id;           // only this round; empty: all open rounds
  int threads = 1;  // that draw reports; with several of them the random source is called on all of them at once
  absl::Duration give_up_after = absl::InfiniteDuration();      // without progress; no wait goes beyond it
  RetryPolicy retry;                                            // bounds every window that the aggregator names
  RetryWindow poll{absl::Milliseconds(500), absl::Seconds(2)};  // between polls when the aggregator names none
  // When the process began. The first call comes a whole number of StartQuantum (pacing.h) after it, so that its time
  // does not tell how long loading the lists took.
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

  // Runs until every round that it saw is sealed (or acknowledged, by option), refused or failed. A daemon runs until
  // it is stopped. Both end early when no retry can help: the journal cannot be written, the random source fails, or
  // the aggregator refuses the certificate.
  AgentOutcome Run();

 private:
  // How far this process has come with a round:
  //
  //   kResumed --> kSeen --> kPrepared <--> kDelivered
  //
  // and from each of them to kOver, where a round stays.
  enum class Progress {
    kResumed,    // an earlier process answered it, and the aggregator has not yet told this one of it
    kSeen,       // the aggregator has told of it
    kPrepared,   // every hosted node's report is durable; it is sent from send_at on
    kDelivered,  // the aggregator held every report when last asked; a lost report leads back to kPrepared
    kOver        // finished, refused or failed: nothing more to do
  };
  struct TrackedRound {
    explicit TrackedRound(RoundView seen) : view(std::move(seen)) {}
    bool IsPrepared() const { return progress == Progress::kPrepared || progress == Progress::kDelivered; }

    RoundView view;
    Progress progress = Progress::kSeen;
    bool offered = false;  // the latest answer told of it
    uint32_t epoch = 0;    // of the draws, once prepared
    absl::Time send_at;    // once prepared
  };

  absl::Status TakeStep();  // one poll, and all that can be done after it
  absl::Status PollRounds();
  void NoteRound(const RoundView& view);
  void ResumeRounds();  // those that an earlier process answered and did not see to their end
  absl::Status AdvanceRound(TrackedRound& round);
  absl::Status PrepareReports(TrackedRound& round);
  // Of a round that asks about groups; of another one, nothing. After a refusal the round is kOver.
  absl::StatusOr<std::optional<NodeGroups>> FetchGroups(TrackedRound& round);
  absl::Status ConcludeRound(TrackedRound& round);  // one that is no longer open

  absl::Status DeliverReports(TrackedRound& round);
  absl::Status DeliverReport(TrackedRound& round, NodeIndex node);
  absl::Status DeliverGatewayReports(TrackedRound& round);
  absl::Status SubmitStream(TrackedRound& round, const std::vector<NodeIndex>& nodes, size_t begin, size_t end,
                            absl::Status* not_accepted);
  absl::StatusOr<OutgoingReport> LoadReport(const TrackedRound& round, NodeIndex node) const;
  absl::Status TakeReceipt(const TrackedRound& round, NodeIndex node, const Receipt& receipt);
  // Handles a peer's refusal of a report. Returns the error when it is worth another try. Otherwise the round has
  // failed, and the result is OK.
  absl::Status TakeRefusal(TrackedRound& round, const absl::Status& status);

  // The digest of the draw that answers the round, or nothing when the journal has none.
  std::optional<Digest> FindDrawFor(const TrackedRound& round, NodeIndex node) const;
  // Ends the run when the aggregator holds a report of the node that this journal did not draw.
  absl::Status CheckHeldDigest(const TrackedRound& round, NodeIndex node, const std::optional<Digest>& held);
  // Asks with ListDigests which of the kit's reports the aggregator holds, and checks each with CheckHeldDigest.
  // Returns a flag for each hosted node. [hosted]
  absl::StatusOr<std::vector<bool>> FetchHeldReports(const TrackedRound& round);
  // Both leave out the nodes that are retired.
  bool HasAllReceipts(const TrackedRound& round) const;
  bool AreAllHeld(const std::vector<bool>& held) const;

  void RefuseRound(const std::string& round_id, const absl::Status& why);
  void FailRound(TrackedRound& round, ExitCode code, const std::string& why);
  void FinishRound(TrackedRound& round, const char* how);
  void CloseRound(TrackedRound& round);  // makes it kOver, also in the journal

  absl::Status CommitJournal();                                 // ends the run when it fails
  absl::Status EndRun(ExitCode code, const absl::Status& why);  // remembers the outcome, returns ABORTED
  std::optional<AgentOutcome> FindOutcome() const;              // nothing while there is more to do
  absl::StatusOr<absl::Duration> DrawWaitAfter(const absl::Status& status);
  void LogFailure(const absl::Status& status, absl::Duration wait, bool is_last);

  const Kit& kit_;
  Journal& journal_;
  AggregatorLink& link_;
  Clock& clock_;
  RandomSource& random_;
  const AgentOptions options_;

  LimitedLog log_;
  std::map<std::string, TrackedRound> rounds_;
  std::map<std::string, bool> refused_;  // logged once each; true when the latest answer told of it
  std::optional<RetryWindow> window_;    // of the latest answer
  uint64_t failures_ = 0;                // attempts in a row that failed
  int unanswered_ = 0;                   // of these, the latest ones that got no window
  uint64_t finished_ = 0;
  std::optional<AgentOutcome> failure_, refusal_, fatal_;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_AGENT_H_
