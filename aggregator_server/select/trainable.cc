#include "aggregator_server/select/trainable.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "common/base/status_macros.h"
#include "common/wire/training_spec.h"

namespace blink {
namespace {

constexpr char kField[] = "training.";

// What can be had without labels, where links are estimated.
std::string AdviseNoTraining(const v1::TrainingSpec& normal, const TrainingFacts& facts, const TrainingPlace& place) {
  if (!place.estimated) return "";
  const bool knows_nothing = normal.prior() == v1::PRIOR_ATTRIBUTED && facts.features == 0;
  return absl::StrCat("; links and degrees alone (", knows_nothing ? "--prior beta " : "",
                      "--model none, without other options of a training) need no label");
}

absl::Status CheckLabels(const v1::TrainingSpec& normal, const TrainingFacts& facts, const TrainingPlace& place) {
  const std::string otherwise = AdviseNoTraining(normal, facts, place);
  if (facts.labelled_train == 0 && facts.labelled == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("no node has a label, so no model can be trained: add labels.csv and split.csv", otherwise));
  }
  if (facts.labelled_train == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("no labelled node is in the training split, so there is nothing to train on: label some of its "
                     "nodes in labels.csv, or give labelled nodes the split \"train\" in split.csv",
                     otherwise));
  }
  if (facts.labelled_validation == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("no labelled node is in the validation split, so the best epoch cannot be chosen: label some of "
                     "its nodes in labels.csv, or give labelled nodes the split \"val\" in split.csv",
                     otherwise));
  }
  return absl::OkStatus();
}

absl::Status CheckDevice(const std::string& device, const std::optional<Gpus>& gpus) {
  constexpr size_t kCuda = sizeof("cuda:") - 1;
  int index = 0;
  if (!gpus || device == "auto" || device == "cpu" || !absl::SimpleAtoi(device.substr(kCuda), &index))
    return absl::OkStatus();
  if (index < gpus->count) return absl::OkStatus();
  if (gpus->count == 0) {
    return absl::FailedPreconditionError(absl::StrCat(kField, "device is ", device,
                                                      ", but the machine that trains has no GPU for it (",
                                                      gpus->why_none, "): use auto or cpu"));
  }
  return absl::FailedPreconditionError(absl::StrCat(kField, "device is ", device, ", but the machine that trains has ",
                                                    gpus->count,
                                                    " GPU(s), from cuda:0 on: use one of them, auto or cpu"));
}

absl::Status CheckFeatures(const Candidate& candidate, const TrainingFacts& facts) {
  if (!IsNetwork(candidate.options.model)) return absl::OkStatus();  // it takes none, or makes do without
  return CheckNodeFeatures(candidate.options.model, candidate.options.node_features, facts.features > 0, facts.nodes,
                           kField);
}

absl::Status CheckCost(const Candidate& candidate, const ProblemSize& size, const v1::TrainingSpec& spec,
                       const std::optional<Gpus>& gpus) {
  // Only attention over all pairs is refused where it is asked for by its name, and only on a CPU.
  const bool on_cpu = spec.device() == "cpu" || (spec.device() == "auto" && gpus && gpus->count == 0);
  if (!AttendsAllPairs(candidate) || spec.allow_slow_attention() || !on_cpu) return absl::OkStatus();
  if (NominalSeconds(candidate, size) <= kNominalSecondsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(kField, "model is gat, on soft links: ", ExplainCost(candidate, size)));
}

// Some models belong to the attributed prior.
std::string AdviseBeta(const v1::TrainingSpec& normal) {
  const std::optional<Model> model = FromProto(normal.model());
  return model && NeedsAttributedPrior(*model) ? "use the beta prior and a model of it (--prior beta --model gcn)"
                                               : "use the beta prior (--prior beta)";
}

