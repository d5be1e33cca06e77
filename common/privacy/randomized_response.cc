#include "common/privacy/randomized_response.h"

namespace blink {

void FillBernoulli(uint64_t flip_numerator, RandomBits& random, absl::Span<uint64_t> words) {
  for (uint64_t& word : words) word = BernoulliWord(flip_numerator, random);
}

}  // namespace blink
