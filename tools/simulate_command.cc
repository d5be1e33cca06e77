#include "tools/simulate_command.h"

#include <sys/resource.h>

#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "common/base/exit_code.h"
#include "tools/simulate_report.h"
#include "tools/simulate_run.h"

namespace blink {
namespace {

struct Flags {
  SimulateOptions options;
  std::optional<std::string> model, device;
  std::optional<double> learning_rate, weight_decay, dropout;
  std::optional<uint32_t> epochs, hidden;
  bool cpu_when_out_of_memory = false;
  bool json = false;
};

// A number that `within` accepts; `range` is for the message.
CLI::Validator RealIn(const std::string& range, const std::function<bool(double)>& within) {
  return CLI::Validator(
      [range, within](std::string& text) {
        double value = 0;
        return absl::SimpleAtod(text, &value) && within(value) ? std::string() : text + " is not in " + range;
      },
      "");
}

std::string CheckDevice(const std::string& text) {
  constexpr size_t kPrefix = sizeof("cuda:") - 1;
  int index = 0;
  if (text == "auto" || text == "cpu") return "";
  const bool cuda =
      text.compare(0, kPrefix, "cuda:") == 0 && absl::SimpleAtoi(text.substr(kPrefix), &index) && index >= 0;
  return cuda ? "" : text + " is not auto, cpu or cuda:<index>";
}

uint64_t PeakRssBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

v1::TrainingSpec SpecOf(const Flags& flags) {
  v1::TrainingSpec spec;
  if (flags.model) spec.set_model(*flags.model == "mlp" ? v1::MODEL_MLP : v1::MODEL_GCN);
  if (flags.learning_rate) spec.set_learning_rate(*flags.learning_rate);
  if (flags.weight_decay) spec.set_weight_decay(*flags.weight_decay);
  if (flags.dropout) spec.set_dropout(*flags.dropout);
  if (flags.epochs) spec.set_epochs(*flags.epochs);
  if (flags.hidden) spec.set_hidden(*flags.hidden);
  if (flags.device) spec.set_device(*flags.device);
  if (flags.cpu_when_out_of_memory) spec.set_out_of_memory(v1::OUT_OF_MEMORY_CPU);
  return spec;
}

absl::StatusOr<Simulation> SimulateWithoutExceptions(const SimulateOptions& options) {
  try {
    return Simulate(options);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the simulation ran out of memory");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

int Run(const Flags& flags) {
  SimulateOptions options = flags.options;
  options.training = SpecOf(flags);
  if (const absl::Status usable = ValidateSimulateOptions(options); !usable.ok()) {
    std::fprintf(stderr, "blink: %s\nRun with --help for the options.\n", std::string(usable.message()).c_str());
    return static_cast<int>(ExitCode::kUsage);
  }
  const absl::StatusOr<Simulation> simulation = SimulateWithoutExceptions(options);
  if (!simulation.ok()) {
    std::fprintf(stderr, "blink: %s\n", std::string(simulation.status().message()).c_str());
    // Files and data sets are all it reads: what does not suit is bad input.
    const bool unsuitable = absl::IsDataLoss(simulation.status()) || absl::IsFailedPrecondition(simulation.status());
    return static_cast<int>(unsuitable ? ExitCode::kBadInput : ExitCodeFor(simulation.status()));
  }
  const nlohmann::ordered_json json = SimulationJson(*simulation, PeakRssBytes());
  std::printf("%s", (flags.json ? json.dump(2) + "\n" : SimulationTable(json)).c_str());
  return 0;
}

}  // namespace

void AddSimulateCommand(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  SimulateOptions& options = flags->options;
  CLI::App* command = app.add_subcommand(
      "simulate", "Privatise a data set, estimate its links and train, in one process without a network (for research)");
  command->add_option("--dataset", options.dataset, "Data-set folder, with its links")->required();
  command->add_option("--epsilon", options.epsilon,
                      "Budget of a report, (0, 50]; not needed with --graph true, --reports or --model mlp");
  command->add_option("--degree-share", options.degree_share, "Share of the budget that pays for the degree, 0 .. 1 (0.1)");
  command->add_option_function<std::string>("--variant", [](const std::string&) {}, "How links are taken from the posterior (hard)")
      ->check(CLI::IsMember({"hard"}));
  command->add_option("--model", flags->model, "gcn or mlp, the bound without links (gcn)")->check(CLI::IsMember({"gcn", "mlp"}));
  command
      ->add_option_function<std::string>(
          "--graph",
          [flags](const std::string& graph) {
            flags->options.graph = graph == "true" ? SimulatedGraph::kTrue : SimulatedGraph::kBlink;
          },
          "blink, or true: the bound with all links, NOT PRIVATE (blink)")
      ->check(CLI::IsMember({"blink", "true"}));
  command->add_option("--trials", options.trials, "Trials; trial t draws anew and trains with seed + t (5; 1 with --reports)");
  command->add_option("--seed", options.seed, "Seed of initialisation and dropout (1, or the round's)")
      ->check(RealIn("0 .. 18446744073709551615", [](double value) { return value >= 0; }));
  command->add_option("--learning-rate", flags->learning_rate, "Of Adam, (0, 10] (0.01)")
      ->check(RealIn("(0, 10]", [](double value) { return value > 0 && value <= 10; }));
  command->add_option("--weight-decay", flags->weight_decay, "L2, 0 .. 1 (0.0001)")
      ->check(RealIn("0 .. 1", [](double value) { return value >= 0 && value <= 1; }));
  command->add_option("--dropout", flags->dropout, "Between the layers, [0, 1) (0.1)")
      ->check(RealIn("[0, 1)", [](double value) { return value >= 0 && value < 1; }));
  command->add_option("--epochs", flags->epochs, "1 .. 100,000 (300)")->check(CLI::Range(1, 100'000));
  command->add_option("--hidden", flags->hidden, "Width of the hidden layer, 1 .. 4096 (16)")->check(CLI::Range(1, 4096));
  command->add_option("--device", flags->device, "auto, cpu or cuda:<index> (auto)")
      ->check(CLI::Validator(CheckDevice, ""));
  command->add_flag("--cpu-when-out-of-memory", flags->cpu_when_out_of_memory, "Go on on the CPU when the GPU's memory does not suffice");
  command->add_option("--threads", options.threads, "Threads (0: all cores)")->check(CLI::Range(0, 1024));
  command->add_option("--reports", options.reports, "Replay a round folder (round.json, reports.blr) with the round's training parameters");
  command
      ->add_option_function<std::string>(
          "--implausible",
          [flags](const std::string& policy) {
            flags->options.implausible = policy == "drop"   ? v1::IMPLAUSIBLE_DROP
                                         : policy == "keep" ? v1::IMPLAUSIBLE_KEEP
                                                            : v1::IMPLAUSIBLE_FLAG;
          },
          "Reports that can hardly be an honest node's: flag, drop or keep (flag, or the round's)")
      ->check(CLI::IsMember({"flag", "drop", "keep"}));
  command->add_option("--output", options.output, "Write the first trial's result folder, as the worker of a round does");
  command->add_flag("--insecure-seeded-noise", options.insecure_seeded_noise, "NOT PRIVATE: draw the noise from the seed");
  command->add_flag("--json", flags->json, "Print one JSON object");
  command->add_flag_callback("--quiet", [flags] { flags->options.progress = false; }, "Show no progress");
  command->callback([flags, &exit_code] { exit_code = Run(*flags); });
}

}  // namespace blink
