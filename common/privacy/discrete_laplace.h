// Exact discrete Laplace noise for a rational parameter, computed with integers alone.
//
// Source: Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithms 1 and 2.
// The caller asks random.status() before it uses a result.
#ifndef BLINK_COMMON_PRIVACY_DISCRETE_LAPLACE_H_
#define BLINK_COMMON_PRIVACY_DISCRETE_LAPLACE_H_

#include <cstdint>

#include "common/privacy/random_bits.h"

namespace blink {

// Draws an integer Y with Pr[Y = y] proportional to exp(-|y| * numerator / denominator), and returns it modulo 2^64.
// Requires numerator >= 1 and 1 <= denominator <= 10^12.
//
// The caller adds the degree modulo 2^64 too. The sum is then a function of the integer degree + Y alone, so the finite
// type costs no privacy, however large Y is. (Clamping Y itself would break the proof at the ends of the range.)
int64_t DrawDiscreteLaplace(uint64_t numerator, uint64_t denominator, RandomBits& random);

// Returns true with probability exactly exp(-numerator / denominator). Requires 0 <= numerator <= denominator and
// denominator >= 1.
bool DrawBernoulliExp(uint64_t numerator, uint64_t denominator, RandomBits& random);

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_DISCRETE_LAPLACE_H_
