#include "common/wire/training_choices.h"

#include "absl/strings/str_cat.h"

namespace blink {

absl::Status CheckTrainingNumbers(const TrainingNumbers& numbers, absl::string_view prefix) {
  struct Check {
    const char* name;
    double value;
    bool in_range;  // false for NaN
    const char* range;
  };
  const double rate = numbers.learning_rate, decay = numbers.weight_decay, dropout = numbers.dropout;
  const auto within = [](int64_t value, int64_t min, int64_t max) { return value >= min && value <= max; };
  const Check checks[] = {
      {"learning_rate", rate, rate >= 1e-9 && rate <= 10, "[1e-9, 10]"},
      {"weight_decay", decay, decay >= 0 && decay <= 1, "[0, 1]"},
      {"dropout", dropout, dropout >= 0 && dropout < 1, "[0, 1)"},
      {"epochs", static_cast<double>(numbers.epochs), within(numbers.epochs, 1, 100'000), "1 .. 100,000"},
      {"hidden", static_cast<double>(numbers.hidden), within(numbers.hidden, 1, 4096), "1 .. 4096"},
      {"layers", static_cast<double>(numbers.layers), within(numbers.layers, 1, 8), "1 .. 8"},
      {"patience", static_cast<double>(numbers.patience), within(numbers.patience, 0, 100'000), "0 .. 100,000"},
      {"batch_nodes", static_cast<double>(numbers.batch_nodes), within(numbers.batch_nodes, 0, 10'000'000),
       "0 .. 10,000,000"},
  };
  for (const Check& check : checks) {
    if (check.in_range) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(prefix, check.name, " is ", check.value, ", but must be in ", check.range));
  }
  return absl::OkStatus();
}

absl::Status CheckFanOut(absl::Span<const uint64_t> fan_out, int64_t batch_nodes, int64_t layers,
                         absl::string_view prefix) {
  if (batch_nodes == 0) {
    if (fan_out.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(prefix,
                     "fan_out is set, but nothing is sampled without batches: say how many training nodes a "
                     "batch has (batch_nodes, --batch-nodes 1024), or leave it out"));
  }
  for (const uint64_t links : fan_out) {
    if (links >= 1 && links <= 1'000'000) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(prefix, "fan_out has ", links, ", but each of its numbers must be in 1 .. 1,000,000"));
  }
  if (static_cast<int64_t>(fan_out.size()) == layers) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(prefix, "fan_out has ", fan_out.size(),
                                                 fan_out.size() == 1 ? " number" : " numbers", ", but there are ",
                                                 layers, " layers: give one number for each, or leave it out"));
}

NodeFeatures ResolveNodeFeatures(NodeFeatures asked, bool given_exist, uint32_t nodes) {
  if (asked != NodeFeatures::kAuto) return asked;
  if (given_exist) return NodeFeatures::kGiven;
  return nodes <= kIdentityNodesMax ? NodeFeatures::kIdentity : NodeFeatures::kDegree;
}

absl::Status CheckNodeFeatures(Model model, NodeFeatures kind, bool given_exist, uint32_t nodes,
                               absl::string_view prefix) {
  const NodeFeatures used = ResolveNodeFeatures(kind, given_exist, nodes);
  if ((used == NodeFeatures::kGiven || used == NodeFeatures::kGivenAndDegree) && !given_exist) {
    return absl::InvalidArgumentError(absl::StrCat(prefix, "node_features is ", NodeFeaturesName(kind),
                                                   ", but there are no node features: add features.npz or features.npy "
                                                   "beside labels.csv, or let one feature per node (identity)",
                                                   model == Model::kMlp ? "" : " or the estimated degree (degree)",
                                                   " stand for them"));
  }
  if (model != Model::kMlp || (used != NodeFeatures::kDegree && used != NodeFeatures::kGivenAndDegree)) {
    return absl::OkStatus();
  }
  if (kind == NodeFeatures::kAuto) {
    return absl::InvalidArgumentError(absl::StrCat(prefix,
                                                   "model is mlp and there are no node features, and the MLP sees no "
                                                   "link that a degree could be taken from: choose a "
                                                   "model that sees links, or identity features"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(prefix, "node_features is ", NodeFeaturesName(kind),
                   " and model is mlp, but the MLP sees no link, so the degree cannot be its feature: choose ",
                   given_exist ? "given or " : "", "identity features, or a model that sees links"));
}

}  // namespace blink
