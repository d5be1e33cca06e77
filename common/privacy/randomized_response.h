// Independent Bernoulli(P / 2^64) bits, 64 at a time, exactly.
#ifndef BLINK_COMMON_PRIVACY_RANDOMIZED_RESPONSE_H_
#define BLINK_COMMON_PRIVACY_RANDOMIZED_RESPONSE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "common/privacy/random_bits.h"

namespace blink {

// 64 independent bits, each 1 with probability exactly flip_numerator / 2^64.
//
// Lane i of the words drawn is a uniform 64-bit integer U_i, most significant bit first; its result is U_i < P. A lane
// is decided at the first bit in which U_i and P differ, so the bits that follow need not be drawn: about 7.3 words
// instead of
// 64. Which words are left out depends on U alone.
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

// Fills every bit of `words`. The caller asks random.status() afterwards.
void FillBernoulli(uint64_t flip_numerator, RandomBits& random, absl::Span<uint64_t> words);

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_RANDOMIZED_RESPONSE_H_
