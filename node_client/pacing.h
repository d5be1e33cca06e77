// When a node sends, so that no time tells anything about a list. All times depend on public sizes and on randomness.
//
// Loading and preparing take a little longer for longer lists. So each is made to take a whole number of quanta. A
// quantum is a few times what the work needs, and is computed from the number of nodes alone.
#ifndef BLINK_NODE_CLIENT_PACING_H_
#define BLINK_NODE_CLIENT_PACING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/privacy/random_source.h"
#include "node_client/kit.h"

namespace blink {

// For loading lists and journal. This matters because an aggregator can measure it: its refusal ends a node, and a
// supervisor starts the node again, any number of times. The list of one node fits into one quantum whatever it is. The
// lists of a gateway fit while they are sparse.
absl::Duration StartQuantum(const KitConfig& kit);

// For preparing the reports of a round, which asks about so many groups.
absl::Duration PreparationQuantum(const KitConfig& kit, uint32_t groups);

// Sleeps until a whole number of quanta has passed since `started`, and at least for a moment.
void SleepToQuantum(Clock& clock, absl::Time started, absl::Duration quantum);

// Draws the delay of a round's first sending: uniform in [0, spread_seconds], to the millisecond. Returns the error of
// `random` when that fails.
absl::StatusOr<absl::Duration> DrawSendDelay(int64_t spread_seconds, RandomSource& random);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_PACING_H_
