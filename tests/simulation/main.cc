// Long runs of the simulation, and the repetition of a run that found something (README.md).
#include <chrono>
#include <cstdio>
#include <map>
#include <string>

#include "CLI/CLI.hpp"
#include "common/base/exit_code.h"
#include "tests/simulation/simulation.h"

int main(int argc, char** argv) {
  using namespace blink;              // NOLINT
  using namespace blink::simulation;  // NOLINT
  SimulationOptions options;
  bool prints_trace = false;
  std::map<std::string, Fault> faults;
  for (const NamedFault& named : kFaults) faults[named.name] = named.fault;
  CLI::App app(
      "Simulates an aggregator with everything that can go wrong, from a seed.\n"
      "Ends with 0, or with 10 after it found something that must never happen.");
  app.add_option("--seed", options.seed, "decides everything; the same seed gives the same run")->capture_default_str();
  app.add_option("--operations", options.operations, "how many are made")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--fault", options.fault, "puts a mistake into the aggregator, which the simulation must find")
      ->transform(CLI::CheckedTransformer(faults));
  app.add_flag("--trace", prints_trace, "prints every operation");
  CLI11_PARSE(app, argc, argv);

  const auto began = std::chrono::steady_clock::now();
  uint64_t told = 0;
  if (prints_trace) options.trace = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  options.progress = [&](uint64_t operations) {
    if (operations < told + 10'000 || prints_trace) return;
    told = operations;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    std::fprintf(stderr, "%llu of %llu operations, %.0f s\n", static_cast<unsigned long long>(operations),
                 static_cast<unsigned long long>(options.operations), seconds);
  };
  const SimulationResult result = Simulate(options);
  if (!result.violation.empty()) {
    std::printf("%s", DescribeViolation(options, result).c_str());
    return static_cast<int>(ExitCode::kAuditViolation);
  }
  std::printf("seed %llu: %llu operations, nothing that must never happen; the trace has the SHA-256 %s\n",
              static_cast<unsigned long long>(options.seed), static_cast<unsigned long long>(result.operations),
              DigestToHex(result.trace).c_str());
  return 0;
}
