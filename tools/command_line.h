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
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "common/base/durable_file.h"
#include "common/base/exit_code.h"
#include "common/cli/suggestion.h"

namespace blink {

// A check that refuses an empty path. A shell variable that is not set gives one.
inline CLI::Validator NotEmpty() {
  return CLI::Validator([](std::string& text) { return text.empty() ? "the path is empty" : ""; }, "");
}

// `read`, where NOT_FOUND suggests a name that lies beside the one of `paths` that somebody mistyped: its message names
// it, and it does not exist.
template <typename T>
absl::StatusOr<T> SuggestingPath(absl::StatusOr<T> read, const std::vector<std::string>& paths) {
  if (!absl::IsNotFound(read.status())) return read;
  const std::string message(read.status().message());
  for (const std::string& path : paths) {
    if (!absl::StrContains(message, path)) continue;
    const std::string suggestion = SuggestPath(path);
    if (!suggestion.empty()) return Reworded(read.status(), message + suggestion);
  }
  return read;
}

// The exit code for `status`. Prints the text of an error on standard error, as "blink: <text>". FAILED_PRECONDITION
// ends with `for_failed_precondition`, since only the caller knows who refused: this machine's input or the peer.
int Finish(const absl::Status& status, ExitCode for_failed_precondition = ExitCode::kBadInput);

// The exit code for wrong flags. Prints the text of `status` and how to get help.
int FinishWrongFlags(const absl::Status& status);

}  // namespace blink

#endif  // BLINK_TOOLS_COMMAND_LINE_H_
