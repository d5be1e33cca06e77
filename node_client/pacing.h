// When a node sends, so that no time tells anything about a list. All times depend on public sizes, on this machine and
// on randomness.
//
// Loading lists takes a little longer for longer lists. So it is made to take a whole number of quanta. Of a
// preparation some steps know more than what is sent, and only these are made to take a whole number of quanta. Noise
// is as secret as a list: whoever has the report and the noise has the list.
//
//   step of a preparation          its time depends on                               quanta
//   drawing the noise              n, the parameters, the noise                      yes
//   taking the epoch's snapshot    the number of links                               yes
//   applying the noise             the lists, by nanoseconds a link                  yes
//   coding a report                the noisy bits, which are sent                    no
//   the journal's records          the coded sizes, which are sent                   no
//
// So a preparation takes the time of the steps that may be seen, and a whole number of quanta. How long a quantum must
// be is measured on the machine itself.
#ifndef BLINK_NODE_CLIENT_PACING_H_
#define BLINK_NODE_CLIENT_PACING_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/privacy/random_source.h"
#include "node_client/kit.h"

namespace blink {

// Adds up how long the steps took whose time must be hidden.
class HiddenWork {
 public:
  explicit HiddenWork(Clock& clock) : clock_(clock) {}
  // Carries out `step`, whose time may depend on lists or on noise.
  void Time(absl::FunctionRef<void()> step) {
    const absl::Duration begin = clock_.Monotonic();
    step();
    total_ += clock_.Monotonic() - begin;
  }
  absl::Duration total() const { return total_; }

 private:
  Clock& clock_;
  absl::Duration total_;
};

// The links of a hosted node up to which a quantum hides how many there are: all of a single node, and of each of a
// gateway's nodes one in a hundred (as a mean), at least one.
uint32_t HiddenLinks(const KitConfig& kit);

// For loading lists and journal. This matters because an aggregator can measure it: its refusal ends a node, and a
// supervisor starts the node again, any number of times. The list of one node fits into one quantum whatever it is. The
// lists of a gateway fit while they are sparse.
absl::Duration StartQuantum(const KitConfig& kit);

// For the steps of a preparation that read lists or draw noise. `measured`: how long they take on made-up lists of
// HiddenLinks entries (draw_reports.h), without the disk. `takes_snapshot`: the lists are written to the disk, too.
absl::Duration PreparationQuantum(const KitConfig& kit, absl::Duration measured, bool takes_snapshot);

// Sleeps until a whole number of quanta has passed since `started`, and at least for a moment.
void SleepToQuantum(Clock& clock, absl::Time started, absl::Duration quantum);

// Sleeps so long that `spent` and the sleep together are a whole number of quanta, and at least for a moment.
void FillQuantum(Clock& clock, absl::Duration spent, absl::Duration quantum);

// Draws the delay of a round's first sending: uniform in [0, spread_seconds], to the millisecond. Returns the error of
// `random` when that fails.
absl::StatusOr<absl::Duration> DrawSendDelay(int64_t spread_seconds, RandomSource& random);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_PACING_H_
