// The default degree share of a round: the part of its budget that pays for the degrees.
#ifndef BLINK_COMMON_WIRE_DEGREE_SHARE_H_
#define BLINK_COMMON_WIRE_DEGREE_SHARE_H_

#include <cstdint>

#include "common/wire/training_choices.h"

namespace blink {

// The default share in parts per million, for a budget of `epsilon_micro` (1 .. 50,000,000) and an estimate with
// `prior`. It depends on these two alone. A share that was chosen by looking at reports would have cost those reports'
// budget.
//
//   beta         200,000 below epsilon 1.5, 100,000 below 2.5, 50,000 above
//   attributed   50,000 up to epsilon 1, 20,000 from epsilon 2 on, 80,000 - 30,000 epsilon between them
//
// experiments/choices.md says where the numbers come from.
uint32_t DefaultDegreeSharePpm(uint64_t epsilon_micro, Prior prior);

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_DEGREE_SHARE_H_
