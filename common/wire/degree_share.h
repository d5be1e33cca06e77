// Which share of the budget a round gives to the degrees when nobody says otherwise.
#ifndef BLINK_COMMON_WIRE_DEGREE_SHARE_H_
#define BLINK_COMMON_WIRE_DEGREE_SHARE_H_

#include <cstdint>

#include "common/wire/training_choices.h"

namespace blink {

// Parts per million of a budget of `epsilon_micro` (1 .. 50,000,000), for an estimate with `prior`. It depends on these
// two alone: a share that was chosen after looking at reports would have cost those reports' budget too.
//
//   beta         200,000 below epsilon 1.5, 100,000 below 2.5, 50,000 above
//   attributed   80,000 - 30,000 epsilon within 20,000 .. 50,000: 50,000 up to epsilon 1, 20,000 from 2 on
//
// experiments/choices.md says where the numbers come from.
uint32_t DefaultDegreeSharePpm(uint64_t epsilon_micro, Prior prior);

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_DEGREE_SHARE_H_
