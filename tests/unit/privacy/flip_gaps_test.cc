// Gaps against arithmetic that shares nothing with common/privacy: integers of any size from Boost.Multiprecision.
#include "common/privacy/flip_gaps.h"

#include <boost/multiprecision/cpp_int.hpp>
#include <random>
#include <vector>

#include "common/privacy/flip_numerator.h"
#include "common/privacy/randomized_response.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

using Integer = boost::multiprecision::cpp_int;

constexpr uint64_t kThinnest = 1;
const uint64_t kProbabilities[] = {kThinnest,
                                   2,
                                   0xffffffff,
                                   kFewFlips >> 20,
                                   FlipNumerator(7'200'000'000'000),
                                   FlipNumerator(5'400'000'000'000),
                                   kFewFlips - 1,
                                   uint64_t{1} << 62,
                                   (uint64_t{1} << 63) - 1,
                                   uint64_t{1} << 63};

// r^exponent in units of 2^(-64 exponent), exactly.
Integer Power(uint64_t flip_numerator, uint64_t exponent) {
  return boost::multiprecision::pow((Integer(1) << 64) - flip_numerator, static_cast<unsigned>(exponent));
}

// The words of a number in units of 2^(-64 count), most significant first.
std::vector<uint64_t> Words(Integer number, size_t count) {
  std::vector<uint64_t> words(count);
  for (size_t i = count; i-- > 0; number >>= 64) words[i] = static_cast<uint64_t>(number & ~uint64_t{0});
  return words;
}

// The slow twin: the largest g < 2^bit_width(bits) with U < r^g. `tape` is the whole of U: zeros follow.
uint64_t SlowGap(uint64_t flip_numerator, uint64_t bits, const std::vector<uint64_t>& tape) {
  const uint64_t end = uint64_t{1} << std::bit_width(bits);
  Integer uniform = 0;
  for (const uint64_t word : tape) uniform = (uniform << 64) + word;
  uint64_t gap = 0;
  const auto is_below = [&](uint64_t exponent) {  // U < r^exponent, over the common denominator
    return (uniform << (64 * exponent)) < (Power(flip_numerator, exponent) << (64 * tape.size()));
  };
  while (gap + 1 < end && is_below(gap + 1)) ++gap;
  return gap;
}

TEST(FlipGaps, AreThoseOfExactIntegers) {
  std::mt19937_64 engine(1);
  for (const uint64_t flip_numerator : kProbabilities) {
    for (const uint64_t bits : {1, 2, 3, 31, 64}) {
      const FlipGaps gaps(flip_numerator, bits);
      for (int trial = 0; trial < 20; ++trial) {
        std::vector<uint64_t> words(64);
        // U near 1 and near 0, too, where thin and thick gaps are decided
        for (uint64_t& word : words) word = engine() >> (trial % 3 == 1 ? trial * 3 : 0);
        if (trial % 3 == 2) words[0] = ~(words[0] >> (trial * 3));
        TapeRandom tape(words);
        RandomBits random(tape);
        const auto fast = gaps.Next(random);
        for (int lane = 0; lane < FlipGaps::kAtOnce; ++lane) {
          ASSERT_EQ(fast[lane], SlowGap(flip_numerator, bits, {words[lane]})) << flip_numerator << " " << bits;
        }
      }
    }
  }
}

// U begins like r^g and goes on with more of it, so that no number of words but all of them decides.
TEST(FlipGaps, AreExactWhereTheUniformNumberIsAsCloseAsItCanBe) {
  for (const uint64_t flip_numerator : kProbabilities) {
    for (const uint64_t exponent : {1, 2, 3, 5, 8, 11}) {
      const Integer power = Power(flip_numerator, exponent);
      for (const int off : {-1, 0, 1}) {
        if (power + off >= Integer(1) << (64 * exponent)) continue;  // U is below 1
        std::vector<uint64_t> uniform = Words(power + off, exponent);
        const uint64_t first = uniform[0];
        uniform.erase(uniform.begin());
        TapeRandom tape(uniform);
        RandomBits random(tape);
        const uint64_t gap = FlipGaps(flip_numerator, 15).Exactly(first, random);
        EXPECT_EQ(gap < exponent, off >= 0) << flip_numerator << "^" << exponent << " " << off;
        if (off >= 0) {
          EXPECT_EQ(gap, exponent - 1);
        }
      }
    }
  }
}

TEST(FlipGaps, FallBackToExactComparisonsWhereRoundingCouldDecide) {
  const uint64_t flip_numerator = FlipNumerator(7'200'000'000'000);
  for (const uint64_t exponent : {1, 7, 12}) {
    const std::vector<uint64_t> close = Words(Power(flip_numerator, exponent), exponent);
    std::vector<uint64_t> words(FlipGaps::kAtOnce, uint64_t{1} << 63);
    words[2] = close[0];  // the lane in doubt; what follows on the tape is the rest of its U
    words.insert(words.end(), close.begin() + 1, close.end());
    TapeRandom tape(words);
    RandomBits random(tape);
    const auto gaps = FlipGaps(flip_numerator, 15).Next(random);
    EXPECT_EQ(gaps[2], exponent - 1) << "U is the power itself, which is not below it";
    EXPECT_EQ(gaps[0], 15u);
    EXPECT_EQ(gaps[3], 15u);
  }
}

TEST(FlipGaps, AreAsLongAsTheRowForTheThinnestFlipsAndForAFailedSource) {
  SeededRandom seeded(3);
  RandomBits random(seeded);
  for (const uint64_t gap : FlipGaps(kThinnest, 10'000'000).Next(random)) EXPECT_GE(gap, 10'000'000u);
  FailingRandom broken;
  RandomBits nothing(broken);
  for (const uint64_t flip_numerator : kProbabilities) {
    for (const uint64_t gap : FlipGaps(flip_numerator, 1000).Next(nothing)) EXPECT_GE(gap, 1000u);
    std::vector<uint64_t> words(100);
    FillBernoulli(flip_numerator, nothing, absl::MakeSpan(words));  // comes to its end
  }
  EXPECT_FALSE(nothing.ok());
}

TEST(FlipGaps, AgreeWithExactComparisonsForMillionsOfBits) {
  for (const uint64_t flip_numerator : kProbabilities) {
    const FlipGaps gaps(flip_numerator, 10'000'000);
    std::mt19937_64 engine(5);
    for (int trial = 0; trial < 50; ++trial) {
      std::vector<uint64_t> words(FlipGaps::kAtOnce);
      for (uint64_t& word : words) word = engine();
      TapeRandom tape(words), rest({});
      RandomBits random(tape), none(rest);
      const auto fast = gaps.Next(random);
      for (int lane = 0; lane < FlipGaps::kAtOnce; ++lane) ASSERT_EQ(fast[lane], gaps.Exactly(words[lane], none));
    }
  }
}

}  // namespace
}  // namespace blink
