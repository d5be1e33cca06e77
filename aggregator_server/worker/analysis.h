// From sealed reports to a result: the one path that the worker of a round and `blink simulate` both take.
#ifndef BLINK_AGGREGATOR_SERVER_WORKER_ANALYSIS_H_
#define BLINK_AGGREGATOR_SERVER_WORKER_ANALYSIS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/estimate/attributed/attributed.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "aggregator_server/plausibility/plausibility.h"
#include "aggregator_server/reports/report_set.h"
#include "aggregator_server/select/candidate.h"
#include "aggregator_server/select/search.h"
#include "aggregator_server/train/trainer.h"
#include "blink/v1/operator.pb.h"
#include "common/graph/node_attributes.h"
#include "nlohmann/json.hpp"

namespace blink {

enum class Stage { kEstimating, kTraining };

struct AnalysisOptions {
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
  std::function<void(Stage stage, double fraction, const std::string& text)> progress;
};

// What the plausibility checks found, and what followed from it.
struct Checks {
  v1::Implausible policy = v1::IMPLAUSIBLE_FLAG;
  double false_alarm = kFalseAlarm;
  Plausibility found;
  uint32_t dropped = 0;  // reports that the estimate was made without
  // The smallest number of links that one node can claim or hide and is flagged with this probability, if all report
  // (detection_power.h).
  std::optional<uint32_t> lie_seen_half, lie_seen_95;
};

struct Analysis {
  Checks checks;
  LinkEstimate estimate;  // of the beta prior: some candidates of the attributed prior are trained on it, and it is
                          // there to compare with
  std::optional<AttributedEstimate> attributed;  // of the attributed prior, where the spec asks for it
  uint64_t tie_seed = 0;
  Candidate trained;
  TrainResult training;
  std::vector<Tried> search;  // empty: none was asked for
};

// What `trained` saw of the links: those of its variant, under its prior; of a model of the attributed prior that looks
// at links but has no variant (stacked, a mean of several) the Soft ones. Null: it saw none.
const LinkWeights* LinksSeen(const LinkEstimate& estimate, const std::optional<AttributedEstimate>& attributed,
                             const Candidate& trained);

// Of what LinksSeen gives: how many links, absent where it weighs every pair, and the sum of their weights. Both
// absent: none.
struct SeenFigures {
  std::optional<uint64_t> links;
  std::optional<double> weight;
};
SeenFigures FiguresOfSeen(const LinkEstimate& estimate, const std::optional<AttributedEstimate>& attributed,
                          const Candidate& trained);

// CheckTrainable (trainable.h) with this machine's GPUs; `estimated`: on links from reports, not on given ones.
absl::Status CheckTrainableHere(const v1::TrainingSpec& spec, const NodeAttributes& attributes, bool estimated,
                                double flip_probability);

// Checks the reports, estimates the links and trains as `spec` says. FAILED_PRECONDITION when attributes and reports
// have another n, or when every report would have to be dropped. INVALID_ARGUMENT: `spec` or degree_max out of range.
// What CheckTrainableHere refuses is refused before anything is estimated. Dropping needs a second copy of the reports.
absl::StatusOr<Analysis> Analyse(const ReportSet& reports, const NodeAttributes& attributes,
                                 const v1::TrainingSpec& spec, const AnalysisOptions& options);

// Trains on links that are given: the true graph, or none for the MLP. The way of Analyse, and its errors.
absl::StatusOr<TrainedModel> TrainOnGraph(const CsrGraph& graph, const NodeAttributes& attributes,
                                          const v1::TrainingSpec& spec, const TrainingOptions& options);

// The first 64 bits of a hash of the round's id: a replay of its reports decides ties as the round did.
uint64_t TieSeedOfRound(const std::string& round_id);

// Where the reports of a result came from, which decides what may be said of its privacy.
enum class ReportOrigin {
  kRound,            // the nodes of a round drew them
  kReplay,           // likewise, and somebody analysed them once more
  kSimulation,       // one process that knew every list drew them, with the nodes' cryptographic generator
  kSeededSimulation  // likewise, from a seed: whoever knows it knows the noise
};
inline bool IsSimulated(ReportOrigin origin) {
  return origin == ReportOrigin::kSimulation || origin == ReportOrigin::kSeededSimulation;
}

// The parts of metrics.json that `blink simulate` prints as well. EstimateJson holds nothing that needs the true graph.
// `private`: the noise is cryptographic; from a seed it is not, and has no achieved epsilon. `simulated`: one process
// knew every list, so the figures are those that a round would give, and no list was protected from it.
nlohmann::ordered_json PrivacyJson(const PrivacyParameters& parameters, ReportOrigin origin);
// It is of the attributed prior where there is such an estimate, with `beta` beside it; what belongs to the beta-model
// alone (degree classes, MLE) keeps its place. links: how many links Hard has, whatever was trained on. trained_links:
// how many the model was trained on, null for the beta prior's Soft (every pair) and for a model that sees none;
// trained_weight: the sum of their weights.
nlohmann::ordered_json EstimateJson(const LinkEstimate& estimate, const std::optional<AttributedEstimate>& attributed,
                                    uint64_t tie_seed, const SeenFigures& seen);
// Without the list of flags where the policy is to keep.
nlohmann::ordered_json PlausibilityJson(const Checks& checks);
nlohmann::ordered_json TrainJson(const TrainResult& training, const Candidate& trained);
// {chosen, candidates}, what was tried; `research`: with test accuracies, which a round has no use for.
nlohmann::ordered_json SearchJson(const Candidate& chosen, const std::vector<Tried>& search, bool research);

// metrics.json: kind ("round", "replay" or "simulation"), privacy, reports, plausibility, estimate, train (accuracies,
// device, threads, seed, hyper-parameters, warnings), classes (how many, of the test nodes the figures of the first
// 1,000, and up to 64 their confusion matrix). `active`: n less the retired nodes; 0: n. Who is retired is not missing.
nlohmann::ordered_json MetricsJson(const PrivacyParameters& parameters, uint32_t reports, const Analysis& analysis,
                                   ReportOrigin origin, uint32_t active = 0);

// Writes, each durably:
//   metrics.json      MetricsJson
//   predictions.csv   node,prediction,confidence (softmax),split
//   curves.csv        epoch,train_loss,validation_loss,validation_accuracy; no line of a model that has no epochs
//   links.csv, links.npz  what the model saw (link_files.h); of a model that saw none the links of Hard, of the prior
//   in use plausibility.csv  node,ones_z,degree_z,unconfirmed_z,omitted_z,flagged of every report; a test that was not
//   made is empty;
//                     no line where the policy is to keep
//   model.pt          a state dict for torch.load
//   model.ts          the same model for torch.jit.load (torch_script.h); not of a model that is no network
// Makes the folder where it is missing. Not at once: see ResultPlace (result_place.h).
absl::Status WriteResultFolder(const std::string& folder, const PrivacyParameters& parameters, uint32_t reports,
                               const Analysis& analysis, const NodeAttributes& attributes, ReportOrigin origin,
                               uint32_t active = 0);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WORKER_ANALYSIS_H_
