#include "tools/audit/command.h"

#include <atomic>
#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "common/base/logging.h"
#include "common/base/machine_memory.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/interrupt.h"
#include "common/cli/output_file.h"
#include "common/privacy/parameters.h"
#include "common/wire/degree_share.h"
#include "tools/audit/mechanism.h"
#include "tools/audit/randomness.h"
#include "tools/audit/report.h"
#include "tools/command_line.h"

namespace blink {
namespace {

constexpr uint64_t kReportsMin = 1'000'000;

struct MechanismFlags {
  std::string epsilon = "1";
  std::optional<std::string> degree_share;
  uint32_t nodes = 1024;
  uint64_t reports = kReportsMin;
  int threads = 0;
  bool quiet = false;
  bool json = false;
  bool ignore_memory = false;
  OutputFile output;
};

struct RandomnessFlags {
  RandomnessAuditOptions options;
  bool quiet = false;
  bool json = false;
  bool ignore_memory = false;
  OutputFile output;
};

// Prints the findings. The exit code is kAuditViolation unless they are good, also where the file cannot be written.
int PrintFindings(bool passed, const std::string& findings, const OutputFile& output) {
  const int printed = Finish(output.Print(findings));
  if (passed) return printed;
  std::fprintf(stderr, "blink: the audit found a violation: do not use this build; keep the output\n");
  return static_cast<int>(ExitCode::kAuditViolation);
}

// UNAVAILABLE is a failure of the system's generator here: an audit calls no peer that could be unreachable.
int FinishFailure(const absl::Status& status) {
  const int code = Finish(status);
  return static_cast<int>(absl::IsUnavailable(status) ? ExitCode::kInternal : ExitCode(code));
}

absl::StatusOr<MechanismAuditOptions> ParseOptions(const MechanismFlags& flags) {
  BLINK_ASSIGN_OR_RETURN(const uint64_t epsilon_micro, ParseEpsilon("--epsilon", flags.epsilon));
  uint32_t share_ppm = DefaultDegreeSharePpm(epsilon_micro, Prior::kBeta);  // a round's
  if (flags.degree_share.has_value()) {
    BLINK_ASSIGN_OR_RETURN(share_ppm, ParseDegreeShare("--degree-share", *flags.degree_share));
  }
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                         PrivacyParameters::Create(epsilon_micro, share_ppm, flags.nodes));
  MechanismAuditOptions options{.parameters = parameters, .reports = flags.reports, .threads = flags.threads};
  options.threads = ThreadsOrCores(options.threads);
  options.progress = !flags.quiet;
  return options;
}

// Says how much memory is needed, and refuses what cannot be had now.
absl::Status CheckMemory(double bytes, bool ignore, bool quiet) {
  const MachineMemory memory = FindMachineMemory();
  const auto free = static_cast<double>(memory.available);
  const std::string needs = absl::StrCat("this needs about ", FormatBytes(bytes), " of memory, and ",
                                         memory.available_of, " has ", FormatBytes(free), " free");
  if (bytes > free && !ignore) {
    return absl::ResourceExhaustedError(
        absl::StrCat(needs, ": ask for fewer nodes, threads, processes or draws, or insist with --ignore-memory"));
  }
  if (!quiet) spdlog::info("{}", needs);
  return absl::OkStatus();
}

void AddIgnoreMemory(CLI::App* command, bool& ignore) {
  command->add_flag("--ignore-memory", ignore, "Start even where it needs more memory than the machine has free");
}

std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int PrintAudit(const MechanismAudit& audit, const MechanismFlags& flags) {
  const std::string findings = flags.json ? Dump(MechanismAuditJson(audit)) : MechanismAuditTable(audit);
  return PrintFindings(audit.passed(), findings, flags.output);
}

int RunMechanism(const MechanismFlags& flags) {
  absl::StatusOr<MechanismAuditOptions> options = ParseOptions(flags);
  if (!options.ok()) return FinishWrongFlags(options.status());  // nothing but flags is read
  if (const absl::Status fits = CheckMemory(MechanismAuditBytes(*options), flags.ignore_memory, flags.quiet);
      !fits.ok())
    return FinishFailure(fits);
  if (const absl::Status writable = flags.output.Check(); !writable.ok()) return FinishFailure(writable);
  std::atomic<bool> stop = false;
  options->stop = &stop;
  std::promise<int> ended;
  Interrupt interrupt("blink", [&](ExitCode code) {
    stop = true;
    const int found = ended.get_future().get();  // what is there is judged and printed first
    return found == static_cast<int>(ExitCode::kOk) ? code : ExitCode(found);
  });
  const absl::StatusOr<MechanismAudit> audit = AuditMechanism(*options, ShippedMechanism(options->parameters));
  const int code = audit.ok() ? PrintAudit(*audit, flags) : FinishFailure(audit.status());
  ended.set_value(code);
  return code;
}

int RunRandomness(const RandomnessFlags& flags) {
  RandomnessAuditOptions options = flags.options;
  options.progress = !flags.quiet;
  if (const absl::Status fits = CheckMemory(RandomnessAuditBytes(options), flags.ignore_memory, flags.quiet);
      !fits.ok())
    return FinishFailure(fits);
  if (const absl::Status writable = flags.output.Check(); !writable.ok()) return FinishFailure(writable);
  InterruptDescriptor interrupt;  // this process must have no other thread
  options.stop = interrupt.get();
  const absl::StatusOr<RandomnessAudit> audit = AuditRandomness(options);
  const std::optional<int> signal = interrupt.Disarm();
  if (!audit.ok()) return FinishFailure(audit.status());
  const int code = PrintFindings(
      audit->passed(), flags.json ? Dump(RandomnessAuditJson(*audit)) : RandomnessAuditTable(*audit), flags.output);
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
  command->add_option("--epsilon", flags->epsilon, "Budget of a report, for one entry of one list, (0, 50] (1)");
  command->add_option("--degree-share", flags->degree_share,
                      "Share of the budget that pays for the degree, 0 .. 1 (that of a round with the beta prior)");
  command
      ->add_option("--nodes", flags->nodes,
                   "Bits of a report, 1024 .. 1,000,000 (1024); every pair is looked at among the first 4096")
      ->check(CLI::Range(1024, 1'000'000));
  command->add_option("--reports", flags->reports, "Reports of each of the three lists, 1,000,000 or more (1,000,000)")
      ->check(CLI::Range(kReportsMin, uint64_t{1'000'000'000}));
  command->add_option("--threads", flags->threads, "Threads (0: all cores)")->check(CLI::Range(0, 1024));
  command->add_flag("--json", flags->json, "Print one JSON object");
  flags->output.AddTo(command);
  command->add_flag("--quiet", flags->quiet, "Show no progress");
  AddIgnoreMemory(command, flags->ignore_memory);
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
  command->add_flag("--json", flags->json, "Print one JSON object");
  flags->output.AddTo(command);
  command->add_flag("--quiet", flags->quiet, "Show no progress");
  AddIgnoreMemory(command, flags->ignore_memory);
  command->callback([flags, run] { *run = [flags] { return RunRandomness(*flags); }; });
}

}  // namespace

void AddAuditCommand(CLI::App& app, std::function<int()>* run) {
  CLI::App* audit = app.add_subcommand(
      "audit", "Try to prove that the shipped privatiser breaks its promise (exit code 10: it does)");
  audit->require_subcommand(1);
  AddMechanism(*audit, run);
  AddRandomness(*audit, run);
}

}  // namespace blink
