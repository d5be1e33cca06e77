#include "tools/simulate/command.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/result_files.h"
#include "common/cli/suggestion.h"
#include "common/cli/training_flags.h"
#include "tools/command_line.h"

namespace blink {
namespace {

struct Flags {
  SimulateRequest request;  // without what the next ones say
  std::optional<std::string> epsilon, degree_share;
  TrainingFlags training;
  std::string on_out_of_memory, mechanism;
};

absl::StatusOr<SimulateOptions> OptionsOf(const Flags& flags) {
  SimulateOptions options = flags.request.options;
  if (flags.epsilon) {
    BLINK_ASSIGN_OR_RETURN(options.epsilon_micro, ParseEpsilon("--epsilon", *flags.epsilon));
  }
  if (flags.degree_share) {
    BLINK_ASSIGN_OR_RETURN(options.degree_share_ppm, ParseDegreeShare("--degree-share", *flags.degree_share));
  }
  BLINK_ASSIGN_OR_RETURN(options.training, flags.training.Spec());
  options.mechanism = MechanismOfName(flags.mechanism).value_or(MechanismKind::kBlink);
  if (!flags.on_out_of_memory.empty()) {
    options.training.set_out_of_memory(flags.on_out_of_memory == "cpu" ? v1::OUT_OF_MEMORY_CPU
                                                                       : v1::OUT_OF_MEMORY_FAIL);
  }
  BLINK_RETURN_IF_ERROR(ValidateSimulateOptions(options));
  return options;
}

}  // namespace

void AddSimulateCommand(CLI::App& app, std::function<int()>* run, SimulateRunner runner) {
  auto flags = std::make_shared<Flags>();
  SimulateOptions& options = flags->request.options;
  CLI::App* command = app.add_subcommand(
      "simulate",
      "Privatise a data set, estimate its links and train, in one process without a network (for research)");
  command->add_option("--dataset", options.dataset, "Data-set folder, with its links")->required();
  command->add_option("--epsilon", flags->epsilon,
                      "Budget of a report, for one entry of one list, (0, 50]; not needed with --graph true, "
                      "--reports, --links or --model mlp");
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
            flags->request.options.graph = graph == "true" ? SimulatedGraph::kTrue : SimulatedGraph::kBlink;
          },
          "blink, or true: the bound with all links, for any --prior, NOT PRIVATE (blink)")
      ->transform(OneOf({"blink", "true"}));
  std::vector<std::string> mechanisms;
  for (const MechanismFacts& facts : kMechanisms) mechanisms.emplace_back(facts.name);
  command
      ->add_option("--mechanism", flags->mechanism,
                   "How the links are kept private: blink, or another to compare with (mechanisms/README.md): rr, "
                   "symrr, ldpgcn, dprr, ldpgen, solitude, one-end; none, mlp and features-only are bounds (blink)")
      ->transform(OneOf(std::move(mechanisms)));
  command->add_option("--solitude-rate", options.solitude.rate,
                      "Of solitude: learning rate of the links, (0, 10] (0.01)");
  command->add_option("--solitude-closeness", options.solitude.closeness,
                      "Of solitude: what a distance from the reported links costs, lambda 1, [0, 1000] (0.01)");
  command->add_option("--solitude-sparsity", options.solitude.sparsity,
                      "Of solitude: what the weight of the links costs, lambda 2, [0, 1000] (0.0001)");
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
            flags->request.options.implausible = policy == "drop"   ? v1::IMPLAUSIBLE_DROP
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
  command
      ->add_option("--save-reports", options.save_reports,
                   "Keep the reports of every trial in this folder, which must be absent or empty, as --reports reads "
                   "them. Its mode becomes 0700")
      ->check(NotEmpty());
  command
      ->add_option("--links", options.links,
                   "Train on these links and draw no report: a symmetric matrix of n x n that scipy.sparse.save_npz "
                   "wrote. Values other than 1 are weights. NOT PRIVATE unless the links are")
      ->check(NotEmpty());
  command->add_option("--split-seed", options.split_seed,
                      "Draw a split of the labelled nodes by this seed, 50/25/25 %, in place of the data set's");
  command->add_flag("--ignore-memory", options.ignore_memory,
                    "Start even where it needs more memory than the machine has free");
  command->add_flag("--insecure-seeded-noise", options.insecure_seeded_noise,
                    "NOT PRIVATE: draw the noise from the seed");
  command->add_flag("--json", flags->request.json, "Print one JSON object");
  flags->request.file.AddTo(command, "--save");
  command->footer(absl::StrCat(ResultFilesText(), "\n", ExitCodeTable()));
  command->add_flag_callback(
      "--quiet", [flags] { flags->request.options.progress = false; }, "Show no progress");
  command->callback([flags, run, runner] {
    *run = [flags, runner] {
      SimulateRequest request = flags->request;
      const absl::StatusOr<SimulateOptions> options = OptionsOf(*flags);
      if (!options.ok()) return FinishWrongFlags(options.status());
      request.options = *options;
      return runner(request);
    };
  });
}

}  // namespace blink
