// blink audit-log verify: whether the records of what operators did follow from each other.
#ifndef BLINK_TOOLS_AUDIT_LOG_COMMAND_H_
#define BLINK_TOOLS_AUDIT_LOG_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

void AddAuditLogCommand(CLI::App& app, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_LOG_COMMAND_H_
