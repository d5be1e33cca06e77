// What vectorised kernels share: an exponential that compilers vectorise, and vectors of eight floats. For .cc files
// only. instruction_set.h says how a kernel is compiled for several instruction sets.
#ifndef BLINK_COMMON_SIMD_VECTOR_CODE_H_
#define BLINK_COMMON_SIMD_VECTOR_CODE_H_

#include <bit>
#include <cstdint>

#include "common/simd/instruction_set.h"

namespace blink {

// exp(x) for x <= 0, with a relative error below 2e-7. The result may round to slightly above 1. It is 0 for x < -87,
// where a float would be denormal, and NaN for NaN. Source: expf of Cephes (range reduction by ln 2, and a polynomial).
BLINK_INLINE float ExpOfNegative(float x) {
  const float inside = x > -87.0f ? x : -87.0f;  // of NaN too: as an int32_t it would be undefined
  const int32_t k = static_cast<int32_t>(inside * 1.44269504f - 0.5f);  // rounds a negative number
  const float r = (inside - static_cast<float>(k) * 0.693359375f) + static_cast<float>(k) * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float result = (p * r * r + r + 1.0f) * std::bit_cast<float>((k + 127) << 23);
  return x >= -87.0f ? result : x < -87.0f ? 0.0f : x;
}

BLINK_INLINE float Leaky(float z, float slope) { return z > 0 ? z : slope * z; }

// Vectors are passed to and from inlined functions only, so the calling convention for them does not matter.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

// Eight floats at once, on any processor: GCC and Clang translate vectors to the function's instruction set.
inline constexpr int kLanes = 8;
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

#pragma GCC diagnostic pop

}  // namespace blink

#endif  // BLINK_COMMON_SIMD_VECTOR_CODE_H_
