#include "tools/audit_log/command.h"

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "aggregator_server/audit_log/audit_chain.h"
#include "common/base/exit_code.h"
#include "common/base/status_macros.h"
#include "common/cli/program_json.h"
#include "common/cli/terminal.h"
#include "nlohmann/json.hpp"
#include "tools/command_line.h"

namespace blink {
namespace {

struct Flags {
  std::string log, head;
  bool json = false;
};

CLI::Validator Hash() {
  return CLI::Validator(
      [](std::string& text) {
        const bool is_hash = text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
        if (is_hash) return std::string();
        return absl::StrCat("'", absl::CHexEscape(text), "' is no hash, which has 64 lower-case hexadecimal digits");
      },
      "");
}

absl::StatusOr<AuditLogSummary> Verify(const Flags& flags) {
  BLINK_ASSIGN_OR_RETURN(AuditLogSummary summary, ReadAuditLog(flags.log, flags.head));
  if (summary.chain.records == 0 && summary.torn_bytes > 0) {
    return absl::DataLossError(absl::StrCat(flags.log, " has no whole record: is it an audit log?"));
  }
  if (flags.head.empty() || summary.found) return summary;
  return absl::DataLossError(absl::StrCat(
      flags.log, ": no record has the hash ", flags.head,
      ": the end of the log was removed or made anew after that hash was noted, or it is the hash of another log"));
}

void PrintText(const AuditLogSummary& summary) {
  std::printf("The records follow from each other: %llu of them, the last has the hash %s.\n",
              static_cast<unsigned long long>(summary.chain.records), summary.chain.head.c_str());
  if (summary.found) {
    std::printf("The given hash is that of record %llu.\n", static_cast<unsigned long long>(*summary.found));
  }
  if (summary.torn_bytes > 0) {
    std::printf("After them come %llu bytes of a line that is being written, or that a crash cut off.\n",
                static_cast<unsigned long long>(summary.torn_bytes));
  }
}

void PrintJson(const AuditLogSummary& summary) {
  nlohmann::ordered_json json = {{"format", 1}, {"program", ProgramJson()}};
  json["records"] = summary.chain.records;
  json["head"] = summary.chain.head;
  json["found"] = summary.found ? nlohmann::ordered_json(*summary.found) : nlohmann::ordered_json(nullptr);
  json["unfinished_bytes"] = summary.torn_bytes;
  std::printf("%s\n", json.dump(2).c_str());
}

}  // namespace

void AddAuditLogCommand(CLI::App& app, std::function<int()>* run) {
  CLI::App* group = app.add_subcommand("audit-log", "What operators did, as the aggregator recorded it");
  group->require_subcommand(1);
  CLI::App* command = group->add_subcommand(
      "verify", "Check that no record was changed, removed or put in (exit code 10: one was); print the last hash");
  auto flags = std::make_shared<Flags>();
  command->add_option("log", flags->log, "The audit log, DATA/audit.log of the aggregator")->required();
  command
      ->add_option("--head", flags->head,
                   "A hash that was noted before, from here or from the aggregator's log: the record that has it must "
                   "still be there. Without it nobody sees that the last records were removed")
      ->check(Hash());
  command->add_flag("--json", flags->json, "Print JSON");
  command->callback([run, flags] {
    *run = [flags] {
      const absl::StatusOr<AuditLogSummary> summary = Verify(*flags);
      if (absl::IsDataLoss(summary.status())) {
        std::fprintf(stderr, "blink: %s\n", ShownText(summary.status().message()).c_str());
        return static_cast<int>(ExitCode::kAuditViolation);
      }
      if (!summary.ok()) return Finish(summary.status());
      flags->json ? PrintJson(*summary) : PrintText(*summary);
      return Finish(absl::OkStatus());
    };
  });
}

}  // namespace blink
