// The command line of `blink simulate`.
#ifndef BLINK_TOOLS_SIMULATE_COMMAND_H_
#define BLINK_TOOLS_SIMULATE_COMMAND_H_

#include "CLI/CLI.hpp"

namespace blink {

// Adds the subcommand to `app`. When the command line chooses it, CLI11's callback does the work and stores how the
// program ends.
void AddSimulateCommand(CLI::App& app, int& exit_code);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_COMMAND_H_
