// The flip probability as an exact rational, computed with integers alone.
#ifndef BLINK_COMMON_PRIVACY_FLIP_NUMERATOR_H_
#define BLINK_COMMON_PRIVACY_FLIP_NUMERATOR_H_

#include <cstdint>

namespace blink {

// Let x = epsilon_list = epsilon_list_numerator / 10^12, with epsilon_list_numerator <= 5 * 10^13. Returns P with
//
//   P / 2^64 >= p = 1 / (1 + e^x),   1 <= P <= 2^63,   P < 2^64 p + 1 + 2^-100.
//
// Privacy rests on the first inequality, which flip_numerator.cc proves. It follows that P = ceil(2^64 p), with one
// exception: where 2^64 p lies less than 2^-100 below an integer, P may be one more.
uint64_t FlipNumerator(uint64_t epsilon_list_numerator);

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_FLIP_NUMERATOR_H_
