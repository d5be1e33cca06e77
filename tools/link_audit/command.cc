#include "tools/link_audit/command.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/exit_code.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/training_flags.h"
#include "tools/command_line.h"

namespace blink {
namespace {

struct Flags {
  LinkAuditRequest request;  // without what the next ones say
  std::vector<std::string> epsilon;
  std::optional<std::string> degree_share;
  TrainingFlags training;
};

constexpr char kMeaning[] =
    "This is a measure and no proof. It says how well the attacks that are named work on this graph: a low AUC does\n"
    "not say that no other attack works better. It reads the true links of a data set that you own, and belongs on a\n"
    "researcher's machine: never run it on a node or an aggregator.\n"
    "\n"
    "What the features of a population tell about its links is bounded by no epsilon: differential privacy bounds\n"
    "what a report adds. Compare with the rows of features-only, which see no report and no link.\n";

absl::StatusOr<LinkAuditOptions> OptionsOf(const Flags& flags) {
  LinkAuditOptions options = flags.request.options;
  if (!flags.epsilon.empty()) {
    options.epsilon_micro.clear();
    for (const std::string& text : flags.epsilon) {
      BLINK_ASSIGN_OR_RETURN(const uint64_t micro, ParseEpsilon("--epsilon", text));
      options.epsilon_micro.push_back(micro);
    }
  }
  if (flags.degree_share) {
    BLINK_ASSIGN_OR_RETURN(options.degree_share_ppm, ParseDegreeShare("--degree-share", *flags.degree_share));
  }
  BLINK_ASSIGN_OR_RETURN(options.training, flags.training.Spec());
  BLINK_RETURN_IF_ERROR(ValidateLinkAuditOptions(options));
  return options;
}

}  // namespace

void AddLinkAuditCommand(CLI::App& app, std::function<int()>* run, LinkAuditRunner runner) {
  auto flags = std::make_shared<Flags>();
  LinkAuditOptions& options = flags->request.options;
  CLI::App* command = app.get_subcommand("audit")->add_subcommand(
      "links",
      "Attack single links of a data set that you own: with the posterior, with the predictions of the models, and by "
      "influence, beside a model without privacy and one of the features alone");
  command->add_option("--dataset", options.dataset, "Data-set folder, with its links")->required()->check(NotEmpty());
  command
      ->add_option("--epsilon", flags->epsilon,
                   "Budgets of a report, for one entry of one list, (0, 50], with commas (1,2,4,8)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--degree-share", flags->degree_share,
                      "Share of the budget that pays for the degree, 0 .. 1 (by epsilon and prior: docs/TUNING.md)");
  flags->training.AddTo(command, TrainingKind::kOneOfLinks);
  command->add_option("--trials", options.trials, "Trials; trial t draws anew and trains with seed + t (5)");
  command->add_option("--seed", options.seed, "Seed of initialisation, dropout and samples of nodes (1)");
  command->add_option("--influence-nodes", options.influence_nodes,
                      "Nodes of each group whose features are changed, one after the other, to see which predictions "
                      "change (500)");
  command->add_option("--split-seed", options.split_seed,
                      "Draw a split of the labelled nodes by this seed, 50/25/25 %, in place of the data set's");
  command->add_option("--threads", options.threads, "Threads (0: all cores)")->check(CLI::Range(0, 1024));
  command->add_flag("--ignore-memory", options.ignore_memory,
                    "Start even where it needs more memory than the machine has free");
  command->add_flag("--insecure-seeded-noise", options.insecure_seeded_noise,
                    "NOT PRIVATE: draw the noise from the seed");
  command->add_flag("--json", flags->request.json, "Print one JSON object");
  flags->request.file.AddTo(command);
  command->add_flag_callback(
      "--quiet", [flags] { flags->request.options.progress = false; }, "Show no progress");
  command->footer(absl::StrCat(kMeaning, "\n", ExitCodeTable()));
  command->callback([flags, run, runner = std::move(runner)] {
    *run = [flags, runner] {
      LinkAuditRequest request = flags->request;
      const absl::StatusOr<LinkAuditOptions> options = OptionsOf(*flags);
      if (!options.ok()) return FinishWrongFlags(options.status());
      request.options = *options;
      return runner(request);
    };
  });
}

}  // namespace blink
