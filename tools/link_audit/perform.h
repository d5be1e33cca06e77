// The work of `blink audit links`, with what it prints.
#ifndef BLINK_TOOLS_LINK_AUDIT_PERFORM_H_
#define BLINK_TOOLS_LINK_AUDIT_PERFORM_H_

#include "tools/link_audit/command.h"

namespace blink {

// Audits, and prints the figures or why there are none. Interrupted, it prints the trials that are finished. Returns
// the exit code.
int PerformLinkAudit(const LinkAuditRequest& request);

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_PERFORM_H_
