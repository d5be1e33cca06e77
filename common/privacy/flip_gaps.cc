#include "common/privacy/flip_gaps.h"

#include <algorithm>
#include <bit>

namespace blink {
namespace {

using Fraction = std::vector<uint64_t>;  // in [0, 1): the most significant word first

// The first words of a * b.
Fraction MultiplyDown(const Fraction& a, const Fraction& b) {
  const size_t size = a.size();
  Fraction product(2 * size, 0);
  for (size_t i = size; i-- > 0;) {
    uint64_t carry = 0;
    for (size_t j = size; j-- > 0;) {
      const unsigned __int128 sum = static_cast<unsigned __int128>(a[i]) * b[j] + product[i + j + 1] + carry;
      product[i + j + 1] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
    product[i] = carry;
  }
  product.resize(size);
  return product;
}

// r^exponent, exponent >= 1, rounded down by at most 2^(bits of the exponent + 1) units of the last word: the base is
// exact, and each of two multiplications for a bit of the exponent rounds down by less than one unit and hands on at
// most the sum of the errors of its factors.
Fraction PowerDown(uint64_t flip_numerator, uint64_t exponent, size_t words) {
  Fraction base(words, 0);
  base[0] = -flip_numerator;  // 2^64 - P
  Fraction power = base;
  for (int bit = std::bit_width(exponent) - 2; bit >= 0; --bit) {
    power = MultiplyDown(power, power);
    if (exponent >> bit & 1) power = MultiplyDown(power, base);
  }
  return power;
}

// a + 2^shift units of the last word <= b
bool IsBelowBy(const Fraction& a, int shift, const Fraction& b) {
  Fraction sum = a;
  uint64_t carry = uint64_t{1} << shift;
  for (size_t i = sum.size(); i-- > 0 && carry != 0;) {
    sum[i] += carry;
    carry = sum[i] < carry ? 1 : 0;
  }
  return carry == 0 && sum <= b;
}

}  // namespace

FlipGaps::FlipGaps(uint64_t flip_numerator, uint64_t bits)
    : flip_numerator_(flip_numerator), exponent_bits_(std::bit_width(bits)) {
  // With e_k the units by which powers_[k] is too low: e_0 <= 1 and e_(k+1) <= 2 e_k + 1, so e_k < 2^(k+1). A product
  // of different powers_ is too low by less than the sum of (e_k + 1) over its factors, which is below
  // 2^(kExponentBitsMax + 2) = kSlack.
  powers_.fill(0);
  powers_[0] = -flip_numerator >> 1;
  for (int k = 1; k < exponent_bits_; ++k) powers_[k] = MultiplyDown(powers_[k - 1], powers_[k - 1]);
}

uint64_t FlipGaps::Exactly(uint64_t first, RandomBits& random) const {
  Fraction uniform = {first};
  uint64_t gap = 0;
  for (int k = exponent_bits_ - 1; k >= 0; --k) {
    const uint64_t further = gap | uint64_t{1} << k;
    if (IsBelowPower(uniform, further, random)) gap = further;
  }
  return gap;
}

// U < r^exponent, where U begins with `uniform`. Further words of U are drawn while it is as close as the rounding, and
// each decides with probability 1 - 2^-30 or more.
bool FlipGaps::IsBelowPower(Fraction& uniform, uint64_t exponent, RandomBits& random) const {
  constexpr int kErrorBits = kExponentBitsMax + 1;
  while (random.ok()) {
    const Fraction power = PowerDown(flip_numerator_, exponent, uniform.size());
    if (uniform.size() >= exponent) return uniform < power;  // nothing was rounded
    if (IsBelowBy(uniform, 0, power)) return true;           // all of [U, U + 2^-64w) is
    if (IsBelowBy(power, kErrorBits, uniform)) return false;
    uniform.push_back(random.NextWord());
  }
  return true;
}

}  // namespace blink
