#include "aggregator_server/analysis/analysis.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "aggregator_server/plausibility/power.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"
#include "common/wire/training_spec.h"

namespace blink {

namespace {

Model ModelOf(v1::Model model) {
  switch (model) {
    case v1::MODEL_MLP:
      return Model::kMlp;
    case v1::MODEL_GRAPHSAGE:
      return Model::kGraphSage;
    case v1::MODEL_GAT:
      return Model::kGat;
    default:
      return Model::kGcn;
  }
}

NodeFeatures NodeFeaturesOf(v1::NodeFeatures kind) {
  switch (kind) {
    case v1::NODE_FEATURES_GIVEN:
      return NodeFeatures::kGiven;
    case v1::NODE_FEATURES_DEGREE:
      return NodeFeatures::kDegree;
    case v1::NODE_FEATURES_IDENTITY:
      return NodeFeatures::kIdentity;
    case v1::NODE_FEATURES_GIVEN_AND_DEGREE:
      return NodeFeatures::kGivenAndDegree;
    default:
      return NodeFeatures::kAuto;
  }
}

Variant VariantOf(v1::Variant variant) {
  return variant == v1::VARIANT_SOFT     ? Variant::kSoft
         : variant == v1::VARIANT_HYBRID ? Variant::kHybrid
                                         : Variant::kHard;
}

}  // namespace

absl::StatusOr<Candidate> CandidateFromSpec(const v1::TrainingSpec& spec) {
  BLINK_ASSIGN_OR_RETURN(const v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  if (normal.candidates() > 0) {
    return absl::UnimplementedError("the search among candidates (training.candidates) is not there yet");
  }
  Candidate candidate;
  TrainOptions& options = candidate.options;
  options.model = ModelOf(normal.model());
  if (options.model != Model::kMlp) candidate.variant = VariantOf(normal.variant());
  options.learning_rate = normal.learning_rate();
  options.weight_decay = normal.weight_decay();
  options.dropout = normal.dropout();
  options.epochs = static_cast<int>(normal.epochs());
  options.hidden = static_cast<int>(normal.hidden());
  options.layers = static_cast<int>(normal.layers());
  options.patience = static_cast<int>(normal.patience());
  options.balance_classes = normal.balance_classes();
  options.node_features = NodeFeaturesOf(normal.node_features());
  options.seed = normal.seed();
  options.device = normal.device();
  options.cpu_when_out_of_memory = normal.out_of_memory() == v1::OUT_OF_MEMORY_CPU;
  return candidate;
}

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
  checks.lie_seen_half = SmallestLieSeen(tests, 0.5);
  checks.lie_seen_95 = SmallestLieSeen(tests, 0.95);
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

}  // namespace

absl::StatusOr<Analysis> Analyse(const ReportSet& reports, const NodeAttributes& attributes,
                                 const v1::TrainingSpec& spec, const AnalysisOptions& options) {
  if (attributes.node_count != reports.node_count()) {
    return absl::FailedPreconditionError(absl::StrCat("the reports are of a graph of ", reports.node_count(),
                                                      " nodes, but the attribute folder has ", attributes.node_count));
  }
  Analysis analysis;
  analysis.tie_seed = options.tie_seed;
  BLINK_ASSIGN_OR_RETURN(analysis.trained, CandidateFromSpec(spec));
  const auto tell = [&](Stage stage, double fraction, const std::string& text) {
    if (options.progress) options.progress(stage, fraction, text);
  };

  tell(Stage::kEstimating, 0, absl::StrCat("estimating links from ", reports.report_count(), " reports"));
  EstimateOptions estimate_options;
  estimate_options.threads = options.threads;
  estimate_options.truth = options.truth;
  estimate_options.progress = [&](double fraction) { tell(Stage::kEstimating, fraction, "estimating links"); };
  estimate_options.tie_seed = options.tie_seed;
  estimate_options.soft = analysis.trained.variant == Variant::kSoft;
  estimate_options.hybrid = analysis.trained.variant == Variant::kHybrid;
  BLINK_ASSIGN_OR_RETURN(analysis.checks, Check(reports, options));
  std::optional<ReportSet> kept;
  if (analysis.checks.dropped > 0) {
    kept = reports;
    for (const ImplausibleReport& report : analysis.checks.found.flagged) kept->Drop(report.node);
  }
  BLINK_ASSIGN_OR_RETURN(analysis.estimate, EstimateLinks(kept.has_value() ? *kept : reports, estimate_options));
  kept.reset();

  TrainOptions& train_options = analysis.trained.options;
  train_options.threads = options.threads;
  train_options.progress = [&](int epoch, double) {
    tell(Stage::kTraining, static_cast<double>(epoch) / train_options.epochs,
         absl::StrCat("epoch ", epoch, " of ", train_options.epochs));
  };
  tell(Stage::kTraining, 0, "preparing the training");
  const LinkWeights& weights = analysis.estimate.Of(analysis.trained.variant.value_or(Variant::kHard));
  BLINK_ASSIGN_OR_RETURN(analysis.training, Train(weights, attributes, train_options));
  train_options.progress = nullptr;
  return analysis;
}

}  // namespace blink
