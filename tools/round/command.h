// `blink round create | list | status | watch | seal | cancel | result`
#ifndef BLINK_TOOLS_ROUND_COMMAND_H_
#define BLINK_TOOLS_ROUND_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

// Adds the command to `app`, as tools/command_line.h describes.
void AddRoundCommand(CLI::App& app, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_ROUND_COMMAND_H_
