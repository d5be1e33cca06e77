// `blink dataset export`.
#ifndef BLINK_TOOLS_DATASET_EXPORT_COMMAND_H_
#define BLINK_TOOLS_DATASET_EXPORT_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

// Adds the command to `blink dataset`. When the command line names it, `run` is set to what it does.
void AddExportCommand(CLI::App& dataset, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_EXPORT_COMMAND_H_
