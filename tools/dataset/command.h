// `blink dataset generate | info | convert | shard`.
#ifndef BLINK_TOOLS_DATASET_COMMAND_H_
#define BLINK_TOOLS_DATASET_COMMAND_H_

#include "CLI/CLI.hpp"

namespace blink {

// Adds the command to `app`; its callback does the work and stores how the program ends in `exit_code`.
void AddDatasetCommand(CLI::App& app, int& exit_code);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_COMMAND_H_
