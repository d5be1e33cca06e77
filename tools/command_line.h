// What the subcommands of `blink` share. Each folder of a subcommand has a command.h with one function, which adds it
// to the program. tools/program/program.cc lists these functions:
//
//   void AddRoundCommand(CLI::App& app, std::function<int()>* run) {
//     CLI::App* command = app.add_subcommand("round", "...");
//     auto flags = std::make_shared<Flags>();
//     ...
//     command->callback([flags, run] { *run = [flags] { return Finish(RunRound(*flags)); }; });
//   }
//
// CLI11 calls the callback of the command that was chosen, once its flags are good. The callback does no work, it only
// sets *run. Then main calls *run, whose value is the exit code of the program.
#ifndef BLINK_TOOLS_COMMAND_LINE_H_
#define BLINK_TOOLS_COMMAND_LINE_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/cli/suggestion.h"

namespace blink {

// A check that refuses an empty path. A shell variable that is not set gives one.
inline CLI::Validator NotEmpty() {
  return CLI::Validator([](std::string& text) { return text.empty() ? "the path is empty" : ""; }, "");
}

// The same, where NOT_FOUND suggests a name that lies beside `path`, which somebody typed and which does not exist.
template <typename T>
absl::StatusOr<T> SuggestingPath(absl::StatusOr<T> read, const std::string& path) {
  if (!absl::IsNotFound(read.status())) return read;
  return Reworded(read.status(), std::string(read.status().message()) + SuggestPath(path));
}

// The exit code for `status`. Prints the text of an error on standard error, as "blink: <text>". FAILED_PRECONDITION
// ends with `for_failed_precondition`, since only the caller knows who refused: this machine's input or the peer.
int Finish(const absl::Status& status, ExitCode for_failed_precondition = ExitCode::kBadInput);

// The exit code for wrong flags. Prints the text of `status` and how to get help.
int FinishWrongFlags(const absl::Status& status);

}  // namespace blink

#endif  // BLINK_TOOLS_COMMAND_LINE_H_
