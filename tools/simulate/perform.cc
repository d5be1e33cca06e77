#include "tools/simulate/perform.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "common/base/exit_code.h"
#include "common/cli/interrupt.h"
#include "common/cli/suggestion.h"
#include "common/cli/terminal.h"
#include "common/cli/training_flags.h"
#include "tools/command_line.h"
#include "tools/simulate/figures.h"
#include "tools/simulate/json_report.h"
#include "tools/simulate/run.h"
#include "tools/simulate/so_far.h"
#include "tools/simulate/text_report.h"

namespace blink {
namespace {

uint64_t PeakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

absl::StatusOr<Simulation> SimulateWithoutExceptions(const SimulateOptions& options, SimulationSoFar& so_far) {
  try {
    return Simulate(options, so_far);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the simulation ran out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

absl::Status PrintSimulation(const Simulation& simulation, const SimulateRequest& request) {
  const SimulationFigures figures = FiguresOf(simulation, PeakRssBytes());
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;  // a folder's name may be no UTF-8
  const std::string text = request.json ? SimulationJson(figures).dump(2, ' ', false, kReplace) + "\n"
                                        : SimulationText(figures, TerminalColumns(STDOUT_FILENO));
  return request.file.Print(text);
}

void TellWhatIsKept(const SimulateOptions& options) {
  if (!KeepsReports(options)) return;
  const bool saved = !options.save_reports.empty();
  std::fprintf(stderr,
               "blink: %s keeps the reports of every trial in %s, readable by their owner alone: remove the folder "
               "when %s\n",
               saved ? "--save-reports" : "--checkpoint", (saved ? options.save_reports : options.checkpoint).c_str(),
               saved ? "you need them no more" : "the simulation is finished");
}

int TellFailure(absl::StatusOr<Simulation> simulation, const SimulateOptions& options) {
  simulation = SuggestingPath(std::move(simulation), {options.dataset, options.reports, options.links});
  std::fprintf(stderr, "blink: %s\n", ShownText(NamingTheFlag(simulation.status()).message()).c_str());
  // Files and data sets are all it reads: what does not suit is bad input.
  const bool unsuitable = absl::IsDataLoss(simulation.status()) || absl::IsFailedPrecondition(simulation.status());
  return static_cast<int>(unsuitable ? ExitCode::kBadInput : ExitCodeFor(simulation.status()));
}

// The whole. Of a simulation that failed, the trials before.
int PrintEnd(absl::StatusOr<Simulation> simulation, SimulationSoFar& so_far, const SimulateRequest& request) {
  if (simulation.ok()) return Finish(PrintSimulation(*simulation, request));
  so_far.Look([&](const Simulation& before) {
    if (!before.trials.empty()) (void)Finish(PrintSimulation(before, request));
  });
  return TellFailure(std::move(simulation), request.options);
}

}  // namespace

int PerformSimulation(const SimulateRequest& request) {
  const SimulateOptions& options = request.options;
  if (const absl::Status writable = request.file.Check(); !writable.ok()) return Finish(writable);
  TellWhatIsKept(options);
  SimulationSoFar so_far;
  Interrupt interrupt("blink", [&](ExitCode code) {
    absl::Status printed;
    so_far.Look([&](const Simulation& simulation) { printed = PrintSimulation(simulation, request); });
    return printed.ok() ? code : ExitCode(Finish(printed));
  });
  absl::StatusOr<Simulation> simulation = SimulateWithoutExceptions(options, so_far);
  return interrupt.PrintWhole([&] { return PrintEnd(std::move(simulation), so_far, request); });
}

}  // namespace blink
