// From sealed reports to a result: the one path that the worker of a round and `blink simulate` both take.
#ifndef BLINK_AGGREGATOR_SERVER_ANALYSIS_ANALYSIS_H_
#define BLINK_AGGREGATOR_SERVER_ANALYSIS_ANALYSIS_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "aggregator_server/estimate/denoise.h"
#include "aggregator_server/reports/report_set.h"
#include "aggregator_server/train/trainer.h"
#include "blink/v1/operator.pb.h"
#include "common/graph/node_attributes.h"
#include "nlohmann/json.hpp"

namespace blink {

enum class Stage { kEstimating, kTraining };

struct AnalysisOptions {
  const CsrGraph* truth = nullptr;  // simulation only
  int threads = 0;
  std::function<void(Stage stage, double fraction, const std::string& text)> progress;
};

struct Analysis {
  LinkEstimate estimate;
  TrainResult training;
};

// Estimates the links and trains as `spec` says. FAILED_PRECONDITION when attributes and reports have another n.
absl::StatusOr<Analysis> Analyse(const ReportSet& reports, const NodeAttributes& attributes, const v1::TrainingSpec& spec,
                                 const AnalysisOptions& options);

absl::StatusOr<TrainOptions> TrainOptionsFromSpec(const v1::TrainingSpec& spec);

// The parts of metrics.json that `blink simulate` prints as well. EstimateJson holds nothing that needs the true graph.
nlohmann::ordered_json PrivacyJson(const PrivacyParameters& parameters);
nlohmann::ordered_json EstimateJson(const LinkEstimate& estimate);
nlohmann::ordered_json TrainJson(const TrainResult& training, const TrainOptions& options);

// metrics.json: privacy, reports, estimate, train (accuracies, device, threads, seed, hyper-parameters).
nlohmann::ordered_json MetricsJson(const PrivacyParameters& parameters, uint32_t reports, const Analysis& analysis,
                                   const v1::TrainingSpec& spec);

// Writes metrics.json, predictions.csv (node,prediction), curves.csv (epoch,train_loss,validation_loss), links.csv
// (source,target: the estimated links) and model.pt (a state dict), each durably. Makes the folder where it is missing.
absl::Status WriteResultFolder(const std::string& folder, const PrivacyParameters& parameters, uint32_t reports,
                               const Analysis& analysis, const NodeAttributes& attributes, const v1::TrainingSpec& spec);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ANALYSIS_ANALYSIS_H_
