// The other mechanisms in a simulation: what they need, and what a trial makes of them.
//
//   data set --(mechanisms/, the nodes' side)--> reports --(the aggregator's side)--> links --(TrainOnLinks)--> model
//
// one-end is no other mechanism here: its reports are those of a round.
#ifndef BLINK_TOOLS_SIMULATE_MECHANISM_TRIAL_H_
#define BLINK_TOOLS_SIMULATE_MECHANISM_TRIAL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/worker/analyse.h"
#include "common/graph/dataset.h"
#include "common/privacy/parameters.h"
#include "common/privacy/random_source.h"
#include "mechanisms/kind.h"
#include "tools/simulate/run.h"

namespace blink {

// What a trial holds at its peak, for CheckMemory. Of ldpgen it grows with the number of groups, which the answers
// decide: that is checked in the trial.
MemoryNeed NeedOfMechanism(const SimulateOptions& options, const v1::TrainingSpec& spec, const Dataset& dataset,
                           const PrivacyParameters& parameters);

struct MechanismRun {
  const SimulateOptions* options = nullptr;
  const Dataset* dataset = nullptr;
  v1::TrainingSpec spec;  // normalised, with the trial's seed
  std::optional<PrivacyParameters> parameters;
  RandomSource* random = nullptr;
  std::function<void(double fraction)> drawing;
  std::function<void(double fraction, const std::string& text)> training;
};

// A trial of any other mechanism but blink, one-end, none and mlp. RESOURCE_EXHAUSTED: more memory is needed than there
// is.
absl::StatusOr<Trial> RunMechanismTrial(const MechanismRun& run);

// The links that a mechanism makes of a data set, and how. For tests; RunMechanismTrial trains on them.
struct MechanismLinks {
  LinkWeights weights;
  ReportFigures report;
  MechanismFigures figures;
};
absl::StatusOr<MechanismLinks> MakeMechanismLinks(const MechanismRun& run);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_MECHANISM_TRIAL_H_
