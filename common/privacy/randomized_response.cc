#include "common/privacy/randomized_response.h"

#include <algorithm>

#include "common/privacy/flip_gaps.h"

namespace blink {
namespace {

void FillByGaps(uint64_t flip_numerator, RandomBits& random, absl::Span<uint64_t> words) {
  std::fill(words.begin(), words.end(), 0);
  const uint64_t bits = uint64_t{words.size()} * 64;
  const FlipGaps gaps(flip_numerator, bits);
  for (uint64_t next = 0;;) {
    for (const uint64_t gap : gaps.Next(random)) {
      next += gap;
      if (next >= bits) return;  // what else was drawn is not used
      words[next / 64] |= uint64_t{1} << (next % 64);
      ++next;
    }
  }
}

}  // namespace

void FillBernoulli(uint64_t flip_numerator, RandomBits& random, absl::Span<uint64_t> words) {
  if (words.empty()) return;
  if (flip_numerator < kFewFlips) return FillByGaps(flip_numerator, random, words);
  for (uint64_t& word : words) word = BernoulliWord(flip_numerator, random);
}

uint64_t ExpectedRandomWords(uint64_t flip_numerator, uint64_t words) {
  // Words of 64 bits: 7.34 each, the expected maximum of 64 geometric variables; the deviation over W words is
  // 1.9 sqrt(W). Gaps: one for each 1, and for some the rest of the last kAtOnce.
  if (flip_numerator >= kFewFlips) return words * 15 / 2 + 16;
  const uint64_t ones = static_cast<uint64_t>((static_cast<unsigned __int128>(words) * 64 * flip_numerator) >> 64);
  return ones + ones / 8 + 32;
}

}  // namespace blink
