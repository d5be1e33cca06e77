// The command line of `blink simulate`. It needs no LibTorch; what it asks for does (perform.h).
#ifndef BLINK_TOOLS_SIMULATE_COMMAND_H_
#define BLINK_TOOLS_SIMULATE_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"
#include "common/cli/output_file.h"
#include "tools/simulate/options.h"

namespace blink {

struct SimulateRequest {
  SimulateOptions options;
  bool json = false;
  OutputFile file;  // where the figures go
};
// Does what is asked for, and returns the exit code.
using SimulateRunner = std::function<int(const SimulateRequest& request)>;

// Adds the command to `app`, as tools/command_line.h describes. `runner` gets options that ValidateSimulateOptions
// found good.
void AddSimulateCommand(CLI::App& app, std::function<int()>* run, SimulateRunner runner);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_COMMAND_H_
