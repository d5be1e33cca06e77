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

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/result/metrics_json.h"
#include "aggregator_server/worker/analyse.h"
#include "common/graph/dataset.h"
#include "common/privacy/parameters.h"

namespace blink {

enum class SimulatedGraph { kBlink, kTrue };

struct SimulateOptions {
  std::string dataset;  // data-set folder, with the links
  SimulatedGraph graph = SimulatedGraph::kBlink;
  std::optional<uint64_t> epsilon_micro;     // needed for kBlink without `reports`, but not for the MLP alone
  std::optional<uint64_t> degree_share_ppm;  // default DefaultDegreeSharePpm
  // Of the attributed prior: what is left out, by the names of kIngredientNames, and rounds over the network, 0 .. 2,
  // instead of as many as what the bits may spend allows.
  std::vector<std::string> without;
  std::optional<int> network_rounds;
  std::string reports;                 // round folder to replay, or empty
  bool insecure_seeded_noise = false;  // NOT PRIVATE
  bool bounds = false;                 // measure what the features alone and what the true links give, too
  double missing = 0;                  // [0, 1): share of the nodes that never report, chosen by the trial's seed
  std::optional<int> trials;           // default 5; 1 for a replay. Trial t trains with seed + t
  std::optional<uint64_t> seed;        // default 1, or the round's
  // What is set here goes before round.json (replay) and the defaults. Where no node has a label, and nothing of a
  // training is set, the model is none.
  v1::TrainingSpec training;
  std::optional<v1::Implausible> implausible;  // default flag, or the round's
  int threads = 0;                             // 0: all cores
  std::string output;                          // result folder of the first trial, as the worker writes it; or empty
  bool replace_output = false;                 // an earlier result may be there
  // Folder in which the trainings keep their state, so that the same simulation goes on where it was ended; or empty.
  // Reports that cannot be drawn again are kept there too (kept_reports.h).
  std::string checkpoint;
  double checkpoint_every_s = 20;
  bool ignore_memory = false;  // start even where the machine has too little
  bool progress = true;        // on standard error
};

struct ReportFigures {
  double bytes_mean = 0;                    // coded bits per report
  double entropy_bytes = 0;                 // mean of log2 C(n-1, k) / 8
  std::optional<double> privatize_us_mean;  // draw and apply the noise; absent in a replay
};

struct Trial {
  uint64_t seed = 0;
  std::optional<ReportFigures> report;  // absent on the true graph and for the MLP alone
  std::optional<Checks> checks;         // as `report`, and the next
  std::optional<Estimates> estimates;   // the weights of Soft and Hybrid are not kept
  double degree_mae = 0;                // mean of |estimated degree - true degree|, where there is an estimate
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
  std::optional<ReportOrigin> origin;           // absent where there are no reports: the true graph, or the MLP alone
  std::optional<PrivacyParameters> parameters;  // likewise
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

// What --without can leave out of the attributed prior, each on its own.
struct IngredientName {
  const char* name;
  bool Ingredients::*ingredient;
};
inline constexpr std::array<IngredientName, 7> kIngredientNames = {{{"degrees", &Ingredients::degrees},
                                                                    {"total", &Ingredients::degree_total},
                                                                    {"features", &Ingredients::features},
                                                                    {"latent", &Ingredients::latent},
                                                                    {"nearest", &Ingredients::nearest},
                                                                    {"classes", &Ingredients::classes},
                                                                    {"network", &Ingredients::network}}};

// INVALID_ARGUMENT, naming the flag, when options contradict each other or a budget is out of range; reads nothing.
absl::Status ValidateSimulateOptions(const SimulateOptions& options);

// Whether the reports that are drawn are kept in options.checkpoint.
bool KeepsReports(const SimulateOptions& options);

// INVALID_ARGUMENT when options contradict each other or are out of range; errors of the data set, the round folder and
// the training as they come. UNAVAILABLE when the random source fails.
absl::StatusOr<Simulation> Simulate(const SimulateOptions& options);
// Another thread may look at `so_far` (so_far.h).
class SimulationSoFar;
absl::StatusOr<Simulation> Simulate(const SimulateOptions& options, SimulationSoFar& so_far);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_RUN_H_
