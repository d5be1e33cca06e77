// `blink audit`: tries to prove that the shipped privatiser, the node, or the nodes of a round break their promise.
#ifndef BLINK_TOOLS_AUDIT_COMMAND_H_
#define BLINK_TOOLS_AUDIT_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

// Adds the command to `app`, as tools/command_line.h describes.
void AddAuditCommand(CLI::App& app, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_COMMAND_H_
