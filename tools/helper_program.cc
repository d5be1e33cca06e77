#include "tools/helper_program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <vector>

#include "common/base/exit_code.h"

namespace blink {
namespace {

struct HelperCommand {
  const char* name;
  const char* description;
};
constexpr HelperCommand kHelpers[] = {
    {"sweep", "Run many simulations: budgets, mechanisms, models, data sets; goes on where it was ended (Python)"},
    {"report", "Draw figures, tables and a page from the finished trials of a sweep (Python, matplotlib)"},
};

}  // namespace

bool IsHelperCommand(const std::string& word) {
  return std::any_of(std::begin(kHelpers), std::end(kHelpers),
                     [&](const HelperCommand& helper) { return word == helper.name; });
}

int RunHelperProgram(const std::string& command, char** arguments) {
  const std::string name = "blink-" + command;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    std::fprintf(stderr, "blink: cannot find the folder of this program, in which %s lies: %s\n", name.c_str(),
                 error.message().c_str());
    return static_cast<int>(ExitCode::kInternal);
  }
  const std::string path = self.parent_path() / name;
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (; *arguments != nullptr; ++arguments) argv.push_back(*arguments);
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
  const char* const reason = errno == ENOENT ? "it is missing there, or python3 is" : std::strerror(errno);
  std::fprintf(stderr, "blink: cannot run %s: %s. Build or install blink with it, and install Python 3.11\n",
               path.c_str(), reason);
  return static_cast<int>(ExitCode::kBadInput);
}

void AddHelperCommands(CLI::App& app) {
  for (const HelperCommand& helper : kHelpers) {
    CLI::App* const command = app.add_subcommand(helper.name, helper.description);
    command->prefix_command();
    command->footer("This command has its own help: blink " + std::string(helper.name) + " --help\n");
  }
}

}  // namespace blink
