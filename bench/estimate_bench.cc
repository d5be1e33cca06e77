// Estimation from reports in memory, as on Facebook: 22,470 nodes, mean degree 15, degree share 0.1. Prints the seconds
// of the MLE and of Hard, and what the posterior's tables and masks cost in memory beyond the reports.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cmath>

#include "aggregator_server/estimate/denoise.h"
#include "common/graph/dataset.h"
#include "common/privacy/privatizer.h"

namespace blink {
namespace {

CsrGraph SyntheticGraph(uint32_t nodes) {
  return GenerateDataset({.nodes = nodes, .classes = 4, .mean_degree = 15.2, .features = 0, .words_per_node = 0})
      ->graph;
}

void BM_Estimate(benchmark::State& state) {
  const uint32_t nodes = static_cast<uint32_t>(state.range(0));
  const PrivacyParameters parameters = *PrivacyParameters::Create(state.range(1) * 1'000'000, 100'000, nodes);
  const CsrGraph graph = SyntheticGraph(nodes);
  ReportSet reports(parameters);
  for (NodeIndex i = 0; i < nodes; ++i) {
    auto noise = DrawNoise(parameters, i, SecureRandom());
    if (!noise.ok() || !reports.Add(i, *ApplyNoise(parameters, i, *std::move(noise), graph.NeighboursOf(i))).ok()) {
      return state.SkipWithError("cannot draw the reports");
    }
  }
  double mle = 0, denoise = 0;
  for (auto _ : state) {
    const auto estimate = EstimateLinks(reports, {});
    if (!estimate.ok()) return state.SkipWithError(std::string(estimate.status().message()).c_str());
    mle += estimate->mle.seconds;
    denoise += estimate->denoise_seconds;
    state.counters["K"] = estimate->distinct_degrees;
    state.counters["steps"] = estimate->mle.iterations;
    state.counters["residual"] = estimate->mle.residual;
    state.counters["links"] = static_cast<double>(estimate->links.link_count());
  }
  const double rounds = static_cast<double>(state.iterations());
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  state.counters["mle_ms"] = 1e3 * mle / rounds;
  state.counters["hard_ms"] = 1e3 * denoise / rounds;
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}
BENCHMARK(BM_Estimate)
    ->Args({2708, 6})
    ->Args({22470, 1})
    ->Args({22470, 6})
    ->Args({22470, 8})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// A million nodes: the MLE alone, from a power law of about a thousand distinct degrees.
void BM_MleOfAMillionNodes(benchmark::State& state) {
  std::vector<int64_t> degrees(1'000'000);
  for (size_t i = 0; i < degrees.size(); ++i) {
    degrees[i] = static_cast<int64_t>(
        6.0 / std::sqrt(1.0 - (static_cast<double>(i) + 0.5) / static_cast<double>(degrees.size())));
  }
  const DegreeClasses classes = ClassifyDegrees(degrees);
  state.counters["K"] = static_cast<double>(classes.degree.size());
  for (auto _ : state) {
    const auto model = FitBetaModel(classes);
    if (!model.ok()) return state.SkipWithError(std::string(model.status().message()).c_str());
    state.counters["residual"] = model->residual;
    state.counters["steps"] = model->iterations;
  }
}
BENCHMARK(BM_MleOfAMillionNodes)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace blink

BENCHMARK_MAIN();
