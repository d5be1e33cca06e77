// What vectorised kernels share: vectors of floats, and an exponential of them. For .cc files only. instruction_set.h
// says how a kernel is compiled for several instruction sets.
#ifndef BLINK_COMMON_SIMD_VECTOR_CODE_H_
#define BLINK_COMMON_SIMD_VECTOR_CODE_H_

#include <cstdint>

#include "common/simd/instruction_set.h"

namespace blink {

BLINK_INLINE float Leaky(float z, float slope) { return z > 0 ? z : slope * z; }

// Vectors are passed to and from inlined functions only, so the calling convention for them does not matter.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

// So many floats at once, on any processor: GCC and Clang translate vectors to the function's instruction set. Eight
// fill a register of AVX2, four one of NEON. GCC keeps in memory what is longer than a register, also in inner loops.
#if defined(__x86_64__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif
using Floats = float __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
using Ints = int32_t __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

// memcpy, since clang takes `aligned` of a name for the vectors themselves, but not for what a pointer points at.
BLINK_INLINE Floats Load(const float* from) {
  Floats value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}
BLINK_INLINE void Store(float* to, Floats value) { __builtin_memcpy(to, &value, sizeof(value)); }
BLINK_INLINE Floats Where(Ints mask, Floats yes, Floats no) {
  return reinterpret_cast<Floats>((reinterpret_cast<Ints>(yes) & mask) | (reinterpret_cast<Ints>(no) & ~mask));
}

// exp(x) for x <= 0, with a relative error below 2e-7. The result may round to slightly above 1. It is 0 for x < -87,
// where a float would be denormal, NaN for NaN, and 1 for x > 0. Source: expf of Cephes (range reduction by ln 2, and a
// polynomial). Vectors by hand: GCC makes none of a loop with these conditions.
BLINK_INLINE Floats ExpOfNegative(Floats x) {
  const Floats least = Floats{} - 87.0f, inside = Where(x > least, Where(x > 0.0f, Floats{}, x), least);
  const Ints k = __builtin_convertvector(inside * 1.44269504f - 0.5f, Ints);  // rounds a negative number
  const Floats whole = __builtin_convertvector(k, Floats);
  const Floats r = (inside - whole * 0.693359375f) + whole * 2.12194440e-4f;
  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const Floats result = (p * r * r + r + 1.0f) * reinterpret_cast<Floats>((k + 127) << 23);
  return Where(x >= least, result, Where(x < least, Floats{}, x));
}

// -1 in the lanes whose bits are set, 0 in the others.
BLINK_INLINE Ints MaskOf(uint32_t bits) {
#if defined(__x86_64__)
  constexpr Ints kBits = {1, 2, 4, 8, 16, 32, 64, 128};
#else
  constexpr Ints kBits = {1, 2, 4, 8};
#endif
  return (static_cast<int32_t>(bits) & kBits) != 0;
}

#pragma GCC diagnostic pop

}  // namespace blink

#endif  // BLINK_COMMON_SIMD_VECTOR_CODE_H_
