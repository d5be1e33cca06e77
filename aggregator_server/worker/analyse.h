// From sealed reports to a result: the one path that the worker of a round and `blink simulate` both take.
//
//   reports --(plausibility/)--> Checks --(estimate/)--> Estimates --(select/, train/)--> Analysis (result/analysis.h)
#ifndef BLINK_AGGREGATOR_SERVER_WORKER_ANALYSE_H_
#define BLINK_AGGREGATOR_SERVER_WORKER_ANALYSE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "aggregator_server/estimate/attributed/attributed.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/reports/report_set.h"
#include "aggregator_server/result/analysis.h"
#include "aggregator_server/select/memory_need.h"
#include "aggregator_server/select/search.h"
#include "blink/v1/operator.pb.h"
#include "common/graph/node_attributes.h"

namespace blink {

enum class Stage { kEstimating, kTraining };

struct AnalysisOptions {
  std::string dataset_name;         // for the result
  const CsrGraph* truth = nullptr;  // simulation only
  int threads = 0;
  v1::Implausible implausible = v1::IMPLAUSIBLE_FLAG;
  uint32_t degree_max = 0;  // 0: no bound
  uint64_t tie_seed = 0;    // which of Hybrid's ties at the cut are links: of a round TieSeedOfRound
  // Of the attributed prior, for studies: a round takes all of them, and as many rounds as its budget says.
  Ingredients ingredients;
  std::optional<int> network_rounds;
  std::string checkpoint_folder;  // as TrainingOptions
  double checkpoint_every_s = 20;
  std::function<void(const LogOddsRow& row)> visit_attributed;  // AttributedOptions::visit
  bool measure_features_only = false;                           // Analysis::features_only without a search too
  std::function<void(Stage stage, double fraction, const std::string& text)> progress;
};

// Checks the reports, estimates the links and degrees, and trains as `spec` says: nothing for the model none. What
// CheckTrainableHere refuses is refused before anything is estimated. FAILED_PRECONDITION: the attributes are of
// another number of nodes than the reports, or every report would have to be dropped. INVALID_ARGUMENT: `spec` or
// degree_max is out of range. Dropping needs a second copy of the reports, and so does Mechanism::kOneEnd.
absl::StatusOr<Analysis> Analyse(const ReportSet& reports, const NodeAttributes& attributes,
                                 const v1::TrainingSpec& spec, const AnalysisOptions& options);

// Trains on links that are given. Under the attributed prior, the same models are tried as on its estimate.
// `measure_features_only`: TrainedModel::features_only without a search too. Refuses and fails as Analyse does.
absl::StatusOr<TrainedModel> TrainOnLinks(const LinkWeights& weights, const NodeAttributes& attributes,
                                          const v1::TrainingSpec& spec, const TrainingOptions& options,
                                          bool measure_features_only = false);
// The same on the links of a graph, each of weight 1.
absl::StatusOr<TrainedModel> TrainOnGraph(const CsrGraph& graph, const NodeAttributes& attributes,
                                          const v1::TrainingSpec& spec, const TrainingOptions& options);

// What Analyse takes (select/memory_need.h); TrainOnLinks where `parameters` are none. `links`: expected; 0: not known.
// `on_disk`: as of ReportsInMemory::Of.
MemoryNeed NeedOfAnalysis(const v1::TrainingSpec& spec, const NodeAttributes& attributes,
                          const PrivacyParameters* parameters, v1::Implausible implausible, double links,
                          bool on_disk = true);

// CheckTrainable (select/trainable.h) with this machine's GPUs. `estimated`: on links from reports, not on given ones.
absl::Status CheckTrainableHere(const v1::TrainingSpec& spec, const NodeAttributes& attributes, bool estimated,
                                double flip_probability);

// FAILED_PRECONDITION unless the attributes are of as many nodes as the reports.
absl::Status CheckNodes(uint32_t of_reports, const NodeAttributes& attributes);

// How an analysis with these options trains; they outlive what is returned.
TrainingOptions TrainingOptionsOf(const AnalysisOptions& options);

// What a result says of the attributes.
DatasetFacts MakeDatasetFacts(const std::string& name, const NodeAttributes& attributes);

// The first 64 bits of a hash of the round's id: a replay of its reports decides ties as the round did.
uint64_t TieSeedOfRound(const std::string& round_id);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WORKER_ANALYSE_H_
