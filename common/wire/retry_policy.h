// When a client calls again after an error, and which errors it calls again after.
//
// By default the wait before a retry is uniform in [0, base * 2^attempt], and at most `max` ("full jitter").
// A retry window of the peer replaces that range. The peer may be hostile, so its window is bounded:
// - It ends at `max` at the latest, so that no peer can put a fleet to sleep for ever.
// - It is at least as wide as `base` and as a tenth of its end, so that no peer can wake a fleet in one instant.
#ifndef BLINK_COMMON_WIRE_RETRY_POLICY_H_
#define BLINK_COMMON_WIRE_RETRY_POLICY_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/privacy/random_source.h"
#include "common/wire/round.h"

namespace blink {

struct RetryPolicy {
  absl::Duration base = absl::Milliseconds(200);
  absl::Duration max = absl::Minutes(5);
};

// Draws the wait before the next attempt. `attempt` counts the failed attempts in a row that got no window before this
// one, from 0. `window` is the peer's window, if it gave one now. Returns the error of `random` when that fails.
absl::StatusOr<absl::Duration> DrawWait(const RetryPolicy& policy, int attempt,
                                        const std::optional<RetryWindow>& window, RandomSource& random);

// True for the errors that may pass by themselves: UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED and
// INTERNAL.
bool IsRetryable(const absl::Status& status);

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_RETRY_POLICY_H_
