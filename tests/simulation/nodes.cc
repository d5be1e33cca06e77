#include "tests/simulation/nodes.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "node_client/agent.h"
#include "node_client/journal.h"
#include "tests/testing/node_kits.h"

namespace blink::simulation {
namespace {

Kit MakeSimulatedKit(NodeIndex first, NodeIndex last) {
  Kit kit = MakeKit(first, last, /*extra_links=*/0, kNodes);
  kit.policy.epsilon_micro_lifetime_max = kEpsilonMicroLifetimeMax;
  return kit;
}

absl::Status NobodyAnswers() { return absl::UnavailableError("nobody answers"); }

}  // namespace

LinkResult<std::vector<OfferedRound>> Link::GetRounds(NodeIndex node, const std::string& round_id) {
  if (process_ == nullptr) return {NobodyAnswers(), std::nullopt};
  ReportStore& store = process_->store();
  std::vector<v1::Round> rounds;
  if (round_id.empty()) {
    absl::StatusOr<std::vector<v1::Round>> open = store.ListOpenRounds();
    if (!open.ok()) return {open.status(), std::nullopt};
    rounds = *std::move(open);
  } else {
    absl::StatusOr<v1::Round> round = store.GetRound(round_id);
    if (!round.ok()) return {round.status(), std::nullopt};
    rounds.push_back(*std::move(round));
  }
  std::vector<OfferedRound> offered;
  for (const v1::Round& round : rounds) {
    const absl::StatusOr<std::optional<Digest>> held = store.GetDigest(round.round_id(), node);
    if (!held.ok()) return {held.status(), std::nullopt};
    offered.push_back(
        {round.round_id(), RoundView{round.round_id(), *ParametersFromProto(round.parameters()), round.roster_version(),
                                     round.state(), absl::FromUnixMillis(round.deadline_ms()), *held}});
  }
  return {std::move(offered), std::nullopt};
}

absl::StatusOr<Receipt> Link::Deliver(const std::string& round_id, const OutgoingReport& report) {
  if (process_ == nullptr) return NobodyAnswers();
  BLINK_ASSIGN_OR_RETURN(const v1::Receipt receipt, submit_({round_id, report.node, report.report}));
  BLINK_ASSIGN_OR_RETURN(const Digest digest, DigestFromBytes(receipt.digest()));
  return Receipt{receipt.round_id(), static_cast<NodeIndex>(receipt.node_id()), digest, receipt.received_minute()};
}

LinkResult<Receipt> Link::SubmitReport(const std::string& round_id, const OutgoingReport& report) {
  return {Deliver(round_id, report), std::nullopt};
}

LinkResult<Done> Link::SubmitReports(const std::string& round_id, const NextReport& next, const OnReply& reply) {
  while (true) {
    const absl::StatusOr<std::optional<OutgoingReport>> report = next();
    if (!report.ok()) return {report.status(), std::nullopt};
    if (!report->has_value()) return {Done{}, std::nullopt};
    const absl::Status taken = reply((*report)->node, Deliver(round_id, **report));
    if (!taken.ok()) return {taken, std::nullopt};
  }
}

LinkResult<Done> Link::ListDigests(const std::string& round_id, NodeIndex first, NodeIndex last,
                                   const OnDigest& on_digest) {
  if (process_ == nullptr) return {NobodyAnswers(), std::nullopt};
  const absl::Status listed =
      process_->store().VisitDigests(round_id, first, last, last - first + 1, [&](uint64_t node, const Digest& digest) {
        on_digest(static_cast<NodeIndex>(node), digest);
        return absl::OkStatus();
      });
  if (!listed.ok()) return {listed, std::nullopt};
  return {Done{}, std::nullopt};
}

NodeProcess::NodeProcess(const std::string& folder, NodeIndex first, NodeIndex last, uint64_t seed)
    : folder_(folder), kit_(MakeSimulatedKit(first, last)), random_(seed) {
  EXPECT_TRUE(CreateJournal(folder_, IdentityOf(kit_)).ok());
}

std::string NodeProcess::Live(Process* process, const Link::Submit& submit, Clock& clock, int steps,
                              bool dies_at_receipt) {
  const std::string file = folder_ + "/journal.blj", at_death = folder_ + "/at-death";
  bool is_dead = false;
  Link link(process, [&](const Submission& report) -> absl::StatusOr<v1::Receipt> {
    if (is_dead) return NobodyAnswers();
    absl::StatusOr<v1::Receipt> receipt = submit(report);
    if (!dies_at_receipt || !receipt.ok()) return receipt;
    std::filesystem::copy_file(file, at_death, std::filesystem::copy_options::overwrite_existing);
    is_dead = true;
    return NobodyAnswers();
  });
  std::string wrong;
  {
    const absl::StatusOr<std::unique_ptr<Journal>> journal = Journal::Open(folder_, IdentityOf(kit_));
    if (!journal.ok()) return absl::StrCat("a journal cannot be opened: ", journal.status().message());
    AgentOptions options;
    options.daemon = true;
    options.retry = {.base = absl::Milliseconds(200), .max = absl::Seconds(5)};
    options.stopped = [&] { return is_dead || --steps < 0; };
    const AgentOutcome outcome = Agent(kit_, **journal, link, clock, random_, options).Run();
    if (outcome.code != ExitCode::kOk) wrong = absl::StrCat("an agent ended: ", outcome.message);
  }
  if (is_dead) std::filesystem::rename(at_death, file);
  return wrong;
}

}  // namespace blink::simulation
