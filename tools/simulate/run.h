// `blink simulate`: privatise, estimate and train in one process, with the libraries of the node and of the aggregator
// and without a network. For research: it alone sees the true graph, and compares with it.
//
//   data set --(privatiser, codec)--> ReportSet --(Analyse: the worker's path)--> links, model
//   links --(truth)--> MAE, true positives (figures.h)
//
// With `reports` the first step is replaced by a round folder that an aggregator stored: same reports, same spec, same
// result.
#ifndef BLINK_TOOLS_SIMULATE_RUN_H_
#define BLINK_TOOLS_SIMULATE_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/result/metrics_json.h"
#include "aggregator_server/worker/analyse.h"
#include "common/graph/dataset.h"
#include "common/privacy/parameters.h"
#include "tools/simulate/options.h"

namespace blink {

// What there is to say of links that were given, beside the true ones.
struct GivenFigures {
  uint64_t links = 0, true_positives = 0;
  bool weighted = false;
};

struct ReportFigures {
  double bytes_mean = 0;                    // coded bits per report
  double entropy_bytes = 0;                 // mean of log2 C(n-1, k) / 8
  std::optional<double> privatize_us_mean;  // draw and apply the noise; absent in a replay
};

// Of the links that another mechanism than blink or one-end made. Directed links count half.
struct MechanismFigures {
  double links = 0;
  std::optional<double> precision, recall;  // against the true graph; absent where nothing is divided by
  std::optional<uint32_t> groups;           // of ldpgen's second question
  double links_seconds = 0;                 // from the reports to the links
};

struct Trial {
  uint64_t seed = 0;
  std::optional<ReportFigures> report;  // absent on the true graph and for the MLP alone
  std::optional<Checks> checks;         // as `report`, and the next
  std::optional<Estimates> estimates;   // the weights of Soft and Hybrid are not kept
  std::optional<MechanismFigures> mechanism;
  double degree_mae = 0;  // mean of |estimated degree - true degree|, where there is an estimate
  uint64_t tie_seed = 0;
  SeenFigures seen;  // of the links trained on; of the model none, of those asked for
  // Links trained on that are true. Absent where every pair was trained on, or none.
  std::optional<uint64_t> trained_true_positives;
  Candidate trained;
  TrainResult training;
  std::vector<Tried> search;
  std::optional<Tried> features_only;  // after a search, and for `bounds`

  bool has_model() const { return trained.options.model != Model::kNone; }
};

struct Simulation {
  std::string dataset_name, dataset_sha256, attributes_sha256;  // digests in hexadecimal (dataset_digest.h)
  uint32_t nodes = 0, features = 0, classes = 0;
  bool has_labels = true;
  uint64_t links = 0;
  SimulatedGraph graph = SimulatedGraph::kBlink;
  MechanismKind mechanism = MechanismKind::kBlink;
  std::optional<ReportOrigin> origin;           // absent where there are no reports: the true graph, or the MLP alone
  std::optional<PrivacyParameters> parameters;  // likewise
  std::optional<GivenFigures> given;            // of `links`
  std::optional<uint64_t> split_seed;           // of the split that was drawn
  double missing = 0;                           // share of the nodes that never report
  double memory_need_bytes = 0;                 // at the peak; an estimate
  int trials_asked = 0;
  bool bounds_asked = false;
  std::vector<Trial> trials;  // those that are finished: fewer than were asked for when the simulation was interrupted
  // For `bounds`: the same training on the true links, with the seed of the first trial. It depends on no draw.
  std::optional<Trial> true_links;

  bool partial() const {
    return trials.size() < static_cast<size_t>(trials_asked) || (bounds_asked && !true_links.has_value());
  }
};

// INVALID_ARGUMENT when options contradict each other or are out of range; errors of the data set, the round folder and
// the training as they come. UNAVAILABLE when the random source fails.
absl::StatusOr<Simulation> Simulate(const SimulateOptions& options);
// Another thread may look at `so_far` (so_far.h).
class SimulationSoFar;
absl::StatusOr<Simulation> Simulate(const SimulateOptions& options, SimulationSoFar& so_far);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_RUN_H_
