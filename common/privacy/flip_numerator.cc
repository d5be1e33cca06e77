// P = ceil(2^64 / (1 + E)) for a lower bound E of e^x.
//
// E is the Taylor series of e^x, x >= 0, in fixed point with 256 fractional bits: t_0 = 1, t_k = floor(t_{k-1} * x /
// k), summed until t_k = 0. Every term is positive and every rounding is down, so E <= e^x without any further
// argument, hence 2^64 / (1 + E) >= 2^64 p, and so P, its ceiling, is too.
//
// Tightness: rounding loses less than 2^-256 per term, which the later factors x / j multiply by at most e^50 < 2^73 in
// all, over fewer than 500 terms; what is cut off after the first zero term (k > 2x, so halved at each step) is less
// than 2^-255. So e^x - E < 2^-173, and 2^64 / (1 + E) exceeds 2^64 p by less than 2^-109.
#include "common/privacy/flip_numerator.h"

#include <array>

namespace blink {
namespace {

constexpr int kFractionLimbs = 4;  // 256 fractional bits
constexpr int kLimbs = 6;          // 128 integer bits: e^50 < 2^73, and a term times its numerator < 2^70 * 2^46
constexpr uint64_t kDenominator = 1'000'000'000'000;  // x = numerator / 10^12

using Fixed = std::array<uint64_t, kLimbs>;  // little endian: value = sum of limb[i] * 2^(64 (i - 4))

// floor(value * factor / divisor); the product must stay below 2^128.
Fixed MultiplyDivide(Fixed value, uint64_t factor, uint64_t divisor) {
  unsigned __int128 carry = 0;
  for (uint64_t& limb : value) {
    carry += static_cast<unsigned __int128>(limb) * factor;
    limb = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  unsigned __int128 remainder = 0;
  for (int i = kLimbs - 1; i >= 0; --i) {
    remainder = (remainder << 64) | value[i];
    value[i] = static_cast<uint64_t>(remainder / divisor);
    remainder %= divisor;
  }
  return value;
}

bool IsZero(const Fixed& value) {
  uint64_t any = 0;
  for (const uint64_t limb : value) any |= limb;
  return any == 0;
}

void Add(Fixed& sum, const Fixed& term) {
  unsigned __int128 carry = 0;
  for (int i = 0; i < kLimbs; ++i) {
    carry += static_cast<unsigned __int128>(sum[i]) + term[i];
    sum[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
}

// Whether value * factor >= 2^64.
bool ProductReachesTwoToThe64(const Fixed& value, uint64_t factor) {
  unsigned __int128 carry = 0;
  Fixed product;
  for (int i = 0; i < kLimbs; ++i) {
    carry += static_cast<unsigned __int128>(value[i]) * factor;
    product[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  return carry != 0 || product[kFractionLimbs + 1] != 0;
}

}  // namespace

uint64_t FlipNumerator(uint64_t epsilon_list_numerator) {
  Fixed term{};
  term[kFractionLimbs] = 1;
  Fixed denominator = term;  // 1 + E
  for (uint64_t k = 1; !IsZero(term); ++k) {
    Add(denominator, term);
    term = MultiplyDivide(term, epsilon_list_numerator, kDenominator * k);
  }
  // The least P with P * (1 + E) >= 2^64. P = 2^63 qualifies because E >= 1; P = 0 does not.
  uint64_t below = 0, reaches = uint64_t{1} << 63;
  while (reaches - below > 1) {
    const uint64_t middle = below + (reaches - below) / 2;
    (ProductReachesTwoToThe64(denominator, middle) ? reaches : below) = middle;
  }
  return reaches;
}

}  // namespace blink
