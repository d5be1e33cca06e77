#include "tests/simulation/simulation.h"

#include <algorithm>
#include <deque>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/logging.h"
#include "tests/simulation/world.h"

namespace blink::simulation {
namespace {

constexpr uint64_t kOperationsOfWorld = 1000;
constexpr size_t kLinesKept = 40;

// The programs' log tells of every fault.
class Silence {
 public:
  Silence() : before_(spdlog::default_logger()->level()) { spdlog::set_level(spdlog::level::off); }
  ~Silence() { spdlog::set_level(before_); }

 private:
  const spdlog::level::level_enum before_;
};

}  // namespace

SimulationResult Simulate(const SimulationOptions& options) {
  const Silence silence;
  SimulationResult result;
  std::deque<std::string> lines;
  Sha256 trace;
  const auto note = [&](const std::string& what) {
    lines.push_back(absl::StrCat(result.operations, ": ", what));
    trace.Update(lines.back()).Update("\n");
    if (options.trace) options.trace(lines.back());
    if (lines.size() > kLinesKept) lines.pop_front();
  };
  for (uint64_t number = 0; result.operations < options.operations && result.violation.empty(); ++number) {
    const bool is_shared = number % 3 == 1;
    note(absl::StrCat("a new world of ", is_shared ? "two aggregators that share a database" : "one aggregator"));
    // Worlds of neighbouring seeds must not be the same.
    World world({.seed = options.seed * 0x9e3779b97f4a7c15 + number,
                 .is_shared = is_shared,
                 .fault = options.fault,
                 .trace = note});
    const uint64_t end = std::min(result.operations + kOperationsOfWorld, options.operations);
    while (result.operations < end && world.violation().empty()) {
      ++result.operations;
      world.Step();
    }
    if (world.violation().empty()) world.Settle();
    result.violation = world.violation();
    if (options.progress) options.progress(result.operations);
  }
  result.lines.assign(lines.begin(), lines.end());
  result.trace = trace.Finish();
  return result;
}

std::string DescribeViolation(const SimulationOptions& options, const SimulationResult& result) {
  std::string fault;
  for (const NamedFault& named : kFaults) {
    if (named.fault == options.fault) fault = absl::StrCat(" --fault ", named.name);
  }
  return absl::StrCat("seed ", options.seed, ", operation ", result.operations, ": ", result.violation,
                      "\nThe last of what happened, each line with the number of its operation:\n  ",
                      absl::StrJoin(result.lines, "\n  "), "\nTo repeat it: simulate_aggregator --seed ", options.seed,
                      " --operations ", options.operations, fault, "\n");
}

}  // namespace blink::simulation
