// The flip probability as an exact rational, by integer arithmetic alone.
#ifndef BLINK_COMMON_PRIVACY_FLIP_NUMERATOR_H_
#define BLINK_COMMON_PRIVACY_FLIP_NUMERATOR_H_

#include <cstdint>

namespace blink {

// For epsilon_list = x = numerator / 10^12, numerator <= 5 * 10^13, returns P with
//   P / 2^64 >= p = 1 / (1 + e^x),   1 <= P <= 2^63,   P < 2^64 p + 1 + 2^-100.
// The first inequality is what privacy rests on; flip_numerator.cc proves it. So P = ceil(2^64 p), except perhaps where
// 2^64 p lies within 2^-100 below an integer, where P may be one more.
uint64_t FlipNumerator(uint64_t epsilon_list_numerator);

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_FLIP_NUMERATOR_H_
