#include "common/privacy/random_bits.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <bit>

namespace blink {

RandomBits::~RandomBits() { OPENSSL_cleanse(words_.data(), used_ * sizeof(uint64_t)); }

void RandomBits::Refill() {
  next_ = 0;
  end_ = static_cast<size_t>(std::clamp<uint64_t>(expected_words_, kWordsMin, kWordsMax));
  expected_words_ -= std::min<uint64_t>(expected_words_, end_);
  used_ = std::max(used_, end_);
  if (status_.ok()) {
    status_ = source_.Fill(absl::MakeSpan(reinterpret_cast<uint8_t*>(words_.data()), end_ * sizeof(uint64_t)));
  }
  if (!status_.ok()) std::fill_n(words_.begin(), end_, 0);
}

uint64_t RandomBits::NextBelow(uint64_t bound) {
  // The smallest 2^w - 1 >= bound - 1: a draw is accepted with probability above one half.
  const uint64_t largest = bound - 1;
  const uint64_t mask = largest == 0 ? 0 : ~uint64_t{0} >> std::countl_zero(largest);
  uint64_t value;
  do {
    value = NextWord() & mask;
  } while (value > largest);  // ends when the source has failed too: zero is accepted
  return value;
}

}  // namespace blink
