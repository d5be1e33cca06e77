// The command line of `blink audit links`. It needs no LibTorch; what it asks for does (perform.h).
#ifndef BLINK_TOOLS_LINK_AUDIT_COMMAND_H_
#define BLINK_TOOLS_LINK_AUDIT_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"
#include "common/cli/output_file.h"
#include "tools/link_audit/options.h"

namespace blink {

struct LinkAuditRequest {
  LinkAuditOptions options;
  bool json = false;
  OutputFile file;  // where the figures go
};
// Does what is asked for, and returns the exit code.
using LinkAuditRunner = std::function<int(const LinkAuditRequest& request)>;

// Adds `links` to the command `audit`, which `app` has, as tools/command_line.h describes. `runner` gets options that
// ValidateLinkAuditOptions found good.
void AddLinkAuditCommand(CLI::App& app, std::function<int()>* run, LinkAuditRunner runner);

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_COMMAND_H_
