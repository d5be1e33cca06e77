#include "common/flags/training_flags.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/training/training_choices.h"
#include "common/wire/training_spec.h"

namespace blink {

namespace {

std::vector<std::string> NamesOf(absl::Span<const char* const> names) { return {names.begin(), names.end()}; }

}  // namespace

void TrainingFlags::AddTo(CLI::App* command) {
  command->add_option("--variant", variant, "Links from the posterior: hard, soft or hybrid (hard)")
      ->check(CLI::IsMember(NamesOf(kVariantNames)));
  command->add_option("--model", model, "gcn, graphsage, gat, or mlp: the bound without links (gcn)")
      ->check(CLI::IsMember(NamesOf(kModelNames)));
  command->add_option("--learning-rate", learning_rate, "Of Adam, (0, 10] (0.01)");
  command->add_option("--weight-decay", weight_decay, "L2, 0 .. 1 (0.0001)");
  command->add_option("--dropout", dropout, "Between the layers, [0, 1) (0.1)");
  command->add_option("--epochs", epochs, "1 .. 100,000 (300)");
  command->add_option("--hidden", hidden, "Width of the layers but the last, 1 .. 4096 (16)");
  command->add_option("--layers", layers, "1 .. 8 (2)");
  command->add_option("--patience", patience,
                      "End after so many epochs without a lower validation loss (0: not before --epochs)");
  balance_classes.option = command->add_flag("--balance-classes", balance_classes.value,
                    "Weigh the training loss by the inverse frequency of the classes");
  command
      ->add_option("--node-features", node_features,
                   "given, degree, identity or given+degree (given; without any, identity, beyond 100,000 nodes degree)")
      ->check(CLI::IsMember(NamesOf(absl::MakeSpan(kNodeFeaturesNames).subspan(1))));
  deterministic.option = command->add_flag("--deterministic", deterministic.value,
                    "On a GPU: deterministic algorithms where there are, which are slower; a CPU is deterministic always");
  allow_slow_attention.option = command->add_flag("--allow-slow-attention", allow_slow_attention.value,
                    "Train GAT on Soft links even where the attention of all pairs of nodes takes more than an hour of one core");
  command->add_option("--device", device, "auto, cpu or cuda:<index> (auto)");
  tune_option =
      command
          ->add_option(
              "--tune", tune,
              absl::StrCat("Train at most so many candidates (", kCandidatesDefault,
                           ") on the same reports and keep the one that validates best: searches variant, model, "
                           "learning rate, weight decay and dropout where they are not given; 0: search nothing"))
          ->expected(0, 1);
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
  if (variant) spec.set_variant(*VariantOfName(*variant));
  if (model) spec.set_model(*ModelOfName(*model));
  if (node_features) spec.set_node_features(*NodeFeaturesOfName(*node_features));
  // On the wire 0 stands for the default: asked for by name it is a mistake.
  if (learning_rate && *learning_rate == 0) return absl::InvalidArgumentError("--learning-rate must be above 0");
  if (epochs && *epochs == 0) return absl::InvalidArgumentError("--epochs must be above 0");
  if (hidden && *hidden == 0) return absl::InvalidArgumentError("--hidden must be above 0");
  if (layers && *layers == 0) return absl::InvalidArgumentError("--layers must be above 0");
  if (learning_rate) spec.set_learning_rate(*learning_rate);
  if (weight_decay) spec.set_weight_decay(*weight_decay);
  if (dropout) spec.set_dropout(*dropout);
  if (epochs) spec.set_epochs(*epochs);
  if (hidden) spec.set_hidden(*hidden);
  if (layers) spec.set_layers(*layers);
  if (patience) spec.set_patience(*patience);
  if (balance_classes.given()) spec.set_balance_classes(balance_classes.value);
  if (deterministic.given()) spec.set_deterministic(deterministic.value);
  if (allow_slow_attention.given()) spec.set_allow_slow_attention(allow_slow_attention.value);
  if (device) spec.set_device(*device);
  if (tune_option != nullptr && tune_option->count() > 0) {
    uint32_t candidates = kCandidatesDefault;
    if (!tune.empty() && !absl::SimpleAtoi(tune, &candidates)) {
      return absl::InvalidArgumentError(absl::StrCat("--tune: '", tune, "' is not from 0 to 1,000"));
    }
    spec.set_candidates(candidates);
  }
  BLINK_RETURN_IF_ERROR(NamingTheFlag(NormalizeTrainingSpec(spec).status()));
  return spec;
}

}  // namespace blink
