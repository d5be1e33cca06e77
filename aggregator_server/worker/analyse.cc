#include "aggregator_server/worker/analyse.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/attributed/degree_posterior.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "aggregator_server/plausibility/detection_power.h"
#include "aggregator_server/select/candidate_grid.h"
#include "aggregator_server/select/features_only.h"
#include "aggregator_server/select/trainable.h"
#include "aggregator_server/train/data_warnings.h"
#include "common/base/digest.h"
#include "common/base/progress_parts.h"
#include "common/base/run_on_threads.h"
#include "common/base/status_macros.h"
#include "common/graph/dataset_digest.h"
#include "common/wire/training_spec.h"

namespace blink {

uint64_t TieSeedOfRound(const std::string& round_id) {
  const Digest digest = Sha256Of(absl::StrCat("blink tie seed ", round_id));
  uint64_t seed = 0;
  for (int byte = 0; byte < 8; ++byte) seed = seed << 8 | digest[byte];
  return seed;
}

absl::Status CheckNodes(uint32_t of_reports, const NodeAttributes& attributes) {
  if (attributes.node_count == of_reports) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the reports are of a graph of ", of_reports,
                                                    " nodes, but the attribute folder has ", attributes.node_count));
}

TrainingOptions TrainingOptionsOf(const AnalysisOptions& options) {
  TrainingOptions training;
  training.threads = options.threads;
  training.checkpoint_folder = options.checkpoint_folder;
  training.checkpoint_every_s = options.checkpoint_every_s;
  training.progress = [&options](double fraction, const std::string& text) {
    if (options.progress) options.progress(Stage::kTraining, fraction, text);
  };
  return training;
}

DatasetFacts MakeDatasetFacts(const std::string& name, const NodeAttributes& attributes) {
  return {.name = name,
          .nodes = attributes.node_count,
          .features = attributes.features.cols,
          .classes = attributes.class_count,
          .attributes_sha256 = DigestToHex(DigestOfAttributes(attributes))};
}

