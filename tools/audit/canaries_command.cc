#include "tools/audit/canaries_command.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/program_json.h"
#include "common/privacy/random_source.h"
#include "tools/audit/canaries.h"
#include "tools/audit/command_parts.h"
#include "tools/command_line.h"

namespace blink {
namespace {

struct CanaryFlags {
  uint32_t nodes = 0, entries = 0;
  std::vector<std::string> canaries;
  std::string output;
  bool json = false;
};

struct CanaryPlan {
  Canaries canaries;
  std::vector<NodeRange> kits;
};

absl::StatusOr<CanaryPlan> PlanOf(const CanaryFlags& flags) {
  CanaryPlan plan;
  for (const std::string& text : flags.canaries) {
    BLINK_ASSIGN_OR_RETURN(const NodeRange range, ParseNodeRange(text, flags.nodes));
    plan.kits.push_back(range);
  }
  BLINK_ASSIGN_OR_RETURN(plan.canaries, MakeCanaries(flags.nodes, plan.kits, flags.entries, SecureRandom()));
  return plan;
}

int RunCanaries(const CanaryFlags& flags) {
  const absl::StatusOr<CanaryPlan> plan = PlanOf(flags);
  if (!plan.ok()) {
    return absl::IsInvalidArgument(plan.status()) ? FinishWrongFlags(plan.status()) : FinishFailure(plan.status());
  }
  const absl::Status written = WriteCanaries(plan->canaries, plan->kits, flags.output);
  if (!written.ok()) return Finish(written);
  const std::string digest = DigestToHex(Sha256Of(CanariesToJson(plan->canaries)));
  const uint64_t lists = CountNodes(plan->canaries.nodes);
  if (flags.json) {
    std::fputs(DumpJson({{"format", 1},
                         {"program", ProgramJson()},
                         {"output", flags.output},
                         {"nodes", flags.nodes},
                         {"lists", lists},
                         {"coins", plan->canaries.coins()},
                         {"sha256", digest}})
                   .c_str(),
               stdout);
  } else {
    std::fputs(absl::StrFormat("%s: %d lists with %d coins of n = %d nodes\n"
                               "  lists    copy nodes-../lists.csv into the kits of the canary nodes\n"
                               "  secret   keep canaries.json to yourself until the round is sealed\n"
                               "  sha256   %s  canaries.json; publish it before the round if others shall trust it\n"
                               "  then     blink audit round --reports ROUND --canaries %s/canaries.json\n",
                               flags.output, lists, plan->canaries.coins(), flags.nodes, digest, flags.output)
                   .c_str(),
               stdout);
  }
  return Finish(absl::OkStatus());
}

}  // namespace

void AddCanariesCommand(CLI::App& audit, std::function<int()>* run) {
  CLI::App* command = audit.add_subcommand(
      "canaries", "Write lists of fair coins for test devices, before a round that `audit round` looks at afterwards");
  auto flags = std::make_shared<CanaryFlags>();
  command->add_option("--nodes", flags->nodes, "n of the deployment, 3 .. 10,000,000")
      ->required()
      ->check(CLI::Range(kNodesMin, kNodesMax));
  command
      ->add_option("--canary", flags->canaries, "Node, or range of nodes of one kit, that gets such a list: 3 or 10-19")
      ->required();
  command
      ->add_option("--entries", flags->entries,
                   "Coins of each list: the entries of so many nodes after its own; the others are 0 (all n - 1)")
      ->check(CLI::Range(uint32_t{1}, kNodesMax - 1));
  command->add_option("--output", flags->output, "Folder to make, for canaries.json and the lists")
      ->required()
      ->check(NotEmpty());
  command->add_flag("--json", flags->json, "Print one JSON object");
  command->callback([flags, run] { *run = [flags] { return RunCanaries(*flags); }; });
}

}  // namespace blink
