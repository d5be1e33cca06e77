#include "aggregator_server/select/features_only.h"

#include <algorithm>
#include <utility>

#include "aggregator_server/profiles/nearest.h"
#include "aggregator_server/profiles/node_profiles.h"
#include "aggregator_server/select/trainable.h"
#include "common/base/status_macros.h"
#include "common/wire/training_spec.h"

namespace blink {
namespace {

bool WasTried(const std::vector<Tried>& search, Model model) {
  return std::any_of(search.begin(), search.end(),
                     [&](const Tried& tried) { return tried.candidate.options.model == model; });
}

// The one candidate that trains `model` as `normal` says, with the defaults of what a search leaves open.
absl::StatusOr<Candidate> CandidateOf(v1::TrainingSpec normal, Prior prior, Model model) {
  normal.set_candidates(0);
  normal.clear_score();
  normal.clear_variant();
  if (!IsNetwork(model)) {
    normal.clear_batch_nodes();
    normal.clear_fan_out();
  }
  normal.set_prior(ToProto(prior));
  normal.set_model(ToProto(model));
  return CandidateFromSpec(normal);
}

bool IsCheapToFit(const NodeAttributes& attributes) {
  const TrainingFacts facts = FactsOf(attributes);
  const double bytes = facts.dense ? static_cast<double>(facts.nodes) * facts.features * sizeof(float) : 0;
  return bytes <= kScaledBytesMax &&
         AttributedNominalSeconds(facts.nodes, facts.dense ? facts.features : 0, facts.classes) <= kBesideSecondsMax;
}

}  // namespace

absl::StatusOr<FeatureView> FitOnFeatures(const NodeAttributes& attributes, uint64_t seed, int threads,
                                          const Folds* folds) {
  FeatureView view{.profiles = MakeNodeProfiles(attributes.features, threads)};
  const NearestNodes nearest = FindNearest(view.profiles, kNearestCount, threads, {});
  BLINK_ASSIGN_OR_RETURN(view.classifier,
                         FitFeatureClassifier(attributes, view.profiles,
                                              {.nearest = &nearest, .folds = folds, .seed = seed, .threads = threads}));
  return view;
}

absl::StatusOr<std::optional<Tried>> FindFeaturesOnly(const v1::TrainingSpec& spec, const std::vector<Tried>& search,
                                                      const NodeAttributes& attributes, const FeatureClassifier* fitted,
                                                      const Folds* folds, const TrainingOptions& options) {
  BLINK_ASSIGN_OR_RETURN(const v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  const Prior prior = FromProto(normal.prior()).value_or(Prior::kBeta);
  std::vector<Tried> tried = search;
  AttributedSources attributed;
  BLINK_ASSIGN_OR_RETURN(const CsrGraph no_graph, CsrGraph::FromLinks(attributes.node_count, {}));
  const LinkWeights no_links = LinkWeights::Unweighted(no_graph);
  const TrainingSources sources{.attributes = &attributes,
                                .weights_of = [&](const Candidate&) -> const LinkWeights& { return no_links; },
                                .attributed = &attributed,
                                .folds = folds};
  const auto train = [&](Prior of_model, Model model) -> absl::Status {
    BLINK_ASSIGN_OR_RETURN(Candidate candidate, CandidateOf(normal, of_model, model));
    candidate.options.threads = options.threads;
    const absl::StatusOr<TrainResult> result =
        folds == nullptr ? TrainCandidate(candidate, sources) : TrainOnFolds(candidate, sources, {});
    if (!result.ok()) return IsPassedOver(result.status()) ? absl::OkStatus() : result.status();
    tried.push_back({.candidate = std::move(candidate)});
    FillTried(*result, FromProto(normal.score()), tried.back());
    return absl::OkStatus();
  };
  if (!WasTried(search, Model::kMlp)) BLINK_RETURN_IF_ERROR(train(Prior::kBeta, Model::kMlp));
  std::optional<FeatureView> view;
  if (!WasTried(search, Model::kFeatureClassifier) && (fitted != nullptr || IsCheapToFit(attributes))) {
    if (fitted == nullptr) {
      BLINK_ASSIGN_OR_RETURN(view, FitOnFeatures(attributes, normal.seed(), options.threads, folds));
      fitted = &view->classifier;
    }
    attributed.feature_classifier = fitted;
    BLINK_RETURN_IF_ERROR(train(Prior::kAttributed, Model::kFeatureClassifier));
  }
  const std::optional<size_t> best = BestFeaturesOnly(tried, prior);
  return best ? std::optional<Tried>(std::move(tried[*best])) : std::nullopt;
}

}  // namespace blink
