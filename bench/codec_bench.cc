// Coding of one report's bits. Rates are in bytes of packed bits (n / 8) a second; "x_entropy" is the size over log2
// C(n-1, k) / 8, "x_copy" the time over that of copying the packed row.
#include <benchmark/benchmark.h>

#include <random>

#include "bench/seconds_of.h"
#include "common/wire/report_codec.h"

namespace blink {
namespace {

BitRow Row(const benchmark::State& state) {
  const auto parameters = *PrivacyParameters::Create(state.range(1) * 1'000'000, 100'000, state.range(0));
  std::mt19937_64 engine(1);
  std::bernoulli_distribution one(parameters.flip_probability());
  BitRow row(parameters.node_count());
  for (uint32_t j = 1; j < row.size(); ++j) {
    if (one(engine)) row.Set(j);
  }
  return row;
}

void Copy(const BitRow& row) {
  BitRow copy = row;
  benchmark::DoNotOptimize(copy);
}

// Prints what `f`, which was timed, made of the row.
template <typename F>
void Report(benchmark::State& state, const BitRow& row, F f) {
  const double packed = row.size() / 8.0;
  const int times = static_cast<int>(20'000'000 / row.size());
  state.counters["x_copy"] = SecondsOf(f, times) / SecondsOf([&] { Copy(row); }, 10 * times);
  state.counters["coded_bytes"] = static_cast<double>(EncodeBits(row).size());
  state.counters["x_entropy"] = EncodeBits(row).size() / EntropyBytes(row.size(), row.Count());
  state.counters["packed_rate"] =
      benchmark::Counter(packed * state.iterations(), benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}

void BM_Encode(benchmark::State& state) {
  const BitRow row = Row(state);
  const auto encode = [&] { benchmark::DoNotOptimize(EncodeBits(row)); };
  for (auto _ : state) encode();
  Report(state, row, encode);
}

void BM_Decode(benchmark::State& state) {
  const BitRow row = Row(state);
  const std::string coded = EncodeBits(row);
  const auto decode = [&] { benchmark::DoNotOptimize(DecodeBits(coded, row.size())); };
  for (auto _ : state) decode();
  Report(state, row, decode);
}

#define BLINK_CODEC_ARGUMENTS \
  ArgsProduct({{22'470, 1'000'000}, {1, 2, 3, 4, 6, 8}})->ArgNames({"nodes", "epsilon"})->Unit(benchmark::kMicrosecond)
BENCHMARK(BM_Encode)->BLINK_CODEC_ARGUMENTS;
BENCHMARK(BM_Decode)->BLINK_CODEC_ARGUMENTS;

}  // namespace
}  // namespace blink

BENCHMARK_MAIN();
