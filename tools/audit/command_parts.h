// What the commands of `blink audit` share: flags, exit codes, the check of memory, and the end by a signal.
#ifndef BLINK_TOOLS_AUDIT_COMMAND_PARTS_H_
#define BLINK_TOOLS_AUDIT_COMMAND_PARTS_H_

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/cli/output_file.h"
#include "common/privacy/parameters.h"
#include "nlohmann/json.hpp"

namespace blink {

// --json, --output, --quiet and --ignore-memory.
struct AuditOutputFlags {
  bool quiet = false;
  bool json = false;
  bool ignore_memory = false;
  OutputFile output;
  void AddTo(CLI::App* command);
};

// --epsilon and --degree-share of a report.
struct AuditBudgetFlags {
  std::string epsilon = "1";
  std::optional<std::string> degree_share;
  Mechanism mechanism = Mechanism::kBothEnds;
  void AddTo(CLI::App* command);
  // The parameters of a round with n nodes; without --degree-share with the share of a round with the beta prior.
  absl::StatusOr<PrivacyParameters> ParseFor(uint32_t node_count) const;
};

// Prints the findings. The exit code is kAuditViolation unless they are good, also where the file cannot be written.
// `remedy` says what to do about a violation.
int PrintFindings(bool passed, const std::string& findings, const OutputFile& output,
                  const char* remedy = "do not use this build; keep the output");

// As Finish. UNAVAILABLE is a failure of the system's generator here, since an audit calls no peer.
int FinishFailure(const absl::Status& status);

// Says how much memory is needed, and refuses what cannot be had now. `remedy`: "ask for fewer nodes".
absl::Status CheckAuditMemory(double bytes, const AuditOutputFlags& flags, const char* remedy);

// The text of --json.
std::string DumpJson(const nlohmann::ordered_json& json);

// Runs `run`, which judges and prints what is there as soon as *stop is true. At a signal the program ends with the
// exit code of `run`, or by the signal when that is kOk.
int RunUntilSignal(const std::function<int(const std::atomic<bool>* stop)>& run);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_COMMAND_PARTS_H_
