#include "common/privacy/randomized_response.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

// The slow twin: collects the 64-bit integer of every lane from the tape, most significant bit first, and compares
// integers. Words that the fast path does not draw are filled with `filler`: they must not matter.
uint64_t SlowWord(uint64_t flip_numerator, absl::Span<const uint64_t> tape, size_t used, uint64_t filler) {
  uint64_t result = 0;
  for (int lane = 0; lane < 64; ++lane) {
    uint64_t uniform = 0;
    for (size_t t = 0; t < 64; ++t) {
      const uint64_t word = t < used ? tape[t] : filler;
      uniform = uniform << 1 | (word >> lane & 1);
    }
    result |= uint64_t{uniform < flip_numerator} << lane;
  }
  return result;
}

// How many words of the tape have been taken: the next one tells, since the words of the tape are distinct.
size_t WordsUsed(RandomBits& bits, absl::Span<const uint64_t> tape) {
  const uint64_t next = bits.NextWord();
  for (size_t t = 0; t < tape.size(); ++t) {
    if (tape[t] == next) return t;
  }
  return tape.size();
}

TEST(BernoulliWord, AgreesWithIntegerComparisonOfEveryLane) {
  std::mt19937_64 engine(1);
  const uint64_t kProbabilities[] = {1,
                                     2,
                                     3,
                                     0x8000000000000000u,
                                     0x7fffffffffffffffu,
                                     0x4000000000000001u,
                                     82941600285371030u,
                                     5332040549455006443u,
                                     0x0000000100000000u};
  for (const uint64_t flip_numerator : kProbabilities) {
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<uint64_t> words(65);
      for (uint64_t& word : words) word = engine();
      TapeRandom tape(words);
      RandomBits bits(tape);
      const uint64_t fast = BernoulliWord(flip_numerator, bits);
      const size_t used = WordsUsed(bits, words);
      ASSERT_LE(used, 64u);
      for (const uint64_t filler : {uint64_t{0}, ~uint64_t{0}, uint64_t{0x123456789abcdef}}) {
        ASSERT_EQ(fast, SlowWord(flip_numerator, words, used, filler)) << flip_numerator;
      }
    }
  }
}

TEST(BernoulliWord, NeverFlipsWhenUniformEqualsTheThreshold) {
  // Lane 0 repeats the threshold bit by bit, so U = P, which is not below P.
  const uint64_t flip_numerator = 0x9234567890abcdefu >> 1;
  std::vector<uint64_t> words(64);
  for (int t = 0; t < 64; ++t) words[t] = flip_numerator >> (63 - t) & 1;
  TapeRandom tape(words);
  RandomBits bits(tape);
  EXPECT_EQ(BernoulliWord(flip_numerator, bits) & 1, 0u);
}

TEST(BernoulliWord, FlipsWhenUniformIsOneBelowTheThreshold) {
  const uint64_t flip_numerator = 0x9234567890abcdefu >> 1, uniform = flip_numerator - 1;
  std::vector<uint64_t> words(64);
  for (int t = 0; t < 64; ++t) words[t] = uniform >> (63 - t) & 1;
  TapeRandom tape(words);
  RandomBits bits(tape);
  EXPECT_EQ(BernoulliWord(flip_numerator, bits) & 1, 1u);
}

TEST(FillBernoulli, DrawsAboutSevenWordsFor64BitsWhereOnesAreNotRare) {
  SeededRandom seeded(3);
  CountingRandom counting(seeded);
  RandomBits bits(counting);
  std::vector<uint64_t> words(20'000);
  FillBernoulli(kFewFlips, bits, absl::MakeSpan(words));
  EXPECT_LT(counting.bytes() / 8.0 / words.size(), 8.0);
  EXPECT_GT(counting.bytes() / 8.0 / words.size(), 6.5);
}

TEST(FillBernoulli, TakesAsManyWordsAsItIsExpectedTo) {
  for (const uint64_t flip_numerator : {uint64_t{1} << 63, kFewFlips, kFewFlips - 1, kFewFlips >> 7, uint64_t{1}}) {
    for (const size_t size : {1, 43, 352, 15'625}) {
      SeededRandom seeded(4);
      CountingRandom counting(seeded);
      std::vector<uint64_t> words(size);
      {
        RandomBits bits(counting, ExpectedRandomWords(flip_numerator, size));
        FillBernoulli(flip_numerator, bits, absl::MakeSpan(words));
      }
      const double expected = static_cast<double>(ExpectedRandomWords(flip_numerator, size));
      EXPECT_LE(counting.bytes() / 8, std::max(expected * 1.01, 1.0 * RandomBits::kWordsMin) + RandomBits::kWordsMin)
          << flip_numerator << " " << size;
    }
  }
}

}  // namespace
}  // namespace blink
