// Runs `blink dataset` in this process.
#ifndef BLINK_TESTS_UNIT_TOOLS_DATASET_RUN_COMMAND_H_
#define BLINK_TESTS_UNIT_TOOLS_DATASET_RUN_COMMAND_H_

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tools/dataset/command.h"

namespace blink {

// The exit code. `arguments` begin with "dataset". Throws CLI::ParseError.
inline int RunDatasetCommand(std::vector<std::string> arguments) {
  CLI::App app;
  std::function<int()> command;
  AddDatasetCommand(app, &command);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return command();
}

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_TOOLS_DATASET_RUN_COMMAND_H_
