// Chance at the aggregator, which reads reports alone: no privacy depends on it, and a seed repeats it.
#ifndef BLINK_AGGREGATOR_SERVER_GROUPS_UNIFORM_H_
#define BLINK_AGGREGATOR_SERVER_GROUPS_UNIFORM_H_

#include <random>

namespace blink {

// Uniform on [0, 1), in steps of 2^-53; the same on every machine.
inline double Uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_GROUPS_UNIFORM_H_