absl::Status CheckPrior(const v1::TrainingSpec& normal, const TrainingFacts& facts) {
  if (normal.prior() != v1::PRIOR_ATTRIBUTED) return absl::OkStatus();
  if (facts.features == 0 && !facts.has_labels_to_train()) {
    return absl::FailedPreconditionError(absl::StrCat(
        kField, "prior is attributed, but nothing is known of the nodes that it could use: there are no features, and ",
        facts.labelled == 0 ? "no labels" : "no labels both in the training and in the validation split",
        ": add features (features.npz or features.npy), or ", AdviseBeta(normal)));
  }
  const double bytes = facts.dense ? static_cast<double>(facts.nodes) * facts.features * sizeof(float) : 0;
  if (bytes > kScaledBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%sprior is attributed, which makes dense ones of features that are negative somewhere or not "
                        "0 in more than a quarter of all places: "
                        "%d nodes by %d columns would be %.1f GB, and more than %g are not taken: %s, or fewer columns",
                        kField, facts.nodes, facts.features, bytes / 1e9, kScaledBytesMax / 1e9, AdviseBeta(normal)));
  }
  const double seconds = AttributedNominalSeconds(facts.nodes, facts.dense ? facts.features : 0, facts.classes);
  if (seconds <= kNominalSecondsMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "%sprior is attributed, which compares every pair of %d nodes%s: it takes about %.1f hours of one core, and more "
      "than %g are not spent: %s",
      kField, facts.nodes,
      facts.dense ? absl::StrCat(" by ", facts.features, " dense features (negative somewhere, or mostly not 0)") : "",
      seconds / 3600, kNominalSecondsMax / 3600, AdviseBeta(normal)));
}

absl::Status CheckSearch(const v1::TrainingSpec& spec, const TrainingFacts& facts, const TrainingPlace& place,
                         const ProblemSize& size) {
  BLINK_ASSIGN_OR_RETURN(const CandidateGrid grid, CandidateGrid::Create(spec, place.estimated, size));
  absl::Status first;
  for (const Candidate& pair : grid.pairs()) {
    const absl::Status trainable = CheckFeatures(pair, facts);
    if (trainable.ok()) return trainable;
    first.Update(trainable);
  }
  for (const Candidate& pair : grid.too_costly()) {
    first.Update(
        absl::InvalidArgumentError(absl::StrCat(kField, "candidates: all that could be searched is too costly. ",
                                                PairName(pair), ": ", grid.ExplainLeftOut(pair, size))));
  }
  return first;
}

}  // namespace

TrainingFacts FactsOf(const NodeAttributes& attributes) {
  TrainingFacts facts{.nodes = attributes.node_count,
                      .features = attributes.features.cols,
                      .feature_values = attributes.features.values.size(),
                      .classes = attributes.class_count};
  facts.dense = facts.features > 0 && !LooksLikeCounts(attributes.features);
  for (uint32_t i = 0; i < attributes.node_count; ++i) {
    if (attributes.labels[i] < 0) continue;
    ++facts.labelled;
    facts.labelled_train += attributes.split[i] == Split::kTrain ? 1 : 0;
    facts.labelled_validation += attributes.split[i] == Split::kValidation ? 1 : 0;
  }
  return facts;
}

ProblemSize SizeOf(const TrainingFacts& facts) {
  return {.nodes = facts.nodes,
          .feature_values = facts.feature_values,
          .scaled_values = facts.dense ? uint64_t{facts.nodes} * facts.features : facts.feature_values,
          .features_are_dense = facts.features > 0 && facts.feature_values == uint64_t{facts.nodes} * facts.features,
          .classes = facts.classes,
          .labelled_train = facts.labelled_train,
          .labelled_validation = facts.labelled_validation};
}

absl::Status CheckTrainable(const v1::TrainingSpec& spec, const TrainingFacts& facts, const TrainingPlace& place) {
  BLINK_ASSIGN_OR_RETURN(const v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  if (normal.model() == v1::MODEL_NONE) {
    if (place.estimated) return CheckPrior(normal, facts);
    return absl::InvalidArgumentError(absl::StrCat(
        kField, "model is none, but the links are given: there is nothing to estimate and nothing to train"));
  }
  BLINK_RETURN_IF_ERROR(CheckLabels(normal, facts, place));
  BLINK_RETURN_IF_ERROR(CheckDevice(normal.device(), place.gpus));
  BLINK_RETURN_IF_ERROR(CheckPrior(normal, facts));
  ProblemSize size = SizeOf(facts);
  size.flip_probability = place.flip_probability;
  if (normal.candidates() > 0) return CheckSearch(normal, facts, place, size);
  BLINK_ASSIGN_OR_RETURN(Candidate candidate, CandidateFromSpec(normal));
  if (!place.estimated) candidate.variant.reset();
  BLINK_RETURN_IF_ERROR(CheckFeatures(candidate, facts));
  return CheckCost(candidate, size, normal, place.gpus);
}

absl::Status CheckNeedsNoPosterior(const v1::TrainingSpec& spec) {
  if (spec.prior() != v1::PRIOR_ATTRIBUTED) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      kField,
      "prior is attributed, but links are drawn from the answers about groups, and no pair has a posterior: leave it "
      "out"));
}

}  // namespace blink
