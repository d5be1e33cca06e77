#include "aggregator_server/worker/analysis.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/plausibility/detection_power.h"
#include "aggregator_server/select/trainable.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"
#include "common/wire/training_spec.h"

namespace blink {

uint64_t TieSeedOfRound(const std::string& round_id) {
  const Digest digest = Sha256Of(absl::StrCat("blink tie seed ", round_id));
  uint64_t seed = 0;
  for (int byte = 0; byte < 8; ++byte) seed = seed << 8 | digest[byte];
  return seed;
}

namespace {

absl::StatusOr<Checks> Check(const ReportSet& reports, const AnalysisOptions& options) {
  const TestOptions test_options{.degree_max = options.degree_max};
  Checks checks;
  checks.policy = options.implausible == v1::IMPLAUSIBLE_UNSPECIFIED ? v1::IMPLAUSIBLE_FLAG : options.implausible;
  checks.false_alarm = test_options.false_alarm;
  BLINK_ASSIGN_OR_RETURN(const ReportTests tests, ReportTests::Create(reports.parameters(), test_options));
  checks.lie_seen_half = FindSmallestLieSeen(tests, 0.5);
  checks.lie_seen_95 = FindSmallestLieSeen(tests, 0.95);
  BLINK_ASSIGN_OR_RETURN(checks.found, TestPlausibility(reports, test_options, options.threads));
  if (checks.policy == v1::IMPLAUSIBLE_DROP) checks.dropped = static_cast<uint32_t>(checks.found.flagged.size());
  if (checks.dropped > 0 && checks.dropped == reports.report_count()) {
    return absl::FailedPreconditionError(
        absl::StrCat("all ", checks.dropped,
                     " reports are implausible, and the round drops such: ask why "
                     "(a round that flags them lists them), before you estimate from them"));
  }
  return checks;
}

// What is to be trained: one candidate, or a search.
struct Plan {
  std::optional<Candidate> one;
  std::optional<CandidateGrid> grid;
  bool Needs(Prior prior, Variant variant) const {
    const auto takes = [&](const Candidate& candidate) {
      return candidate.prior == prior && candidate.variant == variant;
    };
    return one.has_value() ? takes(*one) : std::any_of(grid->pairs().begin(), grid->pairs().end(), takes);
  }
};

absl::StatusOr<Plan> PlanOf(const v1::TrainingSpec& spec, bool estimated, const ProblemSize& size) {
  Plan plan;
  if (spec.candidates() == 0) {
    BLINK_ASSIGN_OR_RETURN(plan.one, CandidateFromSpec(spec));
  } else {
    BLINK_ASSIGN_OR_RETURN(plan.grid, CandidateGrid::Create(spec, estimated, size));
  }
  return plan;
}

absl::StatusOr<TrainedModel> Follow(Plan plan, const ProblemSize& size, const TrainingSources& sources,
                                    const TrainingOptions& options) {
  return plan.one.has_value() ? TrainOne(*plan.one, sources, options)
                              : Search(*std::move(plan.grid), size, sources, options);
}

// Everything of the attributed prior that is not part of the result.
struct Attributed {
  FeatureClassifier feature_classifier;
  std::optional<NodeAttributes> scaled;
  AttributedSources sources;
};

using TellFraction = std::function<void(double fraction, const std::string& text)>;

// Profiles, feature-only classifier, and the estimate, which goes to `analysis`.
absl::StatusOr<Attributed> EstimateUnderAttributed(const ReportSet& reports, const NodeAttributes& attributes,
                                                   uint64_t seed, const Plan& plan, const AnalysisOptions& options,
                                                   const TellFraction& tell, Analysis& analysis) {
  constexpr double kProfiles = 0.05, kNearest = 0.1, kClasses = 0.3;  // shares of the time at which these end, roughly
  Attributed attributed;
  tell(0, "comparing the features of the nodes");
  NodeProfiles profiles = MakeNodeProfiles(attributes.features, options.threads);
  NearestNodes nearest;
  if (options.ingredients.nearest) {
    nearest = FindNearest(profiles, kNearestCount, options.threads, [&](double fraction) {
      tell(kProfiles + (kNearest - kProfiles) * fraction, "finding the nodes that are most alike");
    });
  }
  const auto tell_classes = [&](double fraction) {
    tell(kNearest + (kClasses - kNearest) * fraction, "learning the classes from the features");
  };
  BLINK_ASSIGN_OR_RETURN(
      attributed.feature_classifier,
      FitFeatureClassifier(attributes, profiles,
                           {.nearest = &nearest, .seed = seed, .threads = options.threads, .progress = tell_classes}));
  AttributedOptions estimate_options;
  estimate_options.ingredients = options.ingredients;
  estimate_options.network_rounds = options.network_rounds;
  estimate_options.seed = seed;
  estimate_options.tie_seed = options.tie_seed;
  estimate_options.soft = plan.Needs(Prior::kAttributed, Variant::kSoft);
  estimate_options.hybrid = plan.Needs(Prior::kAttributed, Variant::kHybrid);
  estimate_options.threads = options.threads;
  estimate_options.truth = options.truth;
  estimate_options.progress = [&](double fraction) {
    tell(kClasses + (1 - kClasses) * fraction, "estimating links from bits and attributes");
  };
  BLINK_ASSIGN_OR_RETURN(
      analysis.attributed,
      EstimateAttributed(reports, profiles, attributed.feature_classifier.probabilities, estimate_options));
  if (profiles.scaled.cols == 0) return attributed;
  attributed.scaled = attributes;
  attributed.scaled->features = std::move(profiles.scaled);
  return attributed;
}

const LinkWeights& WeightsOf(const Analysis& analysis, const Candidate& candidate) {
  const Variant variant = candidate.variant.value_or(Variant::kHard);
  if (candidate.prior == Prior::kBeta) return analysis.estimate.Of(variant);
  return *analysis.attributed->training.Of(variant);
}

}  // namespace

absl::Status CheckTrainableHere(const v1::TrainingSpec& spec, const NodeAttributes& attributes, bool estimated,
                                double flip_probability) {
  TrainingPlace place{.estimated = estimated, .flip_probability = flip_probability, .gpus = Gpus{}};
  if (spec.device() != "cpu") place.gpus = FindGpus();  // who wants none need not wait for the answer
  return CheckTrainable(spec, FactsOf(attributes), place);
}

absl::StatusOr<TrainedModel> TrainOnGraph(const CsrGraph& graph, const NodeAttributes& attributes,
                                          const v1::TrainingSpec& spec, const TrainingOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckTrainableHere(spec, attributes, /*estimated=*/false, /*flip_probability=*/0));
  ProblemSize size = SizeOf(FactsOf(attributes));
  size.links = static_cast<double>(graph.link_count());
  BLINK_ASSIGN_OR_RETURN(Plan plan, PlanOf(spec, /*estimated=*/false, size));
  if (plan.one.has_value()) plan.one->variant.reset();
  const LinkWeights weights = LinkWeights::Unweighted(graph);
  const TrainingSources sources{.attributes = &attributes,
                                .weights_of = [&](const Candidate&) -> const LinkWeights& { return weights; }};
  return Follow(std::move(plan), size, sources, options);
}

