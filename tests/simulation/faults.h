// Mistakes that a simulated aggregator can have on purpose. The simulation must find each of them.
#ifndef BLINK_TESTS_SIMULATION_FAULTS_H_
#define BLINK_TESTS_SIMULATION_FAULTS_H_

#include <array>

#include "common/base/clock.h"

namespace blink::simulation {

enum class Fault {
  kNone,
  kAcknowledgesBeforeTheSync,  // the log of the store is not synced
  kTakesTheSecondReport,       // another report of a node overwrites the first
  kLeavesTheLeaseUnfenced,     // who lost the lease still changes rounds as its holder
  kSealsByTheWallClock,        // a clock that is set seals rounds early
  kCountsDuplicatesTwice,      // the same report again counts as a further one
};

struct NamedFault {
  Fault fault;
  const char* name;
};
inline constexpr std::array<NamedFault, 5> kFaults = {
    NamedFault{Fault::kAcknowledgesBeforeTheSync, "acknowledges-before-the-sync"},
    NamedFault{Fault::kTakesTheSecondReport, "takes-the-second-report"},
    NamedFault{Fault::kLeavesTheLeaseUnfenced, "leaves-the-lease-unfenced"},
    NamedFault{Fault::kSealsByTheWallClock, "seals-by-the-wall-clock"},
    NamedFault{Fault::kCountsDuplicatesTwice, "counts-duplicates-twice"},
};

// Takes the wall clock for one that nobody can set.
class WallClockAlone final : public Clock {
 public:
  explicit WallClockAlone(Clock& clock) : clock_(clock) {}
  absl::Time Now() override { return clock_.Now(); }
  absl::Duration Monotonic() override { return clock_.Now() - absl::UnixEpoch(); }
  void SleepFor(absl::Duration duration) override { clock_.SleepFor(duration); }

 private:
  Clock& clock_;
};

}  // namespace blink::simulation

#endif  // BLINK_TESTS_SIMULATION_FAULTS_H_
