#include "tools/audit/replay_command.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/exit_code.h"
#include "common/cli/program_json.h"
#include "tools/audit/command_parts.h"
#include "tools/audit/replay.h"

namespace blink {
namespace {

struct ReplayFlags {
  uint64_t repeats = 1;
  AuditOutputFlags out;
};

nlohmann::ordered_json ReplayJson(const ReplayAudit& audit) {
  nlohmann::ordered_json json = {
      {"audit", "replay"},
      {"format", 1},
      {"program", ProgramJson()},
      {"partial", audit.partial()},
      {"passed", audit.cases == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(audit.passed())},
      {"replays", audit.cases},
      {"replays_asked", audit.cases_asked},
      {"reports", audit.reports},
      {"coded_sizes_that_differ", audit.sizes_differ},
      {"seconds", audit.seconds}};
  json["claims"] = nlohmann::ordered_json::array();
  for (int claim = 0; claim < kReplayClaims; ++claim) {
    const ClaimCount& count = audit.claims[claim];
    json["claims"].push_back({{"claim", NameOf(ReplayClaim(claim))},
                              {"compared", count.compared},
                              {"broken", count.broken},
                              {"example", count.example}});
  }
  return json;
}

std::string ReplayTable(const ReplayAudit& audit) {
  std::string text;
  if (audit.partial()) {
    text = absl::StrFormat("PARTIAL: interrupted after %d of %d replays%s\n", audit.cases, audit.cases_asked,
                           audit.cases == 0 ? ": nothing is known" : "");
  }
  absl::StrAppendFormat(&text,
                        "%d replays: a node with list L, and with L' that has one entry more, from one random tape "
                        "(%d reports of each, %.1f s)\n\n%-50s %10s %10s\n",
                        audit.cases, audit.reports, audit.seconds, "claim", "compared", "broken");
  for (int claim = 0; claim < kReplayClaims; ++claim) {
    const ClaimCount& count = audit.claims[claim];
    absl::StrAppendFormat(&text, "%-50s %10d %10d  %s\n", NameOf(ReplayClaim(claim)), count.compared, count.broken,
                          count.broken > 0 ? "VIOLATED" : "ok");
    if (count.broken > 0) absl::StrAppend(&text, "    ", count.example, "\n");
  }
  absl::StrAppendFormat(
      &text,
      "\nThe coded size differed in %d of them. It may: it is computed from the noisy bits, which are "
      "sent anyway.\n",
      audit.sizes_differ);
  if (audit.cases == 0) return text;
  text += audit.passed() ? "PASSED: the reports differ in the allowed entry alone.\n"
                         : "VIOLATED: something else depends on the entry.\n";
  return text;
}

int RunReplay(const ReplayFlags& flags) {
  const absl::Status fits = CheckAuditMemory(4e7, flags.out, "use a machine with more");
  if (!fits.ok()) return FinishFailure(fits);
  if (const absl::Status writable = flags.out.output.Check(); !writable.ok()) return FinishFailure(writable);
  return RunUntilSignal([&](const std::atomic<bool>* stop) {
    const absl::StatusOr<ReplayAudit> audit =
        AuditReplay({.repeats = flags.repeats, .progress = !flags.out.quiet, .stop = stop}, RunShippedNode);
    if (!audit.ok()) return FinishFailure(audit.status());
    return PrintFindings(audit->passed(), flags.out.json ? DumpJson(ReplayJson(*audit)) : ReplayTable(*audit),
                         flags.out.output);
  });
}

}  // namespace

void AddReplayCommand(CLI::App& audit, std::function<int()>* run) {
  CLI::App* command = audit.add_subcommand(
      "replay",
      "Run the node's code twice from one random tape, on lists that differ in one entry, and compare all that can be "
      "seen: report, journal, calls, times, log");
  auto flags = std::make_shared<ReplayFlags>();
  command
      ->add_option("--repeats", flags->repeats,
                   "Times that each of the 864 combinations of n, nodes, budget and mechanism is tried, 1 .. 10,000 "
                   "(1)")
      ->check(CLI::Range(1, 10'000));
  flags->out.AddTo(command);
  command->footer(
      absl::StrCat("It works in a folder blink-replay-... below TMPDIR (/tmp where that is not set), and removes it.\n"
                   "Only SIGKILL or a power cut leaves it there: remove it then.\n\n",
                   ExitCodeTable()));
  command->callback([flags, run] { *run = [flags] { return RunReplay(*flags); }; });
}

}  // namespace blink
