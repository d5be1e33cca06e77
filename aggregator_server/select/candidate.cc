#include "aggregator_server/select/candidate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/wire/training_spec.h"

namespace blink {

bool TakesVariant(Model model) { return model != Model::kMlp && model != Model::kFeatureClassifier; }

bool ReadsReports(const Candidate& candidate) {
  if (candidate.options.model != Model::kEnsemble) return TakesVariant(candidate.options.model);
  return std::any_of(candidate.members.begin(), candidate.members.end(), [](const std::string& member) {
    return member != ModelName(Model::kMlp) && member != ModelName(Model::kFeatureClassifier);
  });
}

Candidate MakeCandidate(const v1::TrainingSpec& normal, Prior prior, Model model, Variant variant) {
  Candidate candidate;
  TrainOptions& options = candidate.options;
  options.model = model;
  // The MLP is the same under both.
  candidate.prior = model == Model::kMlp ? Prior::kBeta : prior;
  if (TakesVariant(model)) candidate.variant = model == Model::kStacked ? Variant::kSoft : variant;
  options.learning_rate = normal.learning_rate();
  options.weight_decay = normal.weight_decay();
  options.dropout = normal.dropout();
  options.epochs = static_cast<int>(normal.epochs());
  if (normal.hidden() > 0) options.hidden = static_cast<int>(normal.hidden());
  options.layers = static_cast<int>(normal.layers());
  options.patience = static_cast<int>(normal.patience());
  if (IsNetwork(model)) {
    options.batch_nodes = normal.batch_nodes();
    options.fan_out.assign(normal.fan_out().begin(), normal.fan_out().end());
  }
  options.balance_classes = normal.balance_classes();
  options.deterministic = normal.deterministic();
  options.node_features = FromProto(normal.node_features()).value_or(options.node_features);
  options.seed = normal.seed();
  options.device = normal.device();
  options.cpu_when_out_of_memory = normal.out_of_memory() == v1::OUT_OF_MEMORY_CPU;
  return candidate;
}

std::string PairName(const Candidate& candidate) {
  return absl::StrCat(
      ModelName(candidate.options.model), candidate.variant ? " " : "",
      candidate.variant ? VariantName(*candidate.variant) : "",
      TakesVariant(candidate.options.model) && candidate.prior == Prior::kAttributed ? " attributed" : "");
}

std::string CandidateName(const Candidate& candidate) {
  const TrainOptions& options = candidate.options;
  if (options.model == Model::kEnsemble) return absl::StrCat("mean of ", absl::StrJoin(candidate.members, " + "));
  if (!IsNetwork(options.model)) return PairName(candidate);
  std::string name = absl::StrCat(PairName(candidate), ", learning rate ", options.learning_rate, ", weight decay ",
                                  options.weight_decay, ", dropout ", options.dropout);
  if (candidate.prior == Prior::kAttributed) absl::StrAppend(&name, ", hidden ", options.hidden);
  return name;
}

absl::StatusOr<Candidate> CandidateFromSpec(const v1::TrainingSpec& spec) {
  BLINK_ASSIGN_OR_RETURN(const v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  if (normal.candidates() > 0) return absl::InvalidArgumentError("the training specification asks for a search");
  const Prior prior = FromProto(normal.prior()).value_or(Prior::kBeta);
  const Model model = FromProto(normal.model()).value_or(Model::kGcn);
  return MakeCandidate(normal, prior, model, FromProto(normal.variant()).value_or(Variant::kHard));
}

}  // namespace blink
