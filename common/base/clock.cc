#include "common/base/clock.h"

#include <ctime>

#include "absl/time/clock.h"

namespace blink {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time Now() override { return absl::Now(); }
  absl::Duration Monotonic() override {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return absl::DurationFromTimespec(now);
  }
  void SleepFor(absl::Duration duration) override { absl::SleepFor(duration); }
};

}  // namespace

Clock& SystemClock() {
  static RealClock* const clock = new RealClock;
  return *clock;
}

}  // namespace blink
