// blink: the operator's and the researcher's command.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "common/base/exit_code.h"
#include "common/base/logging.h"
#include "common/cli/standard_output.h"
#include "common/cli/strict_numbers.h"
#include "tools/command_line.h"
#include "tools/dataset/command.h"
#ifdef BLINK_HAS_SIMULATE
#include "tools/simulate/command.h"
#endif

namespace {

int Run(const std::function<int()>& command) {
  try {
    return command();
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "blink: out of memory\n");
    return static_cast<int>(blink::ExitCode::kNoResources);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "blink: %s\n", error.what());
    return static_cast<int>(blink::ExitCode::kInternal);
  }
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that is too large is an error of the write, not a death
  if (!blink::InitLogging("blink", "info").ok()) return static_cast<int>(blink::ExitCode::kInternal);
  CLI::App app(
      "Trains graph neural networks on graphs whose links nobody may see: the operator's and the researcher's command.",
      "blink");
  app.set_version_flag("--version", "blink " BLINK_VERSION);
  app.footer(blink::ExitCodeTable());
  app.require_subcommand(1);
  std::function<int()> command;
  int exit_code = 0;  // of a command that does its work while the flags are parsed
  blink::AddProvisionCommand(app, &command);
  blink::AddRoundCommand(app, &command);
  blink::AddAuditCommand(app, &command);
  blink::AddDatasetCommand(app, exit_code);
#ifdef BLINK_HAS_SIMULATE
  blink::AddSimulateCommand(app, exit_code);
#endif
  try {
    blink::ParseStrictly(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return blink::EndOfParsing(app, error, "blink");
  }
  return command ? Run(command) : exit_code;
}

}  // namespace

int main(int argc, char** argv) { return blink::EndProgram("blink", Main(argc, argv)); }
