// The gaps between bits that are 1, for independent Bernoulli(P / 2^64) bits of which few are 1.
//
// Let r = 1 - P / 2^64. The number G of zeros before the next 1 has Pr[G >= g] = r^g, and gaps are independent. So from
// one uniform real number U in [0, 1)
//
//   G = the largest g with U < r^g
//
// has exactly this distribution. U is drawn word by word, most significant first, as far as the comparisons need it.
#ifndef BLINK_COMMON_PRIVACY_FLIP_GAPS_H_
#define BLINK_COMMON_PRIVACY_FLIP_GAPS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "common/privacy/random_bits.h"

namespace blink {

class FlipGaps {
 public:
  static constexpr int kAtOnce = 4;  // independent chains of multiplications keep a processor busy
  static constexpr int kExponentBitsMax = 30;

  // For rows of at most `bits` bits, 1 <= bits < 2^kExponentBitsMax. Requires P = flip_numerator in 1 .. 2^63.
  FlipGaps(uint64_t flip_numerator, uint64_t bits);

  // The next gaps, with any number >= bits in place of each gap that is as long. The caller asks random.status() before
  // it uses them. After a failure of the source all are >= bits, so that a row comes to its end.
  std::array<uint64_t, kAtOnce> Next(RandomBits& random) const {
    std::array<uint64_t, kAtOnce> words, gaps{}, powers;
    for (uint64_t& word : words) word = random.NextWord();
    powers.fill(kOne);
    uint64_t closest = ~uint64_t{0};
    for (int k = exponent_bits_ - 1; k >= 0; --k) {
      for (int lane = 0; lane < kAtOnce; ++lane) {
        const uint64_t uniform = words[lane] >> 1;  // in units of 2^-63, rounded down
        const uint64_t further = MultiplyDown(powers[lane], powers_[k]);
        const bool below = uniform < further;
        closest = std::min(closest, uniform - further);
        gaps[lane] |= uint64_t{below} << k;
        powers[lane] = below ? further : powers[lane];
      }
    }
    if (closest < kSlack) {
      for (int lane = 0; lane < kAtOnce; ++lane) gaps[lane] = Exactly(words[lane], random);
    }
    return gaps;
  }

  // One gap, by comparisons that are never in doubt, however close. Its U begins with the word `first`.
  uint64_t Exactly(uint64_t first, RandomBits& random) const;

 private:
  static constexpr uint64_t kOne = uint64_t{1} << 63;  // 1.0
  // A product of powers_ is at most so many units below the true power (flip_gaps.cc).
  static constexpr uint64_t kSlack = uint64_t{1} << (kExponentBitsMax + 2);

  static uint64_t MultiplyDown(uint64_t a, uint64_t b) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 63);
  }
  bool IsBelowPower(std::vector<uint64_t>& uniform, uint64_t exponent, RandomBits& random) const;

  const uint64_t flip_numerator_;
  const int exponent_bits_;
  std::array<uint64_t, kExponentBitsMax> powers_;  // r^(2^k) in units of 2^-63, rounded down
};

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_FLIP_GAPS_H_
