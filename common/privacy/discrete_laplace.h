// Discrete Laplace noise for a rational parameter, exactly, on integers alone.
#ifndef BLINK_COMMON_PRIVACY_DISCRETE_LAPLACE_H_
#define BLINK_COMMON_PRIVACY_DISCRETE_LAPLACE_H_

#include <cstdint>

#include "common/privacy/random_bits.h"

namespace blink {

inline constexpr int64_t kDegreeNoiseMax = int64_t{1} << 62;

// An integer Y with Pr[Y = y] proportional to exp(-|y| * numerator / denominator), numerator and denominator >= 1, clamped to
// +-2^62 (which is post-processing, and has probability below exp(-2^62 * numerator / denominator)).
// Algorithms 1 and 2 of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020). The caller asks
// random.status() before using the result.
int64_t DrawDiscreteLaplace(uint64_t numerator, uint64_t denominator, RandomBits& random);

// True with probability exactly exp(-numerator / denominator), 0 <= numerator <= denominator, denominator >= 1.
bool DrawBernoulliExp(uint64_t numerator, uint64_t denominator, RandomBits& random);

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_DISCRETE_LAPLACE_H_
