// What the kernels of this folder share: code compiled for more than one instruction set, and an exponential that
// compilers vectorise. Internal to this folder's .cc files.
//
// Nothing is compiled with -march=native: a function that is worth it exists twice, once for any x86-64 (or another
// processor) and once for AVX2 with FMA, and UsesAvx2() chooses at run time. The body is an always-inlined function
// that both call:
//
//   BLINK_INLINE void Body(...) {...}
//   void BodyPlain(...) { Body(...); }
//   BLINK_AVX2 void BodyAvx2(...) { Body(...); }
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_VECTOR_CODE_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_VECTOR_CODE_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#define BLINK_INLINE inline __attribute__((always_inline))

#if defined(__x86_64__)
#define BLINK_AVX2 __attribute__((target("avx2,fma")))
#else
#define BLINK_AVX2
#endif

namespace blink {

inline bool UsesAvx2() {
#if defined(__x86_64__)
  static const bool uses = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return uses;
#else
  return false;
#endif
}

// exp(x) for x <= 0 (rounding may put it slightly above), relative error below 2e-7; 0 below -87, where a float would
// be denormal. Range reduction by ln 2 and a polynomial (Cephes' expf).
BLINK_INLINE float ExpOfNegative(float x) {
  const float inside = x < -87.0f ? -87.0f : x;
  const int32_t k = static_cast<int32_t>(inside * 1.44269504f - 0.5f);  // rounds a negative number
  const float r = (inside - static_cast<float>(k) * 0.693359375f) + static_cast<float>(k) * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float result = (p * r * r + r + 1.0f) * std::bit_cast<float>((k + 127) << 23);
  return x < -87.0f ? 0.0f : result;
}

BLINK_INLINE float Leaky(float z, float slope) { return z > 0 ? z : slope * z; }

// A thread is worth its start and its waiting only for this much work (about 0.1 ms); small graphs stay on one thread,
// and do not suffer on a busy machine.
inline constexpr int64_t kMultiplicationsPerThread = 1 << 19;

inline int TasksFor(int64_t multiplications, int threads) {
  return static_cast<int>(std::clamp<int64_t>(multiplications / kMultiplicationsPerThread, 1, threads));
}

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are arguments and results of inlined functions only

// Eight floats at once, on any processor: GCC's and Clang's vectors become what the function's instruction set has.
inline constexpr int kLanes = 8;
using Floats = float __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));
using Ints = int32_t __attribute__((vector_size(4 * kLanes), aligned(4), may_alias));

BLINK_INLINE Floats Load(const float* from) { return *reinterpret_cast<const Floats*>(from); }
BLINK_INLINE void Store(float* to, Floats value) { *reinterpret_cast<Floats*>(to) = value; }
BLINK_INLINE Floats Where(Ints mask, Floats yes, Floats no) {
  return reinterpret_cast<Floats>((reinterpret_cast<Ints>(yes) & mask) | (reinterpret_cast<Ints>(no) & ~mask));
}

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_VECTOR_CODE_H_
