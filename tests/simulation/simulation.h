// A run of the simulation: one world after the other, all from one seed.
#ifndef BLINK_TESTS_SIMULATION_SIMULATION_H_
#define BLINK_TESTS_SIMULATION_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "tests/simulation/faults.h"

namespace blink::simulation {

struct SimulationOptions {
  uint64_t seed = 1;
  uint64_t operations = 10'000;
  Fault fault = Fault::kNone;
  std::function<void(const std::string& line)> trace;  // every line of it
  std::function<void(uint64_t operations)> progress;   // after every world
};

struct SimulationResult {
  uint64_t operations = 0;         // that were made; with a violation, the last one's number
  std::string violation;           // "": none
  std::vector<std::string> lines;  // the end of the trace
  Digest trace{};                  // of the whole trace
};

SimulationResult Simulate(const SimulationOptions& options);

// What somebody needs who looks for the mistake: seed, operation, the last lines, and how to repeat the run.
std::string DescribeViolation(const SimulationOptions& options, const SimulationResult& result);

}  // namespace blink::simulation

#endif  // BLINK_TESTS_SIMULATION_SIMULATION_H_
