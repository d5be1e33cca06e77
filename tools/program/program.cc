#include "tools/program/program.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <new>
#include <string>

#include "common/base/exit_code.h"
#include "common/base/logging.h"
#include "common/base/program.h"
#include "common/cli/help.h"
#include "common/cli/standard_output.h"
#include "common/cli/strict_numbers.h"
#include "common/cli/suggestion.h"
#include "common/cli/terminal.h"
#include "tools/audit/command.h"
#include "tools/audit_log/command.h"
#include "tools/dataset/command.h"
#include "tools/examples.h"
#include "tools/privatise/command.h"
#include "tools/program/helper_program.h"
#include "tools/provision/command.h"
#include "tools/round/command.h"
#include "tools/round/doctor_command.h"

namespace {

using AddCommand = void (*)(CLI::App& app, std::function<int()>* run);
constexpr AddCommand kCommands[] = {blink::AddProvisionCommand, blink::AddRoundCommand,   blink::AddDoctorCommand,
                                    blink::AddAuditCommand,     blink::AddDatasetCommand, blink::AddPrivatiseCommand,
                                    blink::AddAuditLogCommand};

int Run(const std::function<int()>& command) {
  try {
    return command();
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "blink: out of memory\n");
    return static_cast<int>(blink::ExitCode::kNoResources);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "blink: %s\n", blink::ShownText(error.what()).c_str());
    return static_cast<int>(blink::ExitCode::kInternal);
  }
}

int RunProgram(int argc, char** argv, const blink::TrainingRunners& runners) {
  if (argc > 1 && blink::IsPythonCommand(argv[1])) {
    return blink::BecomeHelper(std::string("blink-") + argv[1], argv + 1);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that is too large is an error of the write, not a death
  if (!blink::InitLogging("blink", "info").ok()) return static_cast<int>(blink::ExitCode::kInternal);
  CLI::App app(
      "Trains graph neural networks on graphs whose links nobody may see: the operator's and the researcher's command.",
      "blink");
  app.set_version_flag("--version", blink::VersionText("blink"));
  app.footer(blink::ExitCodeTable());
  app.require_subcommand(1);
  std::function<int()> command;
  for (const AddCommand add : kCommands) add(app, &command);
  blink::AddLinkAuditCommand(app, &command, runners.audit_links);
  blink::AddSimulateCommand(app, &command, runners.simulate);
  blink::AddPythonCommands(app);
  std::string shell;
  CLI::App* const completion = app.add_subcommand("completion", "Print a script that completes the command line");
  completion->add_option("shell", shell, "bash")->required()->transform(blink::OneOf({"bash"}));
  completion->callback([&app, &command] {
    command = [&app] {
      std::printf("%s", blink::BashCompletion(app).c_str());
      return static_cast<int>(blink::ExitCode::kOk);
    };
  });
  blink::AddExamples(app, blink::ExamplesOfBlink());
  try {
    blink::ParseStrictly(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return blink::EndOfParsing(app, error, "blink");
  }
  return Run(command);
}

}  // namespace

namespace blink {

int BlinkMain(int argc, char** argv, const TrainingRunners& runners) {
  return EndProgram("blink", RunProgram(argc, argv, runners));
}

}  // namespace blink
