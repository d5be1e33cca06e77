#include "aggregator_server/select/train_candidate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "aggregator_server/train/log_probabilities.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

absl::StatusOr<TrainResult> TrainStacked(const Candidate& candidate, const TrainingSources& sources) {
  const bool is_beta = candidate.prior == Prior::kBeta;
  if (sources.attributed == nullptr || (is_beta && !sources.attributed->beta_stacked.has_value())) {
    return absl::InvalidArgumentError(
        absl::StrCat(PairName(candidate), " needs the feature-only classifier and sums over the links of its prior"));
  }
  const StackedInput& input = is_beta ? *sources.attributed->beta_stacked : sources.attributed->stacked;
  BLINK_ASSIGN_OR_RETURN(const std::vector<float> features, StackedFeatures(input, candidate.options.threads));
  const uint32_t width = static_cast<uint32_t>(features.size() / std::max(1u, input.classes->node_count));
  return FitStacked(features, width, *sources.attributes,
                    {.balance_classes = candidate.options.balance_classes, .threads = candidate.options.threads});
}

absl::StatusOr<TrainResult> TrainNetwork(const Candidate& candidate, const TrainingSources& sources) {
  const LinkWeights& weights = sources.weights_of(candidate);
  const NodeFeatures kind = candidate.options.node_features;
  const bool scaled = candidate.prior == Prior::kAttributed && sources.attributed->scaled != nullptr &&
                      (kind == NodeFeatures::kAuto || kind == NodeFeatures::kGiven);
  if (!scaled) return Train(weights, *sources.attributes, candidate.options);
  TrainOptions options = candidate.options;
  options.features_as_they_are = true;
  return Train(weights, *sources.attributed->scaled, options);
}

}  // namespace

absl::StatusOr<TrainResult> TrainCandidate(const Candidate& candidate, const TrainingSources& sources) {
  if (candidate.prior == Prior::kAttributed && sources.attributed == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(PairName(candidate), " needs the estimate of the attributed prior"));
  }
  if (IsNetwork(candidate.options.model)) return TrainNetwork(candidate, sources);
  absl::StatusOr<TrainResult> result =
      absl::InvalidArgumentError(absl::StrCat(PairName(candidate), " is not trained by itself"));
  if (candidate.options.model == Model::kStacked) result = TrainStacked(candidate, sources);
  if (candidate.options.model == Model::kFeatureClassifier) {
    result = ResultOfFeatureClassifier(*sources.attributed->feature_classifier, *sources.attributes,
                                       candidate.options.balance_classes);
  }
  if (result.ok()) {
    result->threads = ThreadsOrCores(candidate.options.threads);
    if (candidate.options.progress) candidate.options.progress(candidate.options.epochs, result->validation_loss);
  }
  return result;
}

TrainResult EnsembleResult(const std::vector<const Candidate*>& candidates,
                           const std::vector<const TrainResult*>& members, const NodeAttributes& attributes) {
  std::vector<const std::vector<float>*> logits;
  for (const TrainResult* member : members) logits.push_back(&member->logits);
  TrainResult result = ResultOfLogProbabilities(LogOfMeanProbabilities(logits, attributes.class_count), attributes,
                                                candidates[0]->options.balance_classes);
  for (size_t k = 0; k < members.size(); ++k) {
    const TrainResult& member = *members[k];
    for (NamedValues named : member.state) {
      named.name = absl::StrCat(absl::StrReplaceAll(PairName(*candidates[k]), {{" ", "_"}}), ".", named.name);
      result.state.push_back(std::move(named));
    }
    result.deterministic &= member.deterministic;
    result.fell_back_to_cpu |= member.fell_back_to_cpu;
    if (IsNetwork(candidates[k]->options.model)) {
      result.device = member.device;
      if (result.feature_count == 0) {
        result.feature_count = member.feature_count;
        result.node_features = member.node_features;
      }
    }
    for (const std::string& warning : member.warnings) {
      if (std::find(result.warnings.begin(), result.warnings.end(), warning) == result.warnings.end())
        result.warnings.push_back(warning);
    }
  }
  return result;
}

}  // namespace blink
