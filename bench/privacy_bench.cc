// One report: what drawing and applying its noise costs, against a bit-by-bit twin and against the random generator
// alone.
//
// Arguments: nodes, epsilon (degree share 0.1). "us" is microseconds a report; "x_generator" is its time over that of
// fetching the same number of random bytes, "x_twin" the twin's time over it (larger is better).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "bench/seconds_of.h"
#include "common/privacy/privatizer.h"
#include "common/privacy/randomized_response.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

// One 64-bit uniform integer a bit, compared with the numerator.
void BitByBit(const PrivacyParameters& parameters, RandomBits& random, BitRow& row) {
  for (uint32_t j = 0; j < row.size(); ++j) {
    if (random.NextWord() < parameters.flip_numerator()) row.Set(j);
  }
}

void BM_PrivatizeOneReport(benchmark::State& state) {
  const uint32_t n = static_cast<uint32_t>(state.range(0));
  const auto parameters = *PrivacyParameters::Create(state.range(1) * 1'000'000, 100'000, n);
  std::vector<NodeIndex> list;
  for (NodeIndex j = 1; j <= 15; ++j) list.push_back(j * (n / 16));
  const auto privatize = [&] {
    auto report = ApplyNoise(parameters, 0, *DrawNoise(parameters, 0, SecureRandom()), list);
    benchmark::DoNotOptimize(report);
  };
  for (auto _ : state) privatize();

  CountingRandom counting(SecureRandom());
  benchmark::DoNotOptimize(DrawNoise(parameters, 0, counting));
  std::vector<uint8_t> buffer(8192);
  const double ours = SecondsOf(privatize, 100);
  const double generator = SecondsOf(
      [&] {
        for (uint64_t left = counting.bytes(); left > 0;) {
          const uint64_t some = std::min<uint64_t>(left, buffer.size());
          (void)SecureRandom().Fill(absl::MakeSpan(buffer.data(), some));
          left -= some;
        }
      },
      100);
  const double twin = SecondsOf(
      [&] {
        RandomBits random(SecureRandom());
        BitRow row(n);
        BitByBit(parameters, random, row);
        benchmark::DoNotOptimize(row);
      },
      3);
  const double words = SecondsOf(
      [&] {
        RandomBits random(SecureRandom());
        BitRow row(n);
        for (uint64_t& word : row.mutable_words()) word = BernoulliWord(parameters.flip_numerator(), random);
        benchmark::DoNotOptimize(row);
      },
      100);
  state.counters["us"] = ours * 1e6;
  state.counters["random_bytes"] = static_cast<double>(counting.bytes());
  state.counters["x_generator"] = ours / generator;
  state.counters["x_twin"] = twin / ours;
  state.counters["x_words"] = words / ours;  // 64 flips at a time, whatever P is
}
BENCHMARK(BM_PrivatizeOneReport)
    ->ArgsProduct({{1024, 2708, 22'470, 1'000'000}, {1, 2, 3, 4, 5, 6, 7, 8}})
    ->ArgNames({"nodes", "epsilon"})
    ->Unit(benchmark::kMicrosecond);

void BM_GeneratorAlone(benchmark::State& state) {
  std::vector<uint8_t> buffer(state.range(0));
  for (auto _ : state) (void)SecureRandom().Fill(absl::MakeSpan(buffer));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_GeneratorAlone)->Arg(8192)->Arg(1 << 20)->ArgName("bytes");

}  // namespace
}  // namespace blink

BENCHMARK_MAIN();
