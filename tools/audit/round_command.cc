#include "tools/audit/round_command.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator_server/reports/report_file.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/program_json.h"
#include "common/graph/dataset.h"
#include "common/wire/round.h"
#include "node_client/kit.h"
#include "tools/audit/canaries.h"
#include "tools/audit/command_parts.h"
#include "tools/audit/report.h"
#include "tools/audit/round_audit.h"
#include "tools/command_line.h"

namespace blink {
namespace {

constexpr char kOtherReports[] = "these reports do not keep the promise of their round; keep the output and the folder";

constexpr char kSimulated[] = "simulation";  // the deployment of reports that a simulation kept

struct RoundFlags {
  std::string reports;
  std::vector<std::string> lists, nodes;
  std::string canaries;
  AuditOutputFlags out;
};

struct AuditedRound {
  std::string round_id;
  RoundAudit audit;
};

// Canaries have other lists than the data set.
absl::Status AddDataset(const std::string& folder, const std::vector<NodeRange>& nodes,
                        const std::optional<Canaries>& canaries, KnownLists& known) {
  BLINK_ASSIGN_OR_RETURN(const Dataset dataset, SuggestingPath(ReadDataset(folder), {folder}));
  const uint32_t n = dataset.graph.node_count();
  if (n != known.node_count()) {
    return absl::InvalidArgumentError(absl::StrCat(folder, " has ", n, " nodes, and the round has ", known.node_count(),
                                                   ": give the data set that the lists were made from"));
  }
  for (NodeIndex node = 0; node < n; ++node) {
    if ((!nodes.empty() && !InRanges(nodes, node)) || (canaries && canaries->Has(node))) continue;
    BLINK_RETURN_IF_ERROR(InFile(folder, known.Add(node, dataset.graph.NeighboursOf(node))));
  }
  return absl::OkStatus();
}

absl::Status AddKit(const std::string& folder, const std::vector<NodeRange>& nodes, const v1::Round& round,
                    KnownLists& known) {
  BLINK_ASSIGN_OR_RETURN(const KitConfig config, LoadKitConfig(folder));
  const bool is_real = !round.deployment().empty() && round.deployment() != kSimulated;
  if (is_real && config.deployment != round.deployment()) {
    return absl::InvalidArgumentError(absl::StrCat(folder, "/kit.json is of deployment \"", config.deployment,
                                                   "\", and the round of \"", round.deployment(),
                                                   "\": give kits of the round's deployment"));
  }
  if (config.node_count != known.node_count()) {
    return absl::InvalidArgumentError(absl::StrCat(folder, "/kit.json has ", config.node_count,
                                                   " nodes, and the round has ", known.node_count(),
                                                   ": give kits of this round's roster"));
  }
  BLINK_ASSIGN_OR_RETURN(const AdjacencyLists lists, LoadLists(config));
  for (NodeIndex node = config.first_node; node <= config.last_node; ++node) {
    if (!nodes.empty() && !InRanges(nodes, node)) continue;
    BLINK_RETURN_IF_ERROR(InFile(folder, known.Add(node, lists.Of(node))));
  }
  return absl::OkStatus();
}

absl::Status AddLists(const std::string& folder, const std::vector<NodeRange>& nodes, const v1::Round& round,
                      const std::optional<Canaries>& canaries, KnownLists& known) {
  std::error_code error;
  const bool is_kit = std::filesystem::exists(folder + "/kit.json", error);
  return is_kit ? AddKit(folder, nodes, round, known) : AddDataset(folder, nodes, canaries, known);
}

absl::StatusOr<std::vector<NodeRange>> NodesOf(const RoundFlags& flags, uint32_t n) {
  std::vector<NodeRange> nodes;
  for (const std::string& text : flags.nodes) {
    BLINK_ASSIGN_OR_RETURN(const NodeRange range, ParseNodeRange(text, n));
    nodes.push_back(range);
  }
  return MergeRanges(std::move(nodes));
}

absl::StatusOr<AuditedRound> ReadAndAudit(const RoundFlags& flags) {
  BLINK_ASSIGN_OR_RETURN(const v1::Round round, SuggestingPath(ReadRound(flags.reports), {flags.reports}));
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(round.parameters()));
  const uint32_t n = parameters.node_count();
  BLINK_RETURN_IF_ERROR(CheckAuditMemory(RoundAuditBytes(parameters, 0), flags.out, "use a machine with more"));
  std::optional<Canaries> canaries;
  if (!flags.canaries.empty()) {
    BLINK_ASSIGN_OR_RETURN(canaries, SuggestingPath(ReadCanaries(flags.canaries), {flags.canaries}));
  }
  BLINK_ASSIGN_OR_RETURN(const std::vector<NodeRange> nodes, NodesOf(flags, n));
  KnownLists known(n);
  for (const std::string& folder : flags.lists) BLINK_RETURN_IF_ERROR(AddLists(folder, nodes, round, canaries, known));
  BLINK_ASSIGN_OR_RETURN(const RoundFolder folder, ReadRoundFolder(flags.reports));
  BLINK_ASSIGN_OR_RETURN(RoundAudit audit,
                         AuditRound(folder.reports, std::move(known), canaries.has_value() ? &*canaries : nullptr));
  return AuditedRound{round.round_id(), std::move(audit)};
}

nlohmann::ordered_json RoundAuditJson(const AuditedRound& round) {
  const RoundAudit& audit = round.audit;
  nlohmann::ordered_json json = {{"audit", "round"},
                                 {"format", 1},
                                 {"program", ProgramJson()},
                                 {"passed", audit.passed()},
                                 {"round_id", round.round_id},
                                 {"epsilon", audit.parameters.epsilon()},
                                 {"degree_share", audit.parameters.degree_share()},
                                 {"mechanism", MechanismName(audit.parameters.mechanism())},
                                 {"nodes", audit.parameters.node_count()},
                                 {"reports", audit.reports},
                                 {"audited_nodes", audit.audited},
                                 {"nodes_without_report", audit.without_report},
                                 {"bits", audit.bits},
                                 {"ones", audit.ones},
                                 {"canary_nodes", audit.canaries},
                                 {"coins", audit.coins},
                                 {"coins_guessed", audit.coins_guessed},
                                 {"confidence", 1 - kFalseAlarmMax}};
  AddBoundsAndChecks(audit.bounds, audit.checks, json);
  nlohmann::ordered_json& power = json["power"] = nlohmann::ordered_json::object();
  const auto or_null = [](std::optional<double> change) {
    return change ? nlohmann::ordered_json(*change) : nlohmann::ordered_json();
  };
  if (audit.parameters.sends_bits()) power["flip_rate_change"] = or_null(audit.power.flip_rate_change);
  if (audit.parameters.sends_degree()) power["degree_noise_scale_change"] = or_null(audit.power.noise_scale_change);
  json["notes"] = audit.notes;
  return json;
}

std::string RoundAuditTable(const AuditedRound& round) {
  const RoundAudit& audit = round.audit;
  const PrivacyParameters& parameters = audit.parameters;
  std::string text = absl::StrFormat(
      "round %s: epsilon %.6g, degree share %.6g, %s, n = %d, %d reports\n"
      "audited: %d nodes with %d entries, %d of them links (%d more nodes have a known list and no report)\n",
      round.round_id, parameters.epsilon(), parameters.degree_share(), MechanismName(parameters.mechanism()),
      parameters.node_count(), audit.reports, audit.audited, audit.bits, audit.ones, audit.without_report);
  if (audit.coins > 0) {
    absl::StrAppendFormat(&text, "canaries: %d nodes, %d of %d coins guessed\n", audit.canaries, audit.coins_guessed,
                          audit.coins);
  }
  absl::StrAppendFormat(&text, "All bounds hold at once with probability %.6f.\n\n", 1 - kFalseAlarmMax);
  absl::StrAppend(&text, BoundsTable(audit.bounds));
  for (const AuditCheck& check : audit.checks) {
    absl::StrAppendFormat(&text, "\n%-48s p = %9.2e of limit %9.2e  %s\n", check.claim, check.smallest_p,
                          check.threshold, VerdictText(check.violated));
    if (check.violated) absl::StrAppend(&text, "    ", check.worst, "\n");
  }
  absl::StrAppend(&text, "\nnoticed with probability 0.99 or more:\n");
  const auto append_power = [&](const char* what, const std::optional<double>& change) {
    absl::StrAppendFormat(&text, "  %-46s %s\n", what,
                          change ? absl::StrFormat("%12.4f %%", 100 * *change) : "none: there is too little to see");
  };
  if (parameters.sends_bits()) append_power("a flip probability that is too small by", audit.power.flip_rate_change);
  if (parameters.sends_degree())
    append_power("a scale of the degree noise that is too small by", audit.power.noise_scale_change);
  absl::StrAppend(&text,
                  "assumed, but for coins: every bit is flipped on its own, and noise does not depend on lists\n");
  for (const std::string& note : audit.notes) absl::StrAppend(&text, "note: ", note, "\n");
  absl::StrAppend(&text, audit.passed() ? "\nPASSED: nothing contradicts the promise.\n"
                                        : "\nVIOLATED: these reports do not keep their promise.\n");
  return text;
}

int RunRound(const RoundFlags& flags) {
  if (flags.lists.empty() && flags.canaries.empty()) {
    return FinishWrongFlags(absl::InvalidArgumentError(
        "nothing is known to compare the reports with: name true lists with --lists, or coins with --canaries"));
  }
  for (const std::string& text : flags.nodes) {
    const absl::StatusOr<NodeRange> range = ParseNodeRange(text, kNodesMax);
    if (!range.ok()) return FinishWrongFlags(range.status());
  }
  if (const absl::Status writable = flags.out.output.Check(); !writable.ok()) return FinishFailure(writable);
  const absl::StatusOr<AuditedRound> round = ReadAndAudit(flags);
  if (absl::IsDataLoss(round.status())) return Finish(absl::InvalidArgumentError(round.status().message()));
  if (!round.ok()) return FinishFailure(round.status());
  return PrintFindings(round->audit.passed(),
                       flags.out.json ? DumpJson(RoundAuditJson(*round)) : RoundAuditTable(*round), flags.out.output,
                       kOtherReports);
}

}  // namespace

void AddRoundAuditCommand(CLI::App& audit, std::function<int()>* run) {
  CLI::App* command = audit.add_subcommand(
      "round",
      "Compare the reports of one sealed round with true lists that you know, or with canaries: bound from below what "
      "they spent");
  auto flags = std::make_shared<RoundFlags>();
  command
      ->add_option("--reports", flags->reports,
                   "Folder of the round, with round.json and reports.blr: the aggregator's rounds/ID, or trial-1 of "
                   "simulate --save-reports")
      ->required()
      ->check(NotEmpty());
  command
      ->add_option("--lists", flags->lists,
                   "True lists: a kit's folder, or a data set; as they were when the epoch of the reports began")
      ->check(NotEmpty());
  command->add_option("--node", flags->nodes, "Node or range whose list in --lists counts, 3 or 10-19 (all)");
  command->add_option("--canaries", flags->canaries, "canaries.json of `blink audit canaries`")->check(NotEmpty());
  flags->out.AddTo(command);
  command->callback([flags, run] { *run = [flags] { return RunRound(*flags); }; });
}

}  // namespace blink
