#include "tools/simulate/command.h"

#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/interrupt.h"
#include "common/cli/output_file.h"
#include "common/cli/result_files.h"
#include "common/cli/suggestion.h"
#include "common/cli/training_flags.h"
#include "tools/command_line.h"
#include "tools/simulate/figures.h"
#include "tools/simulate/json_report.h"
#include "tools/simulate/run.h"
#include "tools/simulate/so_far.h"
#include "tools/simulate/text_report.h"

namespace blink {
namespace {

struct Flags {
  SimulateOptions options;  // without what the next ones say
  std::optional<std::string> epsilon, degree_share;
  TrainingFlags training;
  std::string on_out_of_memory;
  bool json = false;
  OutputFile file;
};

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

absl::StatusOr<SimulateOptions> OptionsOf(const Flags& flags) {
  SimulateOptions options = flags.options;
  if (flags.epsilon) {
    BLINK_ASSIGN_OR_RETURN(options.epsilon_micro, ParseEpsilon("--epsilon", *flags.epsilon));
  }
  if (flags.degree_share) {
    BLINK_ASSIGN_OR_RETURN(options.degree_share_ppm, ParseDegreeShare("--degree-share", *flags.degree_share));
  }
  BLINK_ASSIGN_OR_RETURN(options.training, flags.training.Spec());
  if (!flags.on_out_of_memory.empty()) {
    options.training.set_out_of_memory(flags.on_out_of_memory == "cpu" ? v1::OUT_OF_MEMORY_CPU
                                                                       : v1::OUT_OF_MEMORY_FAIL);
  }
  BLINK_RETURN_IF_ERROR(ValidateSimulateOptions(options));
  return options;
}

absl::Status PrintSimulation(const Simulation& simulation, const Flags& flags) {
  const SimulationFigures figures = FiguresOf(simulation, PeakRssBytes());
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;  // a folder's name may be no UTF-8
  const std::string text =
      flags.json ? SimulationJson(figures).dump(2, ' ', false, kReplace) + "\n" : SimulationText(figures);
  return flags.file.Print(text);
}

void TellWhatIsKept(const SimulateOptions& options) {
  if (!KeepsReports(options)) return;
  std::fprintf(stderr,
               "blink: --checkpoint keeps the reports of every trial in %s, readable by their owner alone: remove the "
               "folder when the simulation is finished\n",
               options.checkpoint.c_str());
}

int RunSimulation(const Flags& flags) {
  const absl::StatusOr<SimulateOptions> options = OptionsOf(flags);
  if (!options.ok()) return FinishWrongFlags(options.status());
  TellWhatIsKept(*options);
  SimulationSoFar so_far;
  Interrupt interrupt("blink", [&](ExitCode code) {
    absl::Status printed;
    so_far.Look([&](const Simulation& simulation) { printed = PrintSimulation(simulation, flags); });
    return printed.ok() ? code : ExitCode(Finish(printed));
  });
  absl::StatusOr<Simulation> simulation = SimulateWithoutExceptions(*options, so_far);
  interrupt.Disarm();
  for (const std::string& path : {options->dataset, options->reports}) {
    simulation = SuggestingPath(std::move(simulation), path);
  }
  if (!simulation.ok()) {
    std::fprintf(stderr, "blink: %s\n", std::string(NamingTheFlag(simulation.status()).message()).c_str());
    // Files and data sets are all it reads: what does not suit is bad input.
    const bool unsuitable = absl::IsDataLoss(simulation.status()) || absl::IsFailedPrecondition(simulation.status());
    return static_cast<int>(unsuitable ? ExitCode::kBadInput : ExitCodeFor(simulation.status()));
  }
  return Finish(PrintSimulation(*simulation, flags));
}

}  // namespace

void AddSimulateCommand(CLI::App& app, std::function<int()>* run) {
  auto flags = std::make_shared<Flags>();
  SimulateOptions& options = flags->options;
  CLI::App* command = app.add_subcommand(
      "simulate",
      "Privatise a data set, estimate its links and train, in one process without a network (for research)");
  command->add_option("--dataset", options.dataset, "Data-set folder, with its links")->required();
  command->add_option(
      "--epsilon", flags->epsilon,
      "Budget of a report, for one entry of one list, (0, 50]; not needed with --graph true, --reports or --model mlp");
  command->add_option("--degree-share", flags->degree_share,
                      "Share of the budget that pays for the degree, 0 .. 1 (by epsilon and prior: docs/TUNING.md)");
  flags->training.AddTo(command);
  command
      ->add_option("--without", options.without,
                   "Leave parts out of the attributed prior, for studies: degrees, total, features, latent, nearest, "
                   "classes, network, with commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--network-rounds", options.network_rounds,
                      "Rounds in which the attributed prior looks at the network of the one before, 0 .. 2 (1 or 2, by "
                      "what the bits may spend)");
  command
      ->add_option_function<std::string>(
          "--graph",
          [flags](const std::string& graph) {
            flags->options.graph = graph == "true" ? SimulatedGraph::kTrue : SimulatedGraph::kBlink;
          },
          "blink, or true: the bound with all links, for any --prior, NOT PRIVATE (blink)")
      ->transform(OneOf({"blink", "true"}));
  command->add_flag("--bounds", options.bounds,
                    "Also measure what the features alone and what the true links give, by the same search, and the "
                    "share of the way between them that the reports recover");
  command->add_option("--trials", options.trials,
                      "Trials; trial t draws anew and trains with seed + t (5; 1 with --reports)");
  command->add_option("--seed", options.seed, "Seed of initialisation and dropout (1, or the round's)");
  command
      ->add_option("--on-out-of-memory", flags->on_out_of_memory,
                   "fail, or cpu: go on on the CPU (fail, or the round's)")
      ->transform(OneOf({"fail", "cpu"}));
  command->add_flag_callback("--cpu-when-out-of-memory", [flags] { flags->on_out_of_memory = "cpu"; })
      ->group("");  // its old name
  command->add_option("--threads", options.threads, "Threads (0: all cores)")->check(CLI::Range(0, 1024));
  command
      ->add_option("--reports", options.reports,
                   "Replay a round folder (round.json, reports.blr) with the round's training parameters, where no "
                   "flag says otherwise")
      ->check(NotEmpty());
  command
      ->add_option_function<std::string>(
          "--implausible",
          [flags](const std::string& policy) {
            flags->options.implausible = policy == "drop"   ? v1::IMPLAUSIBLE_DROP
                                         : policy == "keep" ? v1::IMPLAUSIBLE_KEEP
                                                            : v1::IMPLAUSIBLE_FLAG;
          },
          "Reports that can hardly be an honest node's: flag, drop or keep (flag, or the round's)")
      ->transform(OneOf({"flag", "drop", "keep"}));
  command
      ->add_option("--output", options.output,
                   "Write the first trial's result, as the worker of a round does, to a folder that is absent or empty")
      ->check(NotEmpty());
  command->add_flag("--replace", options.replace_output, "--output may replace an earlier result (and nothing else)");
  command->add_option("--missing", options.missing,
                      "Share of the nodes that never report, [0, 1), chosen by the seed (0)");
  command
      ->add_option(
          "--checkpoint", options.checkpoint,
          "Folder for the state of the trainings: the same command goes on where it was ended. Its mode becomes 0700. "
          "Reports that are drawn are kept in it too, mode 0600: a second draw would be another one")
      ->check(NotEmpty());
  CLI::Option* every =
      command->add_option("--checkpoint-every", options.checkpoint_every_s,
                          "Seconds between the states that --checkpoint keeps, 0: after every epoch (20)");
  every->check(CLI::Range(0.0, 86400.0))->needs("--checkpoint");
  command->add_flag("--ignore-memory", options.ignore_memory,
                    "Start even where it needs more memory than the machine has free");
  command->add_flag("--insecure-seeded-noise", options.insecure_seeded_noise,
                    "NOT PRIVATE: draw the noise from the seed");
  command->add_flag("--json", flags->json, "Print one JSON object");
  flags->file.AddTo(command, "--save");
  command->footer(absl::StrCat(ResultFilesText(), "\n", ExitCodeTable()));
  command->add_flag_callback(
      "--quiet", [flags] { flags->options.progress = false; }, "Show no progress");
  command->callback([flags, run] { *run = [flags] { return RunSimulation(*flags); }; });
}

}  // namespace blink
