#include "tools/link_audit/perform.h"

#include <cstdio>
#include <exception>
#include <new>
#include <utility>

#include "common/base/exit_code.h"
#include "common/cli/interrupt.h"
#include "common/cli/terminal.h"
#include "common/cli/training_flags.h"
#include "tools/command_line.h"
#include "tools/link_audit/report.h"
#include "tools/link_audit/run.h"

namespace blink {
namespace {

absl::StatusOr<LinkAudit> AuditWithoutExceptions(const LinkAuditOptions& options, LinkAuditSoFar& so_far) {
  try {
    return AuditLinks(options, so_far);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the audit ran out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

absl::Status PrintAudit(const LinkAudit& audit, const LinkAuditRequest& request) {
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;  // a folder's name may be no UTF-8
  return request.file.Print(request.json ? LinkAuditJson(audit).dump(2, ' ', false, kReplace) + "\n"
                                         : LinkAuditText(audit));
}

// The whole. Of an audit that failed, the trials before.
int PrintEnd(absl::StatusOr<LinkAudit> audit, LinkAuditSoFar& so_far, const LinkAuditRequest& request) {
  if (audit.ok()) return Finish(PrintAudit(*audit, request));
  so_far.Look([&](const LinkAudit& before) {
    if (!before.trials.empty()) (void)Finish(PrintAudit(before, request));
  });
  audit = SuggestingPath(std::move(audit), {request.options.dataset});
  std::fprintf(stderr, "blink: %s\n", ShownText(NamingTheFlag(audit.status()).message()).c_str());
  // It reads nothing but a data set: what does not suit is bad input.
  const bool unsuitable = absl::IsDataLoss(audit.status()) || absl::IsFailedPrecondition(audit.status());
  return static_cast<int>(unsuitable ? ExitCode::kBadInput : ExitCodeFor(audit.status()));
}

}  // namespace

int PerformLinkAudit(const LinkAuditRequest& request) {
  if (const absl::Status writable = request.file.Check(); !writable.ok()) return Finish(writable);
  LinkAuditSoFar so_far;
  Interrupt interrupt("blink", [&](ExitCode code) {
    absl::Status printed;
    so_far.Look([&](const LinkAudit& audit) { printed = PrintAudit(audit, request); });
    return printed.ok() ? code : ExitCode(Finish(printed));
  });
  absl::StatusOr<LinkAudit> audit = AuditWithoutExceptions(request.options, so_far);
  return interrupt.PrintWhole([&] { return PrintEnd(std::move(audit), so_far, request); });
}

}  // namespace blink
