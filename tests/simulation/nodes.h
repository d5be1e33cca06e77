// Nodes with the production's journal and agent. Each life of a node's process opens its journal, makes a few steps and
// ends, sometimes at the very moment when the aggregator has its report and the node has no receipt yet.
#ifndef BLINK_TESTS_SIMULATION_NODES_H_
#define BLINK_TESTS_SIMULATION_NODES_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/clock.h"
#include "node_client/aggregator_link.h"
#include "node_client/kit.h"
#include "tests/simulation/process.h"
#include "tests/simulation/random.h"
#include "tests/testing/random_doubles.h"

namespace blink::simulation {

// What a node reaches of an aggregator, as the services offer it. `submit` is how a report gets there; `process` may be
// nullptr: nobody answers.
class Link final : public AggregatorLink {
 public:
  using Submit = std::function<absl::StatusOr<v1::Receipt>(const Submission&)>;
  Link(Process* process, Submit submit) : process_(process), submit_(std::move(submit)) {}

  LinkResult<std::vector<OfferedRound>> GetRounds(NodeIndex node, const std::string& round_id) override;
  LinkResult<Receipt> SubmitReport(const std::string& round_id, const OutgoingReport& report) override;
  LinkResult<Done> SubmitReports(const std::string& round_id, const NextReport& next, const OnReply& reply) override;
  LinkResult<Done> ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                               const OnDigest& on_digest) override;

 private:
  absl::StatusOr<Receipt> Deliver(const std::string& round_id, const OutgoingReport& report);

  Process* const process_;
  const Submit submit_;
};

class NodeProcess {
 public:
  // Makes its journal in `folder`. It hosts the nodes first .. last.
  NodeProcess(const std::string& folder, NodeIndex first, NodeIndex last, uint64_t seed);

  // One life of at most `steps` steps. `link` is asked on behalf of it; with `dies_at_receipt`, the journal stays as it
  // was when the first report had been taken. Returns what is wrong, or "".
  std::string Live(Process* process, const Link::Submit& submit, Clock& clock, int steps, bool dies_at_receipt);

 private:
  const std::string folder_;
  Kit kit_;
  SeededRandom random_;
};

}  // namespace blink::simulation

#endif  // BLINK_TESTS_SIMULATION_NODES_H_
