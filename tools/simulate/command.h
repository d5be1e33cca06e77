// The command line of `blink simulate`.
#ifndef BLINK_TOOLS_SIMULATE_COMMAND_H_
#define BLINK_TOOLS_SIMULATE_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

// Adds the command to `app`, as tools/command_line.h describes. A build without LibTorch has no such command: then this
// adds nothing.
void AddSimulateCommand(CLI::App& app, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_COMMAND_H_
