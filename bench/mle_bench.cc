// Fits the beta-model to degrees and prints one line of JSON: what it took, and what it reached.
//
//   mle_bench fit FILE        degrees of a file, one a line; writes FILE.beta, one a line
//   mle_bench scale           n = 1,000,000 nodes with K = 1,000 .. 200,000 distinct degrees
//   mle_bench power N SEED    prints N degrees of a power law (what mle_bench.py uses without a data set)
//
// bench/mle_bench.py compares `fit` with NEMtropy.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "aggregator_server/estimate/beta/beta_model.h"

namespace blink {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Of all threads of the process: less disturbed than the clock by what else the machine does.
double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// From raw degrees to beta: classing and fit. The best of `times` calls.
int FitAndPrint(const std::vector<int64_t>& degrees, int times, const std::string& beta_file) {
  double best = 1e300, classing = 0, cpu = 1e300;
  BetaModel model;
  DegreeClasses classes;
  for (int k = 0; k < times; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu_begin = CpuSeconds();
    classes = ClassifyDegrees(degrees);
    const double classed = SecondsSince(begin);
    absl::StatusOr<BetaModel> fitted = FitBetaModel(classes);
    const double seconds = SecondsSince(begin);
    if (!fitted.ok()) {
      std::cerr << fitted.status() << "\n";
      return 1;
    }
    cpu = std::min(cpu, CpuSeconds() - cpu_begin);
    if (seconds < best) best = seconds, classing = classed;
    model = *std::move(fitted);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "{\"nodes\": %zu, \"classes\": %zu, \"seconds\": %.6g, \"cpu_seconds\": %.6g, \"classing_seconds\": %.6g, "
      "\"steps\": %d, \"exists\": %s, "
      "\"share\": %.4g, \"residual\": %.3g, \"distance\": %.3g, \"peak_mb\": %.0f}\n",
      degrees.size(), classes.degree.size(), best, cpu, classing, model.iterations, model.exists ? "true" : "false",
      model.degree_share, model.residual, model.distance, static_cast<double>(usage.ru_maxrss) / 1024);
  std::fflush(stdout);
  if (beta_file.empty()) return 0;
  std::ofstream out(beta_file);
  out.precision(17);
  for (const uint32_t c : classes.class_of_node) out << model.beta[c] << "\n";
  return out.good() ? 0 : 1;
}

// Degrees of 3 with noise of growing scale: the more, the more of them differ.
int Scale() {
  for (const double noise : {120.0, 1550.0, 11'500.0, 86'000.0}) {
    std::mt19937_64 random(1);
    std::exponential_distribution<double> exponential(1 / noise);
    std::vector<int64_t> degrees(1'000'000);
    for (int64_t& d : degrees) d = 3 + std::llround(exponential(random) - exponential(random));
    if (FitAndPrint(degrees, noise < 1e4 ? 3 : 1, "") != 0) return 1;
  }
  return 0;
}

int Power(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(1e-4, 1);
  for (size_t i = 0; i < count; ++i) std::printf("%lld\n", std::llround(4 / std::sqrt(uniform(random))));
  return 0;
}

int Main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "scale" && argc == 2) return Scale();
  if (what == "power" && argc == 4)
    return Power(std::strtoull(argv[2], nullptr, 10), std::strtoull(argv[3], nullptr, 10));
  if (what != "fit" || argc != 3) {
    std::cerr << "usage: mle_bench fit FILE | scale | power N SEED\n";
    return 2;
  }
  std::ifstream in(argv[2]);
  std::vector<int64_t> degrees;
  for (int64_t d; in >> d;) degrees.push_back(d);
  if (degrees.size() < 3) {
    std::cerr << argv[2] << " holds fewer than 3 degrees, one a line\n";
    return 2;
  }
  return FitAndPrint(degrees, 5, std::string(argv[2]) + ".beta");
}

}  // namespace
}  // namespace blink

int main(int argc, char** argv) { return blink::Main(argc, argv); }
