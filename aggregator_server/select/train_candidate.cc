#include "aggregator_server/select/train_candidate.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "aggregator_server/select/choice.h"
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

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The options for one fold.
TrainOptions OptionsOfFold(const TrainOptions& options, int fold, const TrainingSources& sources,
                           const std::optional<FoldRace>& race) {
  TrainOptions of_fold = options;
  of_fold.seed = options.seed * kFolds + static_cast<uint64_t>(fold);
  if (race) {
    const Folds& folds = *sources.folds;
    const std::vector<double> of_leader =
        NodeScores(race->leader, folds, *sources.attributes, race->loss_weight, fold, fold + 1);
    of_fold.target =
        TargetScore{.score = Mean(of_leader) - NearScoreOf(of_leader.size()), .loss_weight = race->loss_weight};
  }
  if (!options.checkpoint_file.empty()) {
    of_fold.checkpoint_file =
        absl::StrCat(absl::StripSuffix(options.checkpoint_file, ".checkpoint"), "-fold-", fold + 1, ".checkpoint");
  }
  if (options.progress) {
    of_fold.progress = [fold, &options](int epoch, double loss) {
      options.progress((fold * options.epochs + epoch) / kFolds, loss);
    };
  }
  return of_fold;
}

absl::StatusOr<TrainResult> TrainOneFold(const Candidate& candidate, int fold, const TrainingSources& sources,
                                         const std::optional<FoldRace>& race) {
  Candidate of_fold = candidate;
  of_fold.options = OptionsOfFold(candidate.options, fold, sources, race);
  const NodeAttributes attributes = OfFold(*sources.attributes, *sources.folds, fold);
  TrainingSources sources_of_fold = sources;
  sources_of_fold.attributes = &attributes;
  if (sources.attributed == nullptr || sources.attributed->scaled == nullptr)
    return TrainCandidate(of_fold, sources_of_fold);
  const NodeAttributes scaled = OfFold(*sources.attributed->scaled, *sources.folds, fold);
  AttributedSources attributed = *sources.attributed;
  attributed.scaled = &scaled;
  sources_of_fold.attributed = &attributed;
  return TrainCandidate(of_fold, sources_of_fold);
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

absl::StatusOr<TrainResult> TrainOnFolds(const Candidate& candidate, const TrainingSources& sources,
                                         const std::optional<FoldRace>& race) {
  const Folds& folds = *sources.folds;
  const NodeAttributes& attributes = *sources.attributes;
  const bool balance = candidate.options.balance_classes;
  if (candidate.options.model == Model::kFeatureClassifier) {  // which is of these folds already
    BLINK_ASSIGN_OR_RETURN(TrainResult result, TrainCandidate(candidate, sources));
    TrainResult joined = ResultOfFolds(std::move(result.logits), folds, attributes, balance);
    joined.state = std::move(result.state);
    joined.threads = result.threads;
    return joined;
  }
  std::vector<TrainResult> results;
  std::vector<double> behind;  // the leader, of each node of the folds that are done
  for (int fold = 0; fold < kFolds; ++fold) {
    BLINK_ASSIGN_OR_RETURN(results.emplace_back(), TrainOneFold(candidate, fold, sources, race));
    if (!race) continue;
    std::vector<float> own = results.back().logits;
    LogSoftmaxRows(own, attributes.class_count);
    const std::vector<double> scores = NodeScores(own, folds, attributes, race->loss_weight, fold, fold + 1);
    const std::vector<double> of_leader =
        NodeScores(race->leader, folds, attributes, race->loss_weight, fold, fold + 1);
    for (size_t k = 0; k < scores.size(); ++k) behind.push_back(of_leader[k] - scores[k]);
    if (fold + 1 < kFolds && !(Mean(behind) <= NearScoreOf(behind.size()))) {
      return absl::CancelledError(
          absl::StrFormat("after %d of %d folds its score is %.2f below that of the best "
                          "candidate so far",
                          fold + 1, kFolds, Mean(behind)));
    }
  }
  const int threads = results[0].threads;
  TrainResult joined = JoinFolds(std::move(results), folds, attributes, balance);
  joined.threads = threads;
  return joined;
}

TrainResult EnsembleResult(const std::vector<const Candidate*>& candidates,
                           const std::vector<const TrainResult*>& members, const TrainingSources& sources) {
  const NodeAttributes& attributes = *sources.attributes;
  const bool balance = candidates[0]->options.balance_classes;
  std::vector<const std::vector<float>*> logits;
  for (const TrainResult* member : members) logits.push_back(&member->logits);
  std::vector<float> mean = LogOfMeanProbabilities(logits, attributes.class_count);
  TrainResult result = sources.folds == nullptr ? ResultOfLogProbabilities(std::move(mean), attributes, balance)
                                                : ResultOfFolds(std::move(mean), *sources.folds, attributes, balance);
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