absl::StatusOr<Analysis> Analyse(const ReportSet& reports, const NodeAttributes& attributes,
                                 const v1::TrainingSpec& spec, const AnalysisOptions& options) {
  if (attributes.node_count != reports.node_count()) {
    return absl::FailedPreconditionError(absl::StrCat("the reports are of a graph of ", reports.node_count(),
                                                      " nodes, but the attribute folder has ", attributes.node_count));
  }
  ProblemSize size = SizeOf(FactsOf(attributes));
  size.flip_probability = reports.parameters().sends_bits() ? reports.parameters().flip_probability() : 0;
  BLINK_RETURN_IF_ERROR(CheckTrainableHere(spec, attributes, /*estimated=*/true, size.flip_probability));
  BLINK_ASSIGN_OR_RETURN(Plan plan, PlanOf(spec, /*estimated=*/true, size));
  Analysis analysis;
  analysis.tie_seed = options.tie_seed;
  const auto tell = [&](Stage stage, double fraction, const std::string& text) {
    if (options.progress) options.progress(stage, fraction, text);
  };

  tell(Stage::kEstimating, 0, absl::StrCat("estimating links from ", reports.report_count(), " reports"));
  EstimateOptions estimate_options;
  estimate_options.threads = options.threads;
  estimate_options.truth = options.truth;
  const bool is_attributed = FromProto(spec.prior()).value_or(Prior::kBeta) == Prior::kAttributed;
  const double beta_share = is_attributed ? 0.1 : 1;  // of the time, roughly
  estimate_options.progress = [&](double fraction) {
    tell(Stage::kEstimating, beta_share * fraction, "estimating links");
  };
  estimate_options.tie_seed = options.tie_seed;
  estimate_options.soft = plan.Needs(Prior::kBeta, Variant::kSoft);
  estimate_options.hybrid = plan.Needs(Prior::kBeta, Variant::kHybrid);
  BLINK_ASSIGN_OR_RETURN(analysis.checks, Check(reports, options));
  std::optional<ReportSet> kept;
  if (analysis.checks.dropped > 0) {
    kept = reports;
    for (const ImplausibleReport& report : analysis.checks.found.flagged) kept->Drop(report.node);
  }
  BLINK_ASSIGN_OR_RETURN(analysis.estimate, EstimateLinks(kept.has_value() ? *kept : reports, estimate_options));
  std::optional<Attributed> attributed;
  if (is_attributed) {
    const TellFraction tell_attributed = [&](double fraction, const std::string& text) {
      tell(Stage::kEstimating, beta_share + (1 - beta_share) * fraction, text);
    };
    BLINK_ASSIGN_OR_RETURN(attributed, EstimateUnderAttributed(kept.has_value() ? *kept : reports, attributes,
                                                               spec.seed(), plan, options, tell_attributed, analysis));
    attributed->sources.feature_classifier = &attributed->feature_classifier;
    if (attributed->scaled) attributed->sources.scaled = &*attributed->scaled;
    if (analysis.attributed->training.soft) {
      attributed->sources.stacked = {.classes = &attributed->feature_classifier.probabilities,
                                     .class_sums = &analysis.attributed->class_sums,
                                     .kept = &*analysis.attributed->training.soft,
                                     .nearest = &attributed->feature_classifier.nearest};
    }
    if (analysis.estimate.soft) {
      attributed->sources.beta_stacked = {.classes = &attributed->feature_classifier.probabilities,
                                          .kept = &*analysis.estimate.soft,
                                          .nearest = &attributed->feature_classifier.nearest};
    }
    size.attributed_links = analysis.attributed->training.expected_links;
    if (analysis.attributed->training.soft) {
      size.attributed_kept = static_cast<double>(analysis.attributed->training.soft->links.link_count());
    }
  }
  kept.reset();

  TrainingOptions training_options;
  training_options.threads = options.threads;
  training_options.checkpoint_folder = options.checkpoint_folder;
  training_options.checkpoint_every_s = options.checkpoint_every_s;
  training_options.progress = [&](double fraction, const std::string& text) { tell(Stage::kTraining, fraction, text); };
  tell(Stage::kTraining, 0, "preparing the training");
  // What the pairs cost depends on the links, which are known only now: the plan above was made as if there were none.
  size.links = analysis.estimate.expected_links;
  BLINK_ASSIGN_OR_RETURN(plan, PlanOf(spec, /*estimated=*/true, size));
  const TrainingSources sources{
      .attributes = &attributes,
      .weights_of = [&](const Candidate& candidate) -> const LinkWeights& { return WeightsOf(analysis, candidate); },
      .attributed = attributed ? &attributed->sources : nullptr};
  BLINK_ASSIGN_OR_RETURN(TrainedModel model, Follow(std::move(plan), size, sources, training_options));
  analysis.trained = std::move(model.trained);
  analysis.training = std::move(model.result);
  analysis.search = std::move(model.search);
  return analysis;
}

}  // namespace blink
