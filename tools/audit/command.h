// `blink audit mechanism | randomness`: tries to prove that the shipped privatiser breaks its promise.
#ifndef BLINK_TOOLS_AUDIT_COMMAND_H_
#define BLINK_TOOLS_AUDIT_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

// Adds the command to `app`, as tools/command_line.h describes.
void AddAuditCommand(CLI::App& app, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_AUDIT_COMMAND_H_
