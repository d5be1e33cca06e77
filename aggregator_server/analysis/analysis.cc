#include "aggregator_server/analysis/analysis.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "aggregator_server/plausibility/power.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"

namespace blink {

absl::StatusOr<TrainOptions> TrainOptionsFromSpec(const v1::TrainingSpec& spec) {
  BLINK_ASSIGN_OR_RETURN(const v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  TrainOptions options;
  switch (normal.model()) {
    case v1::MODEL_MLP:
      options.model = Model::kMlp;
      break;
    case v1::MODEL_GRAPHSAGE:
      options.model = Model::kGraphSage;
      break;
    case v1::MODEL_GAT:
      options.model = Model::kGat;
      break;
    default:
      options.model = Model::kGcn;
  }
  options.learning_rate = normal.learning_rate();
  options.weight_decay = normal.weight_decay();
  options.dropout = normal.dropout();
  options.epochs = static_cast<int>(normal.epochs());
  options.hidden = static_cast<int>(normal.hidden());
  options.layers = static_cast<int>(normal.layers());
  options.seed = normal.seed();
  options.device = normal.device();
  options.cpu_when_out_of_memory = normal.out_of_memory() == v1::OUT_OF_MEMORY_CPU;
  return options;
}

absl::StatusOr<Variant> VariantFromSpec(const v1::TrainingSpec& spec) {
  BLINK_ASSIGN_OR_RETURN(const v1::TrainingSpec normal, NormalizeTrainingSpec(spec));
  return normal.variant() == v1::VARIANT_SOFT     ? Variant::kSoft
         : normal.variant() == v1::VARIANT_HYBRID ? Variant::kHybrid
                                                  : Variant::kHard;
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
  BLINK_ASSIGN_OR_RETURN(TrainOptions train_options, TrainOptionsFromSpec(spec));
  const auto tell = [&](Stage stage, double fraction, const std::string& text) {
    if (options.progress) options.progress(stage, fraction, text);
  };

  tell(Stage::kEstimating, 0, absl::StrCat("estimating links from ", reports.report_count(), " reports"));
  EstimateOptions estimate_options;
  estimate_options.threads = options.threads;
  estimate_options.truth = options.truth;
  estimate_options.progress = [&](double fraction) { tell(Stage::kEstimating, fraction, "estimating links"); };
  BLINK_ASSIGN_OR_RETURN(const Variant variant, VariantFromSpec(spec));
  estimate_options.soft = variant == Variant::kSoft;
  estimate_options.hybrid = variant == Variant::kHybrid;
  Analysis analysis;
  BLINK_ASSIGN_OR_RETURN(analysis.checks, Check(reports, options));
  std::optional<ReportSet> kept;
  if (analysis.checks.dropped > 0) {
    kept = reports;
    for (const ImplausibleReport& report : analysis.checks.found.flagged) kept->Drop(report.node);
  }
  BLINK_ASSIGN_OR_RETURN(analysis.estimate, EstimateLinks(kept.has_value() ? *kept : reports, estimate_options));
  kept.reset();

  train_options.threads = options.threads;
  train_options.progress = [&](int epoch, double) {
    tell(Stage::kTraining, static_cast<double>(epoch) / train_options.epochs,
         absl::StrCat("epoch ", epoch, " of ", train_options.epochs));
  };
  tell(Stage::kTraining, 0, "preparing the training");
  BLINK_ASSIGN_OR_RETURN(analysis.training, Train(analysis.estimate.Of(variant), attributes, train_options));
  return analysis;
}

}  // namespace blink
