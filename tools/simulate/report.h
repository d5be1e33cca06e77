// What `blink simulate` prints.
#ifndef BLINK_TOOLS_SIMULATE_REPORT_H_
#define BLINK_TOOLS_SIMULATE_REPORT_H_

#include <string>

#include "nlohmann/json.hpp"
#include "tools/simulate/run.h"

namespace blink {

// One object: dataset, graph, privacy, report, plausibility, estimate, train, peak_rss_bytes, trials[]. Figures above
// `trials` are means over the trials (the largest for mle_residual; test_accuracy_std is the sample standard deviation,
// null for one trial). On the true graph `report`, `plausibility` and `estimate` are null. In `estimate` `links`,
// `precision` and `recall` are of Hard, whatever was trained on; what begins with trained_ of the links that the model
// saw: links and precision are null for Soft, which weighs every pair. With the attributed prior `estimate` is of it,
// and `estimate.beta` of the beta prior on the same reports. After searches `train` has `chosen`, the name that was
// chosen most often, and `candidates`: means over the `trials` that trained one, and how often it was `chosen`.
nlohmann::ordered_json SimulationJson(const Simulation& simulation, uint64_t peak_rss_bytes);

// The same for a person, from SimulationJson's object.
std::string SimulationTable(const nlohmann::ordered_json& json);

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_REPORT_H_
