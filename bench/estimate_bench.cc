// Estimation from reports in memory, as on Facebook: 22,470 nodes, mean degree 15, degree share 0.1. Prints the seconds
// of the MLE and of Hard, what the posterior's tables and masks cost in memory beyond the reports, and the products W x
// that training is made of, beside the plain loop over all weights in the same run.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "aggregator_server/estimate/beta/beta_model.h"
#include "aggregator_server/estimate/beta/denoise.h"
#include "common/graph/dataset.h"
#include "common/privacy/privatizer.h"

namespace blink {
namespace {

CsrGraph SyntheticGraph(uint32_t nodes) {
  return GenerateDataset({.nodes = nodes, .classes = 4, .mean_degree = 15.2, .features = 0, .words_per_node = 0})
      ->graph;
}

PrivacyParameters Parameters(uint32_t nodes, int64_t epsilon, int64_t share_ppm = 100'000) {
  return *PrivacyParameters::Create(epsilon * 1'000'000, static_cast<uint32_t>(share_ppm), nodes);
}

ReportSet DrawReports(const PrivacyParameters& parameters, RowStorage storage) {
  const uint32_t nodes = parameters.node_count();
  const CsrGraph graph = SyntheticGraph(nodes);
  ReportSet reports(parameters, storage);
  for (NodeIndex i = 0; i < nodes; ++i) {
    auto noise = DrawNoise(parameters, i, SecureRandom());
    if (!noise.ok() || !reports.Add(i, *ApplyNoise(parameters, i, *std::move(noise), graph.NeighboursOf(i))).ok()) {
      std::fprintf(stderr, "cannot draw the reports\n");
      std::exit(1);
    }
  }
  (void)reports.Complete();
  return reports;
}

ReportSet DrawReports(uint32_t nodes, int64_t epsilon, int64_t share_ppm = 100'000) {
  const PrivacyParameters parameters = Parameters(nodes, epsilon, share_ppm);
  return DrawReports(parameters, FittingStorage(parameters));
}

void BM_Estimate(benchmark::State& state) {
  const ReportSet reports = DrawReports(static_cast<uint32_t>(state.range(0)), state.range(1), state.range(3));
  const auto variant = static_cast<Variant>(state.range(2));
  state.SetLabel(VariantName(variant));
  double mle = 0, denoise = 0;
  for (auto _ : state) {
    const auto estimate =
        EstimateLinks(reports, {.soft = variant == Variant::kSoft, .hybrid = variant == Variant::kHybrid});
    if (!estimate.ok()) return state.SkipWithError(std::string(estimate.status().message()).c_str());
    mle += estimate->beta_fit->mle.seconds;
    denoise += estimate->seconds - estimate->beta_fit->mle.seconds;
    state.counters["K"] = estimate->beta_fit->distinct_degrees;
    state.counters["steps"] = estimate->beta_fit->mle.iterations;
    state.counters["residual"] = estimate->beta_fit->mle.residual;
    state.counters["links"] = static_cast<double>(estimate->links().link_count());
  }
  const double rounds = static_cast<double>(state.iterations());
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  state.counters["mle_ms"] = 1e3 * mle / rounds;
  state.counters["denoise_ms"] = 1e3 * denoise / rounds;
  state.counters["peak_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}
BENCHMARK(BM_Estimate)
    ->ArgNames({"n", "epsilon", "variant", "share_ppm"})
    ->ArgsProduct({{2708}, {6}, {0, 1, 2}, {100'000}})
    ->ArgsProduct({{22470}, {1, 6, 8}, {0, 2, 1}, {100'000}})
    ->ArgsProduct({{22470}, {1, 8}, {0, 2}, {100}})        // the degrees drown in noise: thousands of classes
    ->ArgsProduct({{100'000}, {8}, {0, 2, 1}, {100'000}})  // half a minute to draw the reports
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Hard from rows as gaps, and how much longer it takes from packed bits, which are also so many times larger. The
// links are the same.
void BM_Storage(benchmark::State& state) {
  const PrivacyParameters parameters = Parameters(static_cast<uint32_t>(state.range(0)), state.range(1));
  const ReportSet packed = DrawReports(parameters, RowStorage::kPacked);
  ReportSet gaps(parameters, RowStorage::kGaps);
  for (NodeIndex i = 0; i < parameters.node_count(); ++i) {
    PrivateReport report{.bits = BitRow(parameters.node_count()), .noisy_degree = packed.noisy_degree(i)};
    packed.FillRow(i, 0, report.bits.mutable_words());
    (void)gaps.Add(i, std::move(report));
  }
  const auto started = std::chrono::steady_clock::now();
  (void)gaps.Complete();
  const double completed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  double of_gaps = 0, of_packed = 0;
  for (auto _ : state) {
    const auto from_gaps = EstimateLinks(gaps, {}), from_packed = EstimateLinks(packed, {});
    if (!from_gaps.ok() || !from_packed.ok() || from_gaps->links().neighbours() != from_packed->links().neighbours()) {
      return state.SkipWithError("the two storages do not give the same links");
    }
    of_gaps += from_gaps->seconds;
    of_packed += from_packed->seconds;
  }
  const double bytes = static_cast<double>(gaps.gap_rows().bytes() + gaps.gap_columns().bytes());
  state.counters["gaps_ms"] = 1e3 * of_gaps / static_cast<double>(state.iterations());
  state.counters["complete_ms"] = 1e3 * completed;
  state.counters["time_ratio"] = of_packed / of_gaps;
  state.counters["gaps_MB"] = bytes / 1e6;
  state.counters["bytes_ratio"] = ExpectedRowBytes(parameters, RowStorage::kPacked) / bytes;
}
BENCHMARK(BM_Storage)
    ->ArgNames({"n", "epsilon"})
    ->ArgsProduct({{30'000, 100'000}, {3, 4, 5, 6, 8}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// y = W x, x [n, columns]: milliseconds a product on all cores, and how much longer the plain loop over the rows of W
// takes on one (measured on the first 500 rows).
void BM_Product(benchmark::State& state) {
  const auto nodes = static_cast<uint32_t>(state.range(0));
  const int64_t columns = state.range(2);
  const auto variant = static_cast<Variant>(state.range(3));
  const auto estimate = EstimateLinks(DrawReports(nodes, state.range(1)),
                                      {.soft = variant == Variant::kSoft, .hybrid = variant == Variant::kHybrid});
  if (!estimate.ok()) return state.SkipWithError(std::string(estimate.status().message()).c_str());
  const LinkWeights& weights = *estimate->Of(variant);
  std::vector<float> x(nodes * columns), y(nodes * columns), row(nodes);
  for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k * 2654435761u % 1000) / 1000.0f;
  const int threads = static_cast<int>(std::thread::hardware_concurrency());
  double seconds = 0;
  for (auto _ : state) {
    const auto started = std::chrono::steady_clock::now();
    Multiply(weights, x.data(), columns, threads, y.data());
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  }
  constexpr NodeIndex kSlowRows = 500;
  double error = 0;
  const auto started = std::chrono::steady_clock::now();
  for (NodeIndex i = 0; i < kSlowRows; ++i) {
    FillRow(weights, i, row.data());
    std::vector<double> sums(columns, 0.0);
    for (NodeIndex j = 0; j < nodes; ++j) {
      for (int64_t c = 0; c < columns; ++c) sums[c] += static_cast<double>(row[j]) * x[j * columns + c];
    }
    for (int64_t c = 0; c < columns; ++c) error = std::max(error, std::abs(y[i * columns + c] / sums[c] - 1));
  }
  const double slow = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  state.SetLabel(VariantName(variant));
  state.counters["packed"] = weights.ones.empty() ? 0 : 1;
  state.counters["MB"] =
      (static_cast<double>(weights.ones.any.size()) * 16 + static_cast<double>(weights.values.size()) * 8) / 1e6;
  state.counters["twin_ratio"] = slow * nodes / kSlowRows / (seconds / static_cast<double>(state.iterations()));
  state.counters["twin_error"] = error;
}
BENCHMARK(BM_Product)
    ->ArgNames({"n", "epsilon", "columns", "variant"})
    ->ArgsProduct({{22470}, {1, 2, 3, 4, 5, 6, 7, 8}, {16, 4}, {static_cast<int64_t>(Variant::kSoft)}})
    ->ArgsProduct(
        {{22470}, {1, 8}, {16, 4}, {static_cast<int64_t>(Variant::kHard), static_cast<int64_t>(Variant::kHybrid)}})
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
