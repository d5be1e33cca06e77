// `blink audit round`: flags, and what is printed.
#ifndef BLINK_TOOLS_AUDIT_ROUND_COMMAND_H_
#define BLINK_TOOLS_AUDIT_ROUND_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

// Adds the command to `audit`, as tools/command_line.h describes.
void AddRoundAuditCommand(CLI::App& audit, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_ROUND_COMMAND_H_
