#include "aggregator_server/result/result_folder.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "aggregator_server/result/link_files.h"
#include "aggregator_server/train/log_probabilities.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/graph/csv_field.h"
#include "common/wire/artifact_digests.h"

namespace blink {
namespace {

// The softmax probability of the largest of a node's logits.
double Confidence(const float* logits, size_t classes) { return 1 / SumOfExponentials(logits, classes); }

std::string PredictionsCsv(const TrainResult& training, const NodeAttributes& attributes) {
  const bool has_ids = !attributes.ids.empty();
  std::string csv = absl::StrCat("node,prediction,confidence,split", has_ids ? ",id\n" : "\n");
  const size_t classes = training.logits.size() / training.predictions.size();
  for (size_t node = 0; node < training.predictions.size(); ++node) {
    absl::StrAppendFormat(&csv, "%d,%d,%.9g,%s", node, training.predictions[node],
                          Confidence(&training.logits[node * classes], classes), SplitName(attributes.split[node]));
    absl::StrAppend(&csv, has_ids ? "," : "", has_ids ? CsvField(attributes.ids[node]) : "", "\n");
  }
  return csv;
}

std::string CurvesCsv(const TrainResult& training) {
  std::string csv = "epoch,train_loss,validation_loss,validation_accuracy\n";
  for (size_t e = 0; e < training.validation_losses.size(); ++e) {
    absl::StrAppendFormat(&csv, "%d,%.9g,%.9g,%.9g\n", e + 1, training.train_losses[e], training.validation_losses[e],
                          training.validation_accuracies[e]);  // nine digits: every float is read back as it was
  }
  return csv;
}

std::string Score(double z) { return std::isnan(z) ? "" : absl::StrFormat("%.3f", z); }

std::string PlausibilityCsv(const Checks& checks) {
  std::string csv = "node,ones_z,degree_z,unconfirmed_z,omitted_z,flagged\n";
  if (checks.policy == v1::IMPLAUSIBLE_KEEP) return csv;
  std::vector<bool> flagged(checks.found.scores.size(), false);
  for (const ImplausibleReport& report : checks.found.flagged) flagged[report.node] = true;
  for (size_t node = 0; node < flagged.size(); ++node) {
    const ReportScores& scores = checks.found.scores[node];
    if (std::isnan(scores.ones) && std::isnan(scores.degree)) continue;  // no report
    absl::StrAppend(&csv, node, ",", Score(scores.ones), ",", Score(scores.degree), ",", Score(scores.unconfirmed), ",",
                    Score(scores.omitted), ",", flagged[node] ? 1 : 0, "\n");
  }
  return csv;
}

std::string DegreesCsv(const NodeDegrees& degrees, const std::vector<std::string>& ids) {
  std::string csv = ids.empty() ? "node,degree,deviation\n" : "node,degree,deviation,id\n";
  for (size_t node = 0; node < degrees.mean.size(); ++node) {
    absl::StrAppendFormat(&csv, "%d,%.6g,%.4g", node, degrees.mean[node], degrees.deviation[node]);
    absl::StrAppend(&csv, ids.empty() ? "" : ",", ids.empty() ? "" : CsvField(ids[node]), "\n");
  }
  return csv;
}

// Of a model that saw no links those of Hard, of the prior in use.
absl::Status WriteLinks(const std::string& folder, const Analysis& analysis, const std::vector<std::string>& ids) {
  const LinkWeights* seen = LinksSeen(analysis.estimates, analysis.trained);
  const LinkPosterior* posterior = &analysis.estimates.Of(analysis.trained.prior);
  if (seen == nullptr) {
    posterior = &analysis.estimates.BestGuess();
    seen = &posterior->hard;
  }
  const float soft_from = seen == posterior->Of(Variant::kSoft) ? posterior->soft_from : 0;
  BLINK_RETURN_IF_ERROR(
      WriteFileAtomically(folder + "/links.csv", LinksCsv(*seen, posterior->links(), soft_from > 0, ids)));
  return WriteLinksNpz(*seen, analysis.training.threads, folder + "/links.npz", kSoftPairsMax, soft_from);
}

}  // namespace

absl::Status WriteModelFiles(const std::string& folder, const TrainResult& training, const NodeAttributes& attributes) {
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/predictions.csv", PredictionsCsv(training, attributes)));
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/curves.csv", CurvesCsv(training)));
  if (!training.script_bytes.empty()) {
    BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/model.ts", training.script_bytes));
  }
  return WriteFileAtomically(folder + "/model.pt", training.model_bytes);
}

absl::Status WriteResultFolder(const std::string& folder, const PrivacyParameters& parameters, uint32_t reports,
                               const Analysis& analysis, const NodeAttributes& attributes, ReportOrigin origin,
                               uint32_t active) {
  if (analysis.has_model() && analysis.training.predictions.size() != attributes.node_count) {
    return absl::InternalError("the result has another number of predictions than there are nodes");
  }
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  nlohmann::ordered_json metrics = MetricsJson(parameters, reports, analysis, origin, active);
  const auto write_metrics = [&] { return WriteFileAtomically(folder + "/metrics.json", SealMetrics(metrics)); };
  BLINK_RETURN_IF_ERROR(write_metrics());  // the first file, by which the folder is known for a result's
  BLINK_RETURN_IF_ERROR(WriteLinks(folder, analysis, attributes.ids));
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/degrees.csv", DegreesCsv(analysis.degrees, attributes.ids)));
  BLINK_RETURN_IF_ERROR(WriteFileAtomically(folder + "/plausibility.csv", PlausibilityCsv(analysis.checks)));
  if (analysis.has_model()) BLINK_RETURN_IF_ERROR(WriteModelFiles(folder, analysis.training, attributes));
  BLINK_ASSIGN_OR_RETURN(metrics["files"], DigestArtifacts(folder));
  return write_metrics();
}

}  // namespace blink
