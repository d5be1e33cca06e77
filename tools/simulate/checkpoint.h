// The folder in which a simulation keeps the state of its trainings.
//
//   DIR/simulation               a line that says what this is, and the digest of what the simulation is made from
//   DIR/trial-1/*.checkpoint     as the trainings write them (aggregator_server/train/checkpoint.h)
//   DIR/trial-1/reports.blr, round.json      where noise was drawn that no seed gives again (kept_reports.h)
//
// Its owner alone can read it.
#ifndef BLINK_TOOLS_SIMULATE_CHECKPOINT_H_
#define BLINK_TOOLS_SIMULATE_CHECKPOINT_H_

#include <string>

#include "absl/status/status.h"
#include "common/base/digest.h"

namespace blink {

// Makes `folder` that of the simulation `run`, or finds that it is, before anything is trained: everything that would
// be read later is whole, and a file can be written. INVALID_ARGUMENT, with the remedy: it is a file, holds something
// else, is another simulation's, or a state in it is damaged. What is refused is left as it is. Otherwise what the file
// system says.
absl::Status ClaimSimulationCheckpoints(const std::string& folder, const Digest& run);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_CHECKPOINT_H_
