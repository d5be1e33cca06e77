#include "tools/audit/command_parts.h"

#include <cstdio>
#include <future>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "common/base/logging.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/interrupt.h"
#include "common/wire/degree_share.h"
#include "tools/command_line.h"

namespace blink {

void AuditOutputFlags::AddTo(CLI::App* command) {
  command->add_flag("--json", json, "Print one JSON object");
  output.AddTo(command);
  command->add_flag("--quiet", quiet, "Show no progress");
  command->add_flag("--ignore-memory", ignore_memory,
                    "Start even where it needs more memory than the machine has free");
}

void AuditBudgetFlags::AddTo(CLI::App* command) {
  command->add_option("--epsilon", epsilon, "Budget of a report, for one entry of one list, (0, 50] (1)");
  command->add_option("--degree-share", degree_share,
                      "Share of the budget that pays for the degree, 0 .. 1 (that of a round with the beta prior)");
}

absl::StatusOr<PrivacyParameters> AuditBudgetFlags::ParseFor(uint32_t node_count) const {
  BLINK_ASSIGN_OR_RETURN(const uint64_t epsilon_micro, ParseEpsilon("--epsilon", epsilon));
  uint32_t share_ppm = DefaultDegreeSharePpm(epsilon_micro, Prior::kBeta);
  if (degree_share.has_value()) {
    BLINK_ASSIGN_OR_RETURN(share_ppm, ParseDegreeShare("--degree-share", *degree_share));
  }
  return PrivacyParameters::Create(epsilon_micro, share_ppm, node_count, mechanism);
}

int PrintFindings(bool passed, const std::string& findings, const OutputFile& output, const char* remedy) {
  const int printed = Finish(output.Print(findings));
  if (passed) return printed;
  std::fprintf(stderr, "blink: the audit found a violation: %s\n", remedy);
  return static_cast<int>(ExitCode::kAuditViolation);
}

int FinishFailure(const absl::Status& status) {
  const int code = Finish(status);
  return static_cast<int>(absl::IsUnavailable(status) ? ExitCode::kInternal : ExitCode(code));
}

absl::Status CheckAuditMemory(double bytes, const AuditOutputFlags& flags, const char* remedy) {
  const MachineMemory memory = FindMachineMemory();
  const auto free = static_cast<double>(memory.available);
  const std::string needs = absl::StrCat("this needs about ", FormatBytes(bytes), " of memory, and ",
                                         memory.available_of, " has ", FormatBytes(free), " free");
  if (bytes > free && !flags.ignore_memory) {
    return absl::ResourceExhaustedError(absl::StrCat(needs, ": ", remedy, ", or insist with --ignore-memory"));
  }
  if (!flags.quiet) spdlog::info("{}", needs);
  return absl::OkStatus();
}

std::string DumpJson(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int RunUntilSignal(const std::function<int(const std::atomic<bool>* stop)>& run) {
  std::atomic<bool> stop = false;
  std::promise<int> ended;
  Interrupt interrupt("blink", [&](ExitCode code) {
    stop = true;
    const int found = ended.get_future().get();  // what is there is judged and printed first
    return found == static_cast<int>(ExitCode::kOk) ? code : ExitCode(found);
  });
  const int code = run(&stop);
  ended.set_value(code);
  return code;
}

}  // namespace blink
