// Discrete Laplace noise for a rational parameter, exactly, on integers alone.
#ifndef BLINK_COMMON_PRIVACY_DISCRETE_LAPLACE_H_
#define BLINK_COMMON_PRIVACY_DISCRETE_LAPLACE_H_

#include <cstdint>

#include "common/privacy/random_bits.h"

namespace blink {

// An integer Y with Pr[Y = y] proportional to exp(-|y| * numerator / denominator), 1 <= numerator, 1 <= denominator <=
// 10^12, taken modulo 2^64. (Whoever adds a degree adds modulo 2^64 too, so that the sum is a function of degree + Y
// alone: then nothing is lost by the finite type, however large Y. Clamping Y itself would break the proof at its
// ends.) Algorithms 1 and 2 of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020).
// The caller asks random.status() before using the result.
int64_t DrawDiscreteLaplace(uint64_t numerator, uint64_t denominator, RandomBits& random);

// True with probability exactly exp(-numerator / denominator), 0 <= numerator <= denominator, denominator >= 1.
bool DrawBernoulliExp(uint64_t numerator, uint64_t denominator, RandomBits& random);

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_DISCRETE_LAPLACE_H_
