#include "common/wire/rans.h"

#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace blink::wire_internal {
namespace {

// The slow twin of Reciprocal::Step.
uint64_t StepByDivision(uint64_t x, uint32_t frequency, int log2_total, uint32_t start) {
  return ((x / frequency) << log2_total) + x % frequency + start;
}

TEST(Reciprocal, DividesLikeDivisionAtTheSeamsOfEveryFrequency) {
  constexpr int kLog2Total = 15;
  std::mt19937_64 engine(1);
  for (uint32_t f = 1; f < 1u << kLog2Total; ++f) {
    const Reciprocal reciprocal(f, kLog2Total);
    // A state before its step is below 2^(63 - t) f; what it gave away in words is gone.
    const uint64_t limit = (uint64_t{1} << (63 - kLog2Total)) * f;
    const uint32_t start = (1u << kLog2Total) - f;
    std::vector<uint64_t> states = {1, f, kStateMin, limit - 1, limit - f, limit - f - 1};
    for (int i = 0; i < 8; ++i) {
      const uint64_t multiple = engine() % (limit / f) * f;  // the quotient changes here
      states.insert(states.end(), {multiple + f - 1, multiple + f, multiple + engine() % f});
    }
    for (const uint64_t x : states) {
      if (x == 0 || x >= limit) continue;
      ASSERT_EQ(reciprocal.Step(x, start), StepByDivision(x, f, kLog2Total, start)) << "f=" << f << " x=" << x;
    }
  }
}

FrequencyTable RandomTable(uint32_t size, int log2_total, std::mt19937_64& engine) {
  std::vector<uint32_t> frequencies(size, 1);
  // A few symbols take most: frequencies from 1 up to half the total.
  for (uint32_t left = (1u << log2_total) - size; left > 1;) {
    const uint32_t more = 1 + static_cast<uint32_t>(engine() % (left / 2 + 1));
    frequencies[engine() % size] += more;
    left -= more;
  }
  return FrequencyTable(std::move(frequencies), log2_total, 0);
}

std::vector<uint8_t> RandomSymbols(const FrequencyTable& table, size_t size, std::mt19937_64& engine) {
  const auto slots = table.Slots();
  std::vector<uint8_t> symbols(size);
  for (uint8_t& symbol : symbols) symbol = slots[engine() % (1u << table.log2_total())];
  return symbols;
}

TEST(FrequencyTable, GivesEverySymbolItsSlots) {
  std::mt19937_64 engine(2);
  for (int trial = 0; trial < 50; ++trial) {
    const FrequencyTable table = RandomTable(256, 15, engine);
    const auto slots = table.Slots();
    for (uint32_t symbol = 0; symbol < table.size(); ++symbol) {
      for (uint32_t i = 0; i < table.frequency(symbol); ++i) ASSERT_EQ(slots[table.start(symbol) + i], symbol);
    }
  }
}

template <int kLanes, int kLog2Total>
void ExpectTheTwinsBytesAndTheSymbolsBack() {
  std::mt19937_64 engine(3);
  for (const size_t size : {0u, 1u, 2u, 3u, 4u, 5u, 100u, 511u, 512u, 513u, 514u, 515u, 5000u, 20'001u}) {
    for (int trial = 0; trial < 10; ++trial) {
      const FrequencyTable table = RandomTable(kLog2Total == 15 ? 256 : 128, kLog2Total, engine);
      const std::vector<uint8_t> symbols = RandomSymbols(table, size, engine);
      std::string fast = "before", slow = "before";
      RansEncode<kLanes>(table, symbols, fast);
      RansEncodeByDivision<kLanes>(table, symbols, slow);
      ASSERT_EQ(fast, slow) << size;
      if (size == 0) continue;
      RansDecoder<kLanes, kLog2Total> filling(table, absl::string_view(fast).substr(6)),
          stepping(table, absl::string_view(fast).substr(6));
      std::vector<uint8_t> decoded(size);
      filling.Fill(absl::MakeSpan(decoded));
      ASSERT_EQ(decoded, symbols);
      ASSERT_TRUE(filling.Finished());
      for (const uint8_t symbol : symbols) ASSERT_EQ(stepping.Next(), symbol);
      ASSERT_TRUE(stepping.Finished());
    }
  }
}

TEST(Rans, WritesTheBytesOfItsTwinWithOneState) { ExpectTheTwinsBytesAndTheSymbolsBack<1, 14>(); }
TEST(Rans, WritesTheBytesOfItsTwinWithFourStates) { ExpectTheTwinsBytesAndTheSymbolsBack<4, 15>(); }

TEST(Rans, IsNotFinishedWithoutItsLastWordsNorWithOneMore) {
  std::mt19937_64 engine(4);
  const FrequencyTable table = RandomTable(256, 15, engine);
  const std::vector<uint8_t> symbols = RandomSymbols(table, 2000, engine);
  std::string coded;
  RansEncode<4>(table, symbols, coded);
  std::vector<uint8_t> decoded(symbols.size());
  for (size_t size = 0; size < coded.size(); ++size) {
    RansDecoder<4, 15> decoder(table, absl::string_view(coded).substr(0, size));
    decoder.Fill(absl::MakeSpan(decoded));
    ASSERT_FALSE(decoder.Finished()) << size;
  }
  coded.append(4, '\0');
  RansDecoder<4, 15> decoder(table, coded);
  decoder.Fill(absl::MakeSpan(decoded));
  EXPECT_FALSE(decoder.Finished());
}

TEST(Rans, RefusesAStateOutsideItsInterval) {
  std::mt19937_64 engine(5);
  const FrequencyTable table = RandomTable(256, 15, engine);
  std::string states(32, '\0');
  EXPECT_FALSE((RansDecoder<4, 15>(table, states).ok()));
  states.assign(32, '\xff');
  EXPECT_FALSE((RansDecoder<4, 15>(table, states).ok()));
}

}  // namespace
}  // namespace blink::wire_internal
