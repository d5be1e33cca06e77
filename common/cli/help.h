// What a program tells of itself beside CLI11's help: examples, bash completion and a man page, all from its own
// definitions.
#ifndef BLINK_COMMON_CLI_HELP_H_
#define BLINK_COMMON_CLI_HELP_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/types/span.h"

namespace blink {

// Of the command "round create"; of the program itself, "".
struct CommandExamples {
  const char* command;
  std::vector<const char*> lines;  // as they are typed: "blink round create ..."
};

// Shows them at the end of each command's --help, before what is there already. A command that does not exist (in a
// build without it) has no examples.
void AddExamples(CLI::App& app, absl::Span<const CommandExamples> examples);

// All commands below `app`, in their order.
std::vector<CLI::App*> CommandsOf(CLI::App& app);
std::vector<const CLI::App*> CommandsOf(const CLI::App& app);

// The names after which `option` may be written: "--dataset". Empty for a positional one, and for one that is hidden.
std::vector<std::string> VisibleNamesOf(const CLI::Option& option);
// What a value of the option may be, where it is one of some names.
std::vector<std::string> ChoicesOf(const CLI::Option& option);

// A script for bash that completes commands, options and those of their values that are one of some names.
std::string BashCompletion(const CLI::App& app);

// For man(1): section 1, with all commands.
std::string ManPage(const CLI::App& app);

}  // namespace blink

#endif  // BLINK_COMMON_CLI_HELP_H_
