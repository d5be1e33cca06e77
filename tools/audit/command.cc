#include "tools/audit/command.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "common/base/exit_code.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/cli/interrupt.h"
#include "common/privacy/parameters.h"
#include "tools/audit/canaries_command.h"
#include "tools/audit/command_parts.h"
#include "tools/audit/game_command.h"
#include "tools/audit/mechanism.h"
#include "tools/audit/randomness.h"
#include "tools/audit/replay_command.h"
#include "tools/audit/report.h"
#include "tools/audit/round_command.h"
#include "tools/command_line.h"

namespace blink {
namespace {

constexpr uint64_t kReportsMin = 1'000'000;
constexpr char kLessMemory[] = "ask for fewer nodes, threads, processes or draws";

struct MechanismFlags {
  AuditBudgetFlags budget;
  uint32_t nodes = 1024;
  uint64_t reports = kReportsMin;
  int threads = 0;
  AuditOutputFlags out;
};

struct RandomnessFlags {
  RandomnessAuditOptions options;
  AuditOutputFlags out;
};

absl::StatusOr<MechanismAuditOptions> ParseOptions(const MechanismFlags& flags) {
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, flags.budget.ParseFor(flags.nodes));
  return MechanismAuditOptions{.parameters = parameters,
                               .reports = flags.reports,
                               .threads = ThreadsOrCores(flags.threads),
                               .progress = !flags.out.quiet};
}

int PrintAudit(const MechanismAudit& audit, const MechanismFlags& flags) {
  const std::string findings = flags.out.json ? DumpJson(MechanismAuditJson(audit)) : MechanismAuditTable(audit);
  return PrintFindings(audit.passed(), findings, flags.out.output);
}

int RunMechanism(const MechanismFlags& flags) {
  absl::StatusOr<MechanismAuditOptions> options = ParseOptions(flags);
  if (!options.ok()) return FinishWrongFlags(options.status());  // nothing but flags is read
  const absl::Status fits = CheckAuditMemory(MechanismAuditBytes(*options), flags.out, kLessMemory);
  if (!fits.ok()) return FinishFailure(fits);
  if (const absl::Status writable = flags.out.output.Check(); !writable.ok()) return FinishFailure(writable);
  return RunUntilSignal([&](const std::atomic<bool>* stop) {
    options->stop = stop;
    const absl::StatusOr<MechanismAudit> audit = AuditMechanism(*options, ShippedMechanism(options->parameters));
    return audit.ok() ? PrintAudit(*audit, flags) : FinishFailure(audit.status());
  });
}

int RunRandomness(const RandomnessFlags& flags) {
  RandomnessAuditOptions options = flags.options;
  options.progress = !flags.out.quiet;
  const absl::Status fits = CheckAuditMemory(RandomnessAuditBytes(options), flags.out, kLessMemory);
  if (!fits.ok()) return FinishFailure(fits);
  if (const absl::Status writable = flags.out.output.Check(); !writable.ok()) return FinishFailure(writable);
  InterruptDescriptor interrupt;  // this process must have no other thread
  options.stop = interrupt.get();
  const absl::StatusOr<RandomnessAudit> audit = AuditRandomness(options);
  const std::optional<int> signal = interrupt.Disarm();
  if (!audit.ok()) return FinishFailure(audit.status());
  const std::string findings = flags.out.json ? DumpJson(RandomnessAuditJson(*audit)) : RandomnessAuditTable(*audit);
  const int code = PrintFindings(audit->passed(), findings, flags.out.output);
  if (signal.has_value() && code == static_cast<int>(ExitCode::kOk)) {
    EndAfterSignal("blink", *signal, CodeOfSignal(*signal));
  }
  return code;
}

void AddMechanism(CLI::App& parent, std::function<int()>* run) {
  CLI::App* command = parent.add_subcommand(
      "mechanism",
      "Draw millions of reports of neighbouring lists with the privatiser that blink-node ships; bound what they spend "
      "from below, and test every claim of its proof");
  auto flags = std::make_shared<MechanismFlags>();
  flags->budget.AddTo(command);
  command
      ->add_option("--nodes", flags->nodes,
                   "Bits of a report, 1024 .. 1,000,000 (1024); every pair is looked at among the first 4096")
      ->check(CLI::Range(1024, 1'000'000));
  command->add_option("--reports", flags->reports, "Reports of each of the three lists, 1,000,000 or more (1,000,000)")
      ->check(CLI::Range(kReportsMin, uint64_t{1'000'000'000}));
  command->add_option("--threads", flags->threads, "Threads (0: all cores)")->check(CLI::Range(0, 1024));
  flags->out.AddTo(command);
  command->callback([flags, run] { *run = [flags] { return RunMechanism(*flags); }; });
}

void AddRandomness(CLI::App& parent, std::function<int()>* run) {
  CLI::App* command = parent.add_subcommand(
      "randomness", "Fork and clone this process and start threads after it has drawn, and compare all that they draw");
  auto flags = std::make_shared<RandomnessFlags>();
  RandomnessAuditOptions& options = flags->options;
  command
      ->add_option("--processes", options.processes,
                   "Copies of this process, each of which is copied again, 1 .. 400 (64)")
      ->check(CLI::Range(1, 400));
  command->add_option("--threads", options.threads, "Threads in each forked process, 1 .. 64 (4)")
      ->check(CLI::Range(1, 64));
  command->add_option("--draws", options.draws, "Reports whose noise each process and thread draws, 1 .. 10,000 (64)")
      ->check(CLI::Range(1, 10'000));
  flags->out.AddTo(command);
  command->callback([flags, run] { *run = [flags] { return RunRandomness(*flags); }; });
}

}  // namespace

void AddAuditCommand(CLI::App& app, std::function<int()>* run) {
  CLI::App* audit = app.add_subcommand(
      "audit",
      "Try to prove that the privatiser, the code of a node or a round breaks its promise (exit code 10: it does), or "
      "measure what attacks learn about links");
  audit->require_subcommand(1);
  AddMechanism(*audit, run);
  AddRandomness(*audit, run);
  AddGameCommand(*audit, run);
  AddReplayCommand(*audit, run);
  AddCanariesCommand(*audit, run);
  AddRoundAuditCommand(*audit, run);
}

}  // namespace blink
