// `blink dataset generate | info | convert | export | shard`
#ifndef BLINK_TOOLS_DATASET_COMMAND_H_
#define BLINK_TOOLS_DATASET_COMMAND_H_

#include <functional>

#include "CLI/CLI.hpp"

namespace blink {

// Adds the command to `app`, as tools/command_line.h describes.
void AddDatasetCommand(CLI::App& app, std::function<int()>* run);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_COMMAND_H_