namespace {

absl::StatusOr<Checks> CheckReports(const ReportSet& reports, const AnalysisOptions& options) {
  const TestOptions test_options{.degree_max = options.degree_max};
  Checks checks;
  checks.policy = options.implausible == v1::IMPLAUSIBLE_UNSPECIFIED ? v1::IMPLAUSIBLE_FLAG : options.implausible;
  checks.false_alarm = test_options.false_alarm;
  BLINK_ASSIGN_OR_RETURN(const ReportTests tests, ReportTests::Create(reports.parameters(), test_options));
  if (reports.parameters().reports_of_pair() == 2) {  // the tests of pairs see such lies
    checks.lie_seen_half = FindSmallestLieSeen(tests, 0.5);
    checks.lie_seen_95 = FindSmallestLieSeen(tests, 0.95);
  }
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
class Plan {
 public:
  static absl::StatusOr<Plan> Make(const v1::TrainingSpec& spec, bool estimated, const ProblemSize& size) {
    Plan plan;
    if (spec.candidates() == 0) {
      BLINK_ASSIGN_OR_RETURN(plan.one_, CandidateFromSpec(spec));
      if (!estimated) plan.one_->variant.reset();
    } else {
      BLINK_ASSIGN_OR_RETURN(plan.grid_, CandidateGrid::Create(spec, estimated, size));
    }
    return plan;
  }

  // Whether the candidates are trained on folds.
  bool CrossValidates() const { return grid_.has_value() && grid_->cross_validates(); }

  // Whether some candidate may be trained on these links.
  bool Needs(Prior prior, Variant variant) const {
    const auto takes = [&](const Candidate& candidate) {
      return candidate.prior == prior && candidate.variant == variant;
    };
    return one_.has_value() ? takes(*one_) : std::any_of(grid_->pairs().begin(), grid_->pairs().end(), takes);
  }

  // What the candidates cost depends on the links, so it is known only when they are. What is too costly leaves the
  // search then.
  void CompleteCosts(const ProblemSize& size) {
    if (grid_.has_value()) grid_->CompleteCosts(size);
  }

  // Not null: nothing is trained, and the links of this candidate are wanted.
  const Candidate* links_alone() const { return one_ && one_->options.model == Model::kNone ? &*one_ : nullptr; }
  bool searches() const { return !one_.has_value(); }

  // Once.
  absl::StatusOr<TrainedModel> Train(const ProblemSize& size, const TrainingSources& sources,
                                     const TrainingOptions& options) {
    return one_.has_value() ? TrainOne(*one_, sources, options) : Search(*std::move(grid_), size, sources, options);
  }

 private:
  std::optional<Candidate> one_;
  std::optional<CandidateGrid> grid_;
};

constexpr char kTellOfFeatures[] = "measuring what the features alone give";

// What a person must know before an accuracy is believed.
void AddWarningsOfChoice(const v1::TrainingSpec& spec, const NodeAttributes& attributes, TrainResult& result) {
  if (const auto warning = OneClassWarning(result, attributes)) result.warnings.push_back(*warning);
  const Measure score = FromProto(spec.score());
  if (std::isfinite(result.validation.Of(score))) return;
  result.warnings.push_back(absl::StrCat("the score ", MeasureName(score),
                                         " is not defined for the validation nodes: the search chose by accuracy"));
}

// The progress of one stage, of which each part has its text.
class StageProgress {
 public:
  StageProgress(Stage stage, const AnalysisOptions& options)
      : parts_(
            [this, stage, &options](double fraction) {
              if (options.progress) options.progress(stage, fraction, text_);
            },
            1) {}

  std::function<void(double)> Next(double weight, std::string text) {
    return [this, text = std::move(text), tell = parts_.Next(weight)](double fraction) {
      text_ = text;
      tell(fraction);
    };
  }

 private:
  std::string text_;
  ProgressParts parts_;
};

// One analysis, step by step.
class Analyst {
 public:
  Analyst(const ReportSet& reports, const NodeAttributes& attributes, const v1::TrainingSpec& spec,
          const AnalysisOptions& options)
      : all_reports_(reports), attributes_(attributes), spec_(spec), options_(options) {}

  absl::StatusOr<Analysis> Run() {
    BLINK_RETURN_IF_ERROR(CheckNodes(all_reports_.node_count(), attributes_));
    size_ = SizeOf(FactsOf(attributes_));
    size_.flip_probability = all_reports_.parameters().sends_bits() ? all_reports_.parameters().flip_probability() : 0;
    BLINK_RETURN_IF_ERROR(CheckTrainableHere(spec_, attributes_, /*estimated=*/true, size_.flip_probability));
    BLINK_ASSIGN_OR_RETURN(plan_, Plan::Make(spec_, /*estimated=*/true, size_));
    if (plan_.CrossValidates()) folds_ = DealFolds(attributes_, spec_.seed());
    analysis_.dataset = MakeDatasetFacts(options_.dataset_name, attributes_);
    analysis_.tie_seed = options_.tie_seed;
    BLINK_RETURN_IF_ERROR(Estimate());
    if (const Candidate* links = plan_.links_alone()) {
      analysis_.trained = *links;
      analysis_.training.threads = ThreadsOrCores(options_.threads);
      return std::move(analysis_);
    }
    plan_.CompleteCosts(size_);
    BLINK_RETURN_IF_ERROR(Train());
    return std::move(analysis_);
  }

 private:
  absl::Status Estimate() {
    StageProgress progress(Stage::kEstimating, options_);
    progress.Next(0, absl::StrCat("estimating links from ", all_reports_.report_count(), " reports"))(0);
    BLINK_ASSIGN_OR_RETURN(analysis_.checks, CheckReports(all_reports_, options_));
    std::optional<ReportSet> made;  // what the estimates read, where that is not the reports as they are
    const bool mirrors = all_reports_.parameters().mechanism() == Mechanism::kOneEnd;
    if (analysis_.checks.dropped > 0 || mirrors) made = all_reports_;
    for (NodeIndex k = 0; k < analysis_.checks.dropped; ++k) made->Drop(analysis_.checks.found.flagged[k].node);
    if (mirrors) BLINK_RETURN_IF_ERROR(made->Mirror(options_.threads));
    const ReportSet& reports = made.has_value() ? *made : all_reports_;
    DegreePosterior degrees = EstimateDegreePosterior(reports, options_.threads);
    analysis_.degrees = {.mean = std::move(degrees.mean), .deviation = std::move(degrees.deviation)};
    if (FromProto(spec_.prior()).value_or(Prior::kBeta) != Prior::kAttributed) {
      return EstimateUnderBeta(reports, progress.Next(1, "estimating links"));
    }
    BLINK_RETURN_IF_ERROR(EstimateUnderBeta(reports, progress.Next(0.1, "estimating links")));
    return EstimateUnderAttributed(reports, progress);
  }

  absl::Status EstimateUnderBeta(const ReportSet& reports, std::function<void(double)> progress) {
    EstimateOptions options;
    options.soft = plan_.Needs(Prior::kBeta, Variant::kSoft);
    options.hybrid = plan_.Needs(Prior::kBeta, Variant::kHybrid);
    options.tie_seed = options_.tie_seed;
    options.threads = options_.threads;
    options.truth = options_.truth;
    // What a node sent of its own pairs is no degree: the estimate from all that is known takes its place.
    for (size_t i = 0; reports.mirrored() && i < analysis_.degrees.mean.size(); ++i) {
      options.degrees.push_back(std::llround(analysis_.degrees.mean[i]));
    }
    options.progress = std::move(progress);
    BLINK_ASSIGN_OR_RETURN(analysis_.estimates.beta, EstimateLinks(reports, options));
    size_.links = analysis_.estimates.beta.expected_links;
    return absl::OkStatus();
  }

  // Profiles, feature-only classifier, and the estimate. The weights are shares of the time, roughly.
  absl::Status EstimateUnderAttributed(const ReportSet& reports, StageProgress& progress) {
    progress.Next(0.045, "comparing the features of the nodes")(0);
    NodeProfiles profiles = MakeNodeProfiles(attributes_.features, options_.threads);
    const auto tell_nearest = progress.Next(0.045, "finding the nodes that are most alike");
    NearestNodes nearest;
    if (options_.ingredients.nearest) {
      nearest = FindNearest(profiles, kNearestCount, options_.threads, tell_nearest);
    }
    BLINK_RETURN_IF_ERROR(
        ClassifyByFeatures(profiles, nearest, progress.Next(0.18, "learning the classes from the features")));
    AttributedOptions options;
    options.ingredients = options_.ingredients;
    options.network_rounds = options_.network_rounds;
    options.seed = spec_.seed();
    options.tie_seed = options_.tie_seed;
    options.soft = plan_.Needs(Prior::kAttributed, Variant::kSoft);
    options.hybrid = plan_.Needs(Prior::kAttributed, Variant::kHybrid);
    options.threads = options_.threads;
    options.truth = options_.truth;
    options.visit = options_.visit_attributed;
    options.progress = progress.Next(0.63, "estimating links from bits and attributes");
    BLINK_ASSIGN_OR_RETURN(analysis_.estimates.attributed,
                           EstimateAttributed(reports, profiles, feature_classifier_.probabilities, options));
    const LinkEstimate& estimate = *analysis_.estimates.attributed;
    size_.attributed_links = estimate.expected_links;
    if (estimate.soft) size_.attributed_kept = static_cast<double>(estimate.soft->links.link_count());
    if (profiles.scaled.cols > 0) {
      scaled_ = attributes_;
      scaled_->features = std::move(profiles.scaled);
    }
    return absl::OkStatus();
  }

  // Without labels to learn from all nodes are of one class, and the features alone say what is alike.
  absl::Status ClassifyByFeatures(const NodeProfiles& profiles, const NearestNodes& nearest,
                                  std::function<void(double)> progress) {
    if (plan_.links_alone() != nullptr && !FactsOf(attributes_).has_labels_to_train()) {
      const std::vector<float> certain(attributes_.node_count, 1.0f);
      feature_classifier_.probabilities = {attributes_.node_count, /*class_count=*/1, certain, certain};
      return absl::OkStatus();
    }
    BLINK_ASSIGN_OR_RETURN(feature_classifier_, FitFeatureClassifier(attributes_, profiles,
                                                                     {.nearest = &nearest,
                                                                      .folds = folds_ ? &*folds_ : nullptr,
                                                                      .seed = spec_.seed(),
                                                                      .threads = options_.threads,
                                                                      .progress = std::move(progress)}));
    // Where nothing is trained, no row needs to look like a test row: both posteriors are the best guess.
    if (plan_.links_alone() != nullptr)
      feature_classifier_.probabilities.open = feature_classifier_.probabilities.clamped;
    return absl::OkStatus();
  }

  // What the attributed prior adds to train on.
  AttributedSources SourcesOfAttributed() const {
    const LinkEstimate& estimate = *analysis_.estimates.attributed;
    const std::optional<LinkWeights>& beta_soft = analysis_.estimates.beta.soft;
    AttributedSources sources;
    sources.feature_classifier = &feature_classifier_;
    if (scaled_.has_value()) sources.scaled = &*scaled_;
    if (estimate.soft) {
      sources.stacked = {.classes = &feature_classifier_.probabilities,
                         .class_sums = &estimate.attributed_fit->class_sums,
                         .kept = &*estimate.soft,
                         .nearest = &feature_classifier_.nearest};
    }
    if (beta_soft) {
      sources.beta_stacked = {
          .classes = &feature_classifier_.probabilities, .kept = &*beta_soft, .nearest = &feature_classifier_.nearest};
    }
    return sources;
  }

  absl::Status Train() {
    const TrainingOptions options = TrainingOptionsOf(options_);
    options.progress(0, "preparing the training");
    std::optional<AttributedSources> attributed;
    if (analysis_.estimates.attributed) attributed = SourcesOfAttributed();
    const TrainingSources sources{
        .attributes = &attributes_,
        .weights_of = [&](const Candidate& candidate) -> const LinkWeights& {
          return *analysis_.estimates.Of(candidate.prior).Of(candidate.variant.value_or(Variant::kHard));
        },
        .attributed = attributed ? &*attributed : nullptr,
        .folds = folds_ ? &*folds_ : nullptr};
    BLINK_ASSIGN_OR_RETURN(TrainedModel model, plan_.Train(size_, sources, options));
    if (plan_.searches() || options_.measure_features_only) {
      options.progress(1, kTellOfFeatures);
      BLINK_ASSIGN_OR_RETURN(
          analysis_.features_only,
          FindFeaturesOnly(spec_, model.search, attributes_, attributed ? attributed->feature_classifier : nullptr,
                           folds_ ? &*folds_ : nullptr, options));
    }
    AddWarningsOfChoice(spec_, attributes_, model.result);
    analysis_.trained = std::move(model.trained);
    analysis_.training = std::move(model.result);
    analysis_.search = std::move(model.search);
    return absl::OkStatus();
  }

  const ReportSet& all_reports_;
  const NodeAttributes& attributes_;
  const v1::TrainingSpec& spec_;
  const AnalysisOptions& options_;
  ProblemSize size_;
  Plan plan_;
  Analysis analysis_;
  std::optional<Folds> folds_;            // of a search where few nodes have a label
  FeatureClassifier feature_classifier_;  // of the attributed prior
  std::optional<NodeAttributes> scaled_;  // likewise: the attributes with the scaled features; absent: there are none
};

}  // namespace

MemoryNeed NeedOfAnalysis(const v1::TrainingSpec& spec, const NodeAttributes& attributes,
                          const PrivacyParameters* parameters, v1::Implausible implausible, double links,
                          bool on_disk) {
  ProblemSize size = SizeOf(FactsOf(attributes));
  size.links = links;
  if (parameters != nullptr) size.nodes = parameters->node_count();
  return EstimateMemoryNeed(spec, size, ReportsInMemory::Of(parameters, implausible, on_disk));
}

absl::Status CheckTrainableHere(const v1::TrainingSpec& spec, const NodeAttributes& attributes, bool estimated,
                                double flip_probability) {
  TrainingPlace place{.estimated = estimated, .flip_probability = flip_probability, .gpus = Gpus{}};
  if (spec.device() != "cpu") place.gpus = FindGpus();  // who wants none need not wait for the answer
  return CheckTrainable(spec, FactsOf(attributes), place);
}

absl::StatusOr<TrainedModel> TrainOnLinks(const LinkWeights& weights, const NodeAttributes& attributes,
                                          const v1::TrainingSpec& spec, const TrainingOptions& options,
                                          bool measure_features_only) {
  BLINK_RETURN_IF_ERROR(CheckTrainableHere(spec, attributes, /*estimated=*/false, /*flip_probability=*/0));
  ProblemSize size = SizeOf(FactsOf(attributes));
  size.links = size.attributed_links = size.attributed_kept = static_cast<double>(weights.links.link_count());
  BLINK_ASSIGN_OR_RETURN(Plan plan, Plan::Make(spec, /*estimated=*/false, size));
  std::optional<Folds> folds;
  if (plan.CrossValidates()) folds = DealFolds(attributes, spec.seed());
  const Folds* const folds_or_null = folds ? &*folds : nullptr;
  std::optional<FeatureView> view;
  std::optional<NodeAttributes> scaled;
  std::optional<AttributedSources> attributed;
  if (spec.prior() == v1::PRIOR_ATTRIBUTED) {
    if (options.progress) options.progress(0, "learning the classes from the features");
    BLINK_ASSIGN_OR_RETURN(view, FitOnFeatures(attributes, spec.seed(), options.threads, folds_or_null));
    attributed.emplace().feature_classifier = &view->classifier;
    attributed->stacked = {
        .classes = &view->classifier.probabilities, .kept = &weights, .nearest = &view->classifier.nearest};
    if (view->profiles.scaled.cols > 0) {
      scaled = attributes;
      scaled->features = std::move(view->profiles.scaled);
      attributed->scaled = &*scaled;
    }
  }
  const TrainingSources sources{.attributes = &attributes,
                                .weights_of = [&](const Candidate&) -> const LinkWeights& { return weights; },
                                .attributed = attributed ? &*attributed : nullptr,
                                .folds = folds_or_null};
  BLINK_ASSIGN_OR_RETURN(TrainedModel model, plan.Train(size, sources, options));
  if (plan.searches() || measure_features_only) {
    if (options.progress) options.progress(1, kTellOfFeatures);
    BLINK_ASSIGN_OR_RETURN(
        model.features_only,
        FindFeaturesOnly(spec, model.search, attributes, view ? &view->classifier : nullptr, folds_or_null, options));
  }
  AddWarningsOfChoice(spec, attributes, model.result);
  return model;
}

absl::StatusOr<TrainedModel> TrainOnGraph(const CsrGraph& graph, const NodeAttributes& attributes,
                                          const v1::TrainingSpec& spec, const TrainingOptions& options) {
  return TrainOnLinks(LinkWeights::Unweighted(graph), attributes, spec, options);
}

absl::StatusOr<Analysis> Analyse(const ReportSet& reports, const NodeAttributes& attributes,
                                 const v1::TrainingSpec& spec, const AnalysisOptions& options) {
  return Analyst(reports, attributes, spec, options).Run();
}

}  // namespace blink
