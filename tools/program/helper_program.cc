#include "tools/program/helper_program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "common/base/program.h"

namespace blink {
namespace {

struct PythonCommand {
  const char* name;
  const char* description;
};
constexpr PythonCommand kPythonCommands[] = {
    {"sweep", "Run many simulations: budgets, mechanisms, models, data sets; goes on where it was ended (Python)"},
    {"report", "Draw figures, tables and a page from the finished trials of a sweep (Python, matplotlib)"},
};

// A signal that comes while the helper's libraries are loaded would be lost if this is process 1, which ignores what it
// does not handle. It waits until the helper handles it and lets it through (common/base/program_start.cc).
sigset_t BlockSignalsForExec() {
  sigset_t signals, before;
  ::sigemptyset(&signals);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  return before;
}

}  // namespace

int BecomeHelper(const std::string& name, char** argv) {
  const absl::StatusOr<std::string> folder = ProgramFolder();
  if (!folder.ok()) {
    std::fprintf(stderr, "blink: %s\n", std::string(folder.status().message()).c_str());
    return static_cast<int>(ExitCode::kInternal);
  }
  const std::string path = *folder + "/" + name;
  const bool python = IsPythonCommand(name.substr(name.find('-') + 1));
  sigset_t before;
  if (!python) before = BlockSignalsForExec();
  ::execv(path.c_str(), argv);
  const int reason = errno;
  if (!python) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const char* const remedy = python ? "installed with blink, and needs Python 3.11 or newer (python3)"
                                    : "built and installed with blink, where LibTorch is";
  std::fprintf(stderr, "blink: cannot start %s: %s. It is %s\n", path.c_str(), std::strerror(reason), remedy);
  return static_cast<int>(ExitCode::kBadInput);
}

bool IsPythonCommand(const std::string& word) {
  return std::any_of(std::begin(kPythonCommands), std::end(kPythonCommands),
                     [&](const PythonCommand& command) { return word == command.name; });
}

void AddPythonCommands(CLI::App& app) {
  for (const PythonCommand& entry : kPythonCommands) {
    CLI::App* const command = app.add_subcommand(entry.name, entry.description);
    command->prefix_command();
    command->footer(absl::StrCat("The program has its own help: blink ", entry.name, " --help\n"));
  }
}

}  // namespace blink
