// The plausibility checks, as on Facebook: 22,470 nodes, mean degree 15, degree share 0.1. A round of honest nodes
// needs one pass over the pairs, an attacked one a few; `pass_ms` is one pass alone. At the border: what the checks add
// to a report, against the time that decoding it takes in the same run.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "aggregator_server/plausibility/pair_disagreements.h"
#include "aggregator_server/plausibility/plausibility.h"
#include "common/graph/dataset.h"
#include "common/privacy/privatizer.h"
#include "common/wire/report_codec.h"

namespace blink {
namespace {

PrivacyParameters Parameters(uint32_t nodes, int64_t epsilon) {
  return *PrivacyParameters::Create(static_cast<uint64_t>(epsilon) * 1'000'000, 100'000, nodes);
}

// Every `liar_every`th node claims a link to every seventh node; 0: none does.
ReportSet Fleet(const PrivacyParameters& parameters, uint32_t liar_every) {
  const uint32_t nodes = parameters.node_count();
  const CsrGraph graph =
      GenerateDataset({.nodes = nodes, .classes = 4, .mean_degree = 15.2, .features = 0, .words_per_node = 0})->graph;
  ReportSet reports(parameters);
  for (NodeIndex i = 0; i < nodes; ++i) {
    std::vector<NodeIndex> list(graph.NeighboursOf(i).begin(), graph.NeighboursOf(i).end());
    if (liar_every > 0 && i % liar_every == 0) {
      list.clear();
      for (NodeIndex j = i % 7; j < nodes; j += 7) {
        if (j != i) list.push_back(j);
      }
    }
    (void)reports.Add(i, *ApplyNoise(parameters, i, *DrawNoise(parameters, i, SecureRandom()), list));
  }
  (void)reports.Complete();
  return reports;
}

void BM_Plausibility(benchmark::State& state) {
  const PrivacyParameters parameters = Parameters(static_cast<uint32_t>(state.range(0)), state.range(1));
  const ReportSet reports = Fleet(parameters, static_cast<uint32_t>(state.range(2)));
  double all = 0;
  for (auto _ : state) {
    const Plausibility result = *TestPlausibility(reports, {}, 0);
    all += result.seconds;
    state.counters["flagged"] = static_cast<double>(result.flagged.size());
  }
  const auto started = std::chrono::steady_clock::now();
  benchmark::DoNotOptimize(CountDisagreements(reports, reports.reported_nodes(), 0));
  state.counters["pass_ms"] =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
}
BENCHMARK(BM_Plausibility)
    ->ArgNames({"nodes", "epsilon", "liar_every"})
    ->Args({2708, 6, 0})
    ->Args({22470, 1, 0})
    ->Args({22470, 8, 0})
    ->Args({22470, 1, 20})
    ->Args({22470, 8, 20})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void BM_DecodeAReport(benchmark::State& state) {
  const PrivacyParameters parameters = Parameters(22470, state.range(0));
  const CodedReport coded =
      EncodeReport(parameters, *ApplyNoise(parameters, 0, *DrawNoise(parameters, 0, SecureRandom()), {}));
  for (auto _ : state) benchmark::DoNotOptimize(DecodeReport(parameters, 0, coded));
}
BENCHMARK(BM_DecodeAReport)->ArgName("epsilon")->Arg(1)->Arg(6);

void BM_ScreenAReport(benchmark::State& state) {
  const PrivacyParameters parameters = Parameters(22470, state.range(0));
  const PrivateReport report = *ApplyNoise(parameters, 0, *DrawNoise(parameters, 0, SecureRandom()), {});
  const ReportScreen screen = ReportTests::Create(parameters, {})->MakeScreen();
  for (auto _ : state) benchmark::DoNotOptimize(screen.IsImplausible(report.bits.Count(), report.noisy_degree));
}
BENCHMARK(BM_ScreenAReport)->ArgName("epsilon")->Arg(1)->Arg(6);

void BM_PrepareTheScreenOfARound(benchmark::State& state) {
  const PrivacyParameters parameters =
      *PrivacyParameters::Create(static_cast<uint64_t>(state.range(1)), 100'000, static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(ReportTests::Create(parameters, {.degree_max = 1000})->MakeScreen());
}
BENCHMARK(BM_PrepareTheScreenOfARound)
    ->ArgNames({"nodes", "epsilon_micro"})
    ->Args({22470, 6'000'000})
    ->Args({1'000'000, 1'000'000})
    ->Args({22470, 12'000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace blink

BENCHMARK_MAIN();
