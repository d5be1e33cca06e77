// Exact, independent Bernoulli(P / 2^64) bits: 64 at a time, or, where few are 1, by the gaps between these.
#ifndef BLINK_COMMON_PRIVACY_RANDOMIZED_RESPONSE_H_
#define BLINK_COMMON_PRIVACY_RANDOMIZED_RESPONSE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/privacy/random_bits.h"

namespace blink {

// Returns 64 independent bits, each 1 with probability exactly P / 2^64, where P = flip_numerator.
//
// Lane i is bit i of every word. Lane i of the words drawn makes up a uniform 64-bit integer U_i, its most significant
// bit first, and lane i of the result is U_i < P. A lane is decided at the first bit in which U_i and P differ, so the
// bits after that need not be drawn. About 7.3 words are drawn instead of 64. Which words are not drawn depends on the
// U_i and P alone.
inline uint64_t BernoulliWord(uint64_t flip_numerator, RandomBits& random) {
  uint64_t undecided = ~uint64_t{0};
  uint64_t less = 0;
  for (uint64_t rest = flip_numerator; rest != 0 && undecided != 0; rest <<= 1) {
    const uint64_t drawn = random.NextWord();
    if (rest >> 63) {  // U has 0 where P has 1: U < P
      less |= undecided & ~drawn;
      undecided &= drawn;
    } else {  // U has 1 where P has 0: U > P
      undecided &= ~drawn;
    }
  }
  return less;  // a lane still undecided has U >= P: nothing but zeros is left of P
}

// Below this flip numerator, p' < 1/128, gaps are faster.
inline constexpr uint64_t kFewFlips = uint64_t{1} << 57;

// Fills every bit of `words` with such bits, by the way that is faster for this P. Requires 1 <= P <= 2^63, and fewer
// than 2^24 words. The caller asks random.status() before it uses them.
void FillBernoulli(uint64_t flip_numerator, RandomBits& random, absl::Span<uint64_t> words);

// About as many random words as FillBernoulli takes for so many words, and hardly ever fewer.
uint64_t ExpectedRandomWords(uint64_t flip_numerator, uint64_t words);

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_RANDOMIZED_RESPONSE_H_
