#include "common/cli/training_flags.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/cli/strict_numbers.h"
#include "common/cli/suggestion.h"
#include "common/wire/training_choices.h"
#include "common/wire/training_spec.h"

namespace blink {

namespace {

std::vector<std::string> NamesOf(absl::Span<const char* const> names) { return {names.begin(), names.end()}; }

void AddModels(CLI::App* command, TrainingKind kind, TrainingFlags& flags) {
  constexpr char kPrior[] =
      "What is believed of a pair before its bits: beta (by the degrees), or attributed (also by features or labels, "
      "which are public: docs/TUNING.md";
  constexpr char kVariant[] = "Links from the posterior: hard, soft or hybrid (hard";
  CLI::Option* const prior = command->add_option("--prior", flags.prior);
  CLI::Option* const variant = command->add_option("--variant", flags.variant);
  CLI::Option* const model = command->add_option("--model", flags.model);
  prior->transform(OneOf(NamesOf(kPriorNames)));
  variant->transform(OneOf(NamesOf(kVariantNames)));
  if (kind == TrainingKind::kOneOfLinks) {
    prior->description(absl::StrCat(kPrior, ") (beta)"));
    variant->description(absl::StrCat(kVariant, ")"));
    model->description("gcn, graphsage or gat (gcn)")
        ->transform(OneOf({ModelName(Model::kGcn), ModelName(Model::kGraphSage), ModelName(Model::kGat)}));
    return;
  }
  prior->description(absl::StrCat(kPrior, "; searches unless --tune 0) (beta)"));
  variant->description(absl::StrCat(kVariant, "; hybrid with --model none)"));
  model
      ->description(
          "gcn, graphsage, gat, or mlp: the bound without links; with the attributed prior also stacked and "
          "class-model; none: train nothing, the result has links and degrees (gcn)")
      ->transform(OneOf(NamesOf(absl::MakeSpan(kModelNames).subspan(0, kModelsToAskFor))));
}

// On the wire 0 stands for the default: asked for by name it is out of range.
absl::Status CheckNumbers(const TrainingFlags& flags) {
  const auto whole = [](const std::optional<uint64_t>& given, int64_t otherwise) {
    return given ? static_cast<int64_t>(std::min<uint64_t>(*given, std::numeric_limits<int64_t>::max())) : otherwise;
  };
  const TrainingNumbers defaults;
  return NamingTheFlag(CheckTrainingNumbers({.learning_rate = flags.learning_rate.value_or(defaults.learning_rate),
                                             .weight_decay = flags.weight_decay.value_or(defaults.weight_decay),
                                             .dropout = flags.dropout.value_or(defaults.dropout),
                                             .epochs = whole(flags.epochs, defaults.epochs),
                                             .hidden = whole(flags.hidden, defaults.hidden),
                                             .layers = whole(flags.layers, defaults.layers),
                                             .patience = whole(flags.patience, defaults.patience),
                                             .batch_nodes = whole(flags.batch_nodes, defaults.batch_nodes)},
                                            "training."));
}

absl::StatusOr<uint32_t> ParseCandidates(const std::string& text) {
  const std::optional<uint64_t> candidates = ParseWholeNumber(text);
  if (!candidates || *candidates > kCandidatesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--tune is '", text, "', but must be a whole number in 1 .. 1,000, or 0 to search nothing"));
  }
  return static_cast<uint32_t>(*candidates);
}

}  // namespace

void TrainingFlags::AddTo(CLI::App* command, TrainingKind kind) {
  AddModels(command, kind, *this);
  command->add_option("--learning-rate", learning_rate, "Of Adam, 1e-9 .. 10 (0.01)");
  command->add_option("--weight-decay", weight_decay, "L2, 0 .. 1 (0.0001)");
  command->add_option("--dropout", dropout, "Between the layers, [0, 1) (0.1)");
  command->add_option("--epochs", epochs, "1 .. 100,000 (300)");
  command->add_option("--hidden", hidden, "Width of the layers but the last, 1 .. 4096 (16)");
  command->add_option("--layers", layers, "1 .. 8 (2)");
  command->add_option("--patience", patience,
                      "End after so many epochs without a lower validation loss (0: not before --epochs)");
  command->add_option(
      "--batch-nodes", batch_nodes,
      "Take a step for every so many training nodes, on links sampled around them; not on Soft links (0: "
      "a step an epoch, on all nodes)");
  command
      ->add_option("--fan-out", fan_out,
                   absl::StrCat("With --batch-nodes: links to sample of a node, from the batch outwards, a number for "
                                "each layer, such as 25,10 (",
                                kFanOutDefault, " each)"))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("A,B")
      ->check(CLI::Validator(
          [](std::string& text) {
            return ParseWholeNumber(text) ? std::string()
                                          : absl::StrCat(text, " is not a whole number from 1 to 1,000,000");
          },
          ""));
  balance_classes.option = command->add_flag("--balance-classes", balance_classes.value,
                                             "Weigh the training loss by the inverse frequency of the classes");
  command
      ->add_option(
          "--node-features", node_features,
          "given, degree, identity or given+degree (given; without any, identity, beyond 100,000 nodes degree)")
      ->transform(OneOf(NamesOf(absl::MakeSpan(kNodeFeaturesNames).subspan(1))));
  deterministic.option = command->add_flag(
      "--deterministic", deterministic.value,
      "On a GPU: deterministic algorithms where there are, which are slower; a CPU is deterministic always");
  allow_slow_attention.option = command->add_flag(
      "--allow-slow-attention", allow_slow_attention.value,
      "Train GAT on Soft links even where the attention of all pairs of nodes takes more than an hour of one core");
  command->add_option("--device", device, "auto, cpu, cuda or cuda:<index> (auto)")
      ->transform(CLI::Validator(
          [](std::string& text) {
            text = absl::AsciiStrToLower(text);
            if (text == "cuda" || text == "gpu") text = "cuda:0";
            return std::string();  // Spec says what else there is
          },
          ""));
  CLI::Option* const search =
      command
          ->add_option(
              "--tune", tune,
              absl::StrCat(
                  "Train at most so many candidates (", kCandidatesDefault,
                  ") on the same reports and keep the one that validates best: searches variant, model, "
                  "learning rate, weight decay and dropout where they are not given; 1 .. 1,000, or 0: search nothing"))
          ->expected(0, 1)
          ->default_str(absl::StrCat(kCandidatesDefault))  // what --tune alone stands for, and an empty value does not
          ->option_text("[N]");
  tune_option = search;
  CLI::Option* const chosen_by = command->add_option(
      "--score", score,
      "What a search chooses by on the validation nodes, beside the loss: accuracy, macro-f1 (f1) or "
      "roc-auc (auc); the last two heed small classes (accuracy)");
  chosen_by->transform(OneOf(
      NamesOf(kMeasureNames),
      {{"acc", "accuracy"}, {"f1", "macro-f1"}, {"f1-macro", "macro-f1"}, {"auc", "roc-auc"}, {"auroc", "roc-auc"}}));
  if (kind == TrainingKind::kAny) return;
  for (CLI::Option* const option : {search, chosen_by}) option->group("");  // not in the help, and refused with why
}

TimeLeft TimeLeftOfTraining(const v1::TrainingSpec& spec) {
  return spec.candidates() == 0 ? TimeLeft::kInText : TimeLeft::kFromPace;
}

absl::Status NamingTheFlag(const absl::Status& status) {
  constexpr size_t kPrefix = sizeof("training.") - 1;
  std::string message(status.message());
  if (status.ok() || message.compare(0, kPrefix, "training.") != 0) return status;
  const size_t end = std::min(message.find_first_of(" :"), message.size());
  std::string flag = message.substr(kPrefix, end - kPrefix);
  std::replace(flag.begin(), flag.end(), '_', '-');
  if (flag == "candidates") flag = "tune";
  return absl::Status(status.code(), absl::StrCat("--", flag, message.substr(end)));
}

absl::StatusOr<v1::TrainingSpec> TrainingFlags::Spec() const {
  v1::TrainingSpec spec;
  if (prior) spec.set_prior(*PriorOfName(*prior));
  if (variant) spec.set_variant(*VariantOfName(*variant));
  if (model) spec.set_model(*ModelOfName(*model));
  if (node_features) spec.set_node_features(*NodeFeaturesOfName(*node_features));
  if (score) spec.set_score(*MeasureOfName(*score));
  BLINK_RETURN_IF_ERROR(CheckNumbers(*this));
  if (learning_rate) spec.set_learning_rate(*learning_rate);
  if (weight_decay) spec.set_weight_decay(*weight_decay);
  if (dropout) spec.set_dropout(*dropout);
  if (epochs) spec.set_epochs(static_cast<uint32_t>(*epochs));
  if (hidden) spec.set_hidden(static_cast<uint32_t>(*hidden));
  if (layers) spec.set_layers(static_cast<uint32_t>(*layers));
  if (patience) spec.set_patience(static_cast<uint32_t>(*patience));
  if (batch_nodes) spec.set_batch_nodes(static_cast<uint32_t>(*batch_nodes));
  for (const uint64_t links : fan_out) {
    spec.add_fan_out(static_cast<uint32_t>(std::min<uint64_t>(links, std::numeric_limits<uint32_t>::max())));
  }
  if (balance_classes.given()) spec.set_balance_classes(balance_classes.value);
  if (deterministic.given()) spec.set_deterministic(deterministic.value);
  if (allow_slow_attention.given()) spec.set_allow_slow_attention(allow_slow_attention.value);
  if (device) spec.set_device(*device);
  if (tune_option != nullptr && tune_option->count() > 0) {
    BLINK_ASSIGN_OR_RETURN(const uint32_t candidates, ParseCandidates(tune));
    spec.set_candidates(candidates);
  }
  v1::TrainingSpec checked = spec;
  // A prior that is not given may be that of the round whose reports are trained on again.
  if (checked.prior() == v1::PRIOR_UNSPECIFIED) checked.set_prior(v1::PRIOR_ATTRIBUTED);
  BLINK_RETURN_IF_ERROR(NamingTheFlag(NormalizeTrainingSpec(checked).status()));
  return spec;
}

}  // namespace blink
