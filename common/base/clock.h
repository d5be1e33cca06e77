// Time as an interface. A test can move it, and a signal can wake a daemon from a sleep.
#ifndef BLINK_COMMON_BASE_CLOCK_H_
#define BLINK_COMMON_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace blink {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() = 0;
  // Time since some moment of this start of the machine. Nobody can set it, and it goes on while the machine is
  // suspended.
  virtual absl::Duration Monotonic() = 0;
  virtual void SleepFor(absl::Duration duration) = 0;
};

// The machine's wall clock. It lives as long as the process.
Clock& SystemClock();

}  // namespace blink

#endif  // BLINK_COMMON_BASE_CLOCK_H_
