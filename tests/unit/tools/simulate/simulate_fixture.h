// A small data set, a sealed round of it, and the options of a simulation.
#ifndef BLINK_TESTS_UNIT_TOOLS_SIMULATE_SIMULATE_FIXTURE_H_
#define BLINK_TESTS_UNIT_TOOLS_SIMULATE_SIMULATE_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/wire/training_spec.h"
#include "tests/unit/worker/small_round.h"
#include "tools/simulate/figures.h"
#include "tools/simulate/json_report.h"
#include "tools/simulate/run.h"
#include "tools/simulate/text_report.h"

namespace blink {

inline nlohmann::ordered_json JsonOf(const Simulation& simulation) {
  return SimulationJson(FiguresOf(simulation, 12345));
}
inline std::string TextOf(const Simulation& simulation, size_t columns = 200) {
  return SimulationText(FiguresOf(simulation, 12345), columns);
}

class SimulateTest : public testing::SmallRound {
 protected:
  SimulateOptions Options() const {
    SimulateOptions options;
    options.dataset = folder_ + "/dataset";
    options.epsilon_micro = 6'000'000;
    options.trials = 2;
    options.training = testing::SmallSpec();
    options.progress = false;
    return options;
  }
  SimulateOptions OnTrueLinks() const {
    SimulateOptions options = Options();
    options.graph = SimulatedGraph::kTrue;
    options.epsilon_micro.reset();
    return options;
  }
  SimulateOptions Replay() const {
    SimulateOptions options;
    options.dataset = folder_ + "/dataset";
    options.reports = folder_ + "/round";
    options.progress = false;
    return options;
  }
  void ExpectRefused(const SimulateOptions& options, const std::string& text) const {
    const auto simulation = Simulate(options);
    EXPECT_EQ(simulation.status().code(), absl::StatusCode::kInvalidArgument) << simulation.status();
    EXPECT_THAT(std::string(simulation.status().message()), ::testing::HasSubstr(text));
  }
};

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_TOOLS_SIMULATE_SIMULATE_FIXTURE_H_
