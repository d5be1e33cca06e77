// Laplace noise on a grid of 1/1024, with integers alone.
//
// Published experiments add continuous noise to counts of links. A floating-point Laplace leaks by its gaps, so the
// noise here is the exact discrete Laplace on a grid that is fine enough to look continuous: a count of 1 is 1024
// units, and noise of e^(-|y| epsilon / 1024) on y units is epsilon-differentially private for a change by 1.
#ifndef BLINK_MECHANISMS_FINE_LAPLACE_H_
#define BLINK_MECHANISMS_FINE_LAPLACE_H_

#include <cstdint>

#include "common/privacy/discrete_laplace.h"

namespace blink {

inline constexpr int64_t kUnitsPerLink = 1024;

// In units, modulo 2^64 (discrete_laplace.h). The scale is 1 / epsilon links, epsilon = epsilon_micro / (10^6 parts).
// Requires 1 <= epsilon_micro and 1 <= parts <= 900.
inline int64_t DrawFineLaplace(uint64_t epsilon_micro, uint64_t parts, RandomBits& random) {
  return DrawDiscreteLaplace(epsilon_micro, uint64_t{1'000'000} * kUnitsPerLink * parts, random);
}

// `units` added to a number of links, modulo 2^64 as the noise is.
inline int64_t AddNoise(uint64_t links, int64_t units) {
  return static_cast<int64_t>(links * uint64_t{kUnitsPerLink} + static_cast<uint64_t>(units));
}

}  // namespace blink

#endif  // BLINK_MECHANISMS_FINE_LAPLACE_H_
