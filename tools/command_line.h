// What the subcommands of `blink` share. Each is one source file with one function that adds it to the program:
//
//   void AddRoundCommand(CLI::App& app, std::function<int()>* run) {
//     CLI::App* command = app.add_subcommand("round", "...");
//     auto flags = std::make_shared<Flags>();
//     ...
//     command->callback([flags, run] { *run = [flags] { return Finish(RunRound(*flags)); }; });
//   }
//
// CLI11 calls the callback of the command that was chosen, once its flags are good; main then calls *run, whose value
// is the program's exit code.
#ifndef BLINK_TOOLS_COMMAND_LINE_H_
#define BLINK_TOOLS_COMMAND_LINE_H_

#include <functional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "common/base/exit_code.h"

namespace blink {

void AddProvisionCommand(CLI::App& app, std::function<int()>* run);
void AddRoundCommand(CLI::App& app, std::function<int()>* run);
void AddAuditCommand(CLI::App& app, std::function<int()>* run);

// Of a path: an empty one, as of a shell variable that is not set, is refused, not taken for none.
inline CLI::Validator NotEmpty() {
  return CLI::Validator([](std::string& text) { return text.empty() ? "the path is empty" : ""; }, "");
}

// The exit code for `status`; an error's text goes to standard error first, as "blink: <text>". FAILED_PRECONDITION has
// no code of its own in the table: it is unusable local input, unless the caller says that the peer said it.
int Finish(const absl::Status& status, ExitCode for_failed_precondition = ExitCode::kBadInput);

// Of flags whose values cannot be: says so, and where to read on.
int FinishWrongFlags(const absl::Status& status);

}  // namespace blink

#endif  // BLINK_TOOLS_COMMAND_LINE_H_
