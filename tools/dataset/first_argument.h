// A file or folder that a command of `blink dataset` takes without the name of a flag.
#ifndef BLINK_TOOLS_DATASET_FIRST_ARGUMENT_H_
#define BLINK_TOOLS_DATASET_FIRST_ARGUMENT_H_

#include <string>

#include "CLI/CLI.hpp"

namespace blink {

// A file or folder that is the first argument. It may also be given as an option, as older scripts do. Then the help
// does not list the option.
struct FirstArgument {
  const char* name;
  const char* option_name;

  void AddTo(CLI::App* command, std::string& value, const char* what) const {
    CLI::Option* option = command->add_option(option_name, value)->group("");
    command->add_option(name, value, what)->option_text("REQUIRED")->excludes(option);
  }
  // To be called in CLI11's callback: then what it throws ends the parsing, as other wrong flags do.
  void Require(const CLI::App& command) const {
    if (command.count(option_name) + command.count(name) == 0) throw CLI::RequiredError(name);
  }
};
inline constexpr FirstArgument kDataset = {"dataset", "--dataset"};

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_FIRST_ARGUMENT_H_
