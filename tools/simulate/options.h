// What `blink simulate` is asked for. Needs no LibTorch, so that a wrong command line is refused without it.
#ifndef BLINK_TOOLS_SIMULATE_OPTIONS_H_
#define BLINK_TOOLS_SIMULATE_OPTIONS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator_server/estimate/attributed/attributed.h"
#include "aggregator_server/train/learned_links_options.h"
#include "blink/v1/operator.pb.h"
#include "common/privacy/parameters.h"
#include "mechanisms/kind.h"

namespace blink {

enum class SimulatedGraph { kBlink, kTrue };

struct SimulateOptions {
  std::string dataset;  // data-set folder, with the links
  SimulatedGraph graph = SimulatedGraph::kBlink;
  MechanismKind mechanism = MechanismKind::kBlink;
  LearnedLinksOptions solitude;              // of the mechanism solitude
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
  // Folder in which the reports of every trial are kept for others to read (kept_reports.h); or empty.
  std::string save_reports;
  // Links to train on in place of reports: a matrix as scipy.sparse.save_npz writes it (given_links.h); or empty.
  std::string links;
  std::optional<uint64_t> split_seed;  // of a new split of the nodes, in place of the data set's
  bool ignore_memory = false;          // start even where the machine has too little
  bool progress = true;                // on standard error
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

// Whether the reports that are drawn are kept, in options.save_reports or options.checkpoint.
bool KeepsReports(const SimulateOptions& options);

// False where nothing of a report is asked for: on the true graph, on given links, for the MLP alone, which sees no
// links, and for a mechanism that draws no noise.
bool DrawsOrReadsReports(const SimulateOptions& options);

// Whether links are estimated from reports, so that there are priors and variants.
bool EstimatesLinks(const SimulateOptions& options);

// Of the reports that are drawn, by the mechanism of a round that options.mechanism is. INVALID_ARGUMENT, naming the
// flag, for a budget out of range.
absl::StatusOr<PrivacyParameters> ParametersOf(const SimulateOptions& options, uint32_t nodes);

// All ingredients but those that `without` names. INVALID_ARGUMENT for an unknown name.
absl::StatusOr<Ingredients> LeaveOutIngredients(const std::vector<std::string>& without);

// INVALID_ARGUMENT when a flag of the attributed prior is out of range, or `prior`, of the training that will be done,
// is another one.
absl::Status CheckPrior(const SimulateOptions& options, v1::Prior prior);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_OPTIONS_H_
