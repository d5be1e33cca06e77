// The command line of `blink simulate`.
#ifndef BLINK_TOOLS_SIMULATE_COMMAND_H_
#define BLINK_TOOLS_SIMULATE_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

// Adds the subcommand to `app`. When the command line chooses it, CLI11's callback sets *run, which does the work and returns the
// program's exit code.
void AddSimulateCommand(CLI::App& app, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_COMMAND_H_
