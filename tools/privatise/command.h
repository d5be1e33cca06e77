// The command line of `blink privatise`.
#ifndef BLINK_TOOLS_PRIVATISE_COMMAND_H_
#define BLINK_TOOLS_PRIVATISE_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

// Adds the command to `app`, as tools/command_line.h describes.
void AddPrivatiseCommand(CLI::App& app, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_PRIVATISE_COMMAND_H_
