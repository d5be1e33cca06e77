// When to call again. Full jitter: the wait is uniform in [0, base * 2^attempt], at most `max`; a window given by
// the peer replaces it, clamped to the same maximum and never narrower than `base` or a tenth of its end: a hostile
// window can neither wake a fleet in a herd nor put it to sleep for ever.
#ifndef BLINK_COMMON_RPC_RETRY_H_
#define BLINK_COMMON_RPC_RETRY_H_

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/privacy/random_source.h"
#include "common/wire/round.h"

namespace blink {

struct RetryPolicy {
  absl::Duration base = absl::Milliseconds(200);
  absl::Duration max = absl::Minutes(5);
};

// The wait before attempt `attempt` (0-based) is repeated.
absl::StatusOr<absl::Duration> NextWait(const RetryPolicy& policy, int attempt,
                                        const std::optional<RetryWindow>& window, RandomSource& random);

// UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, ABORTED and INTERNAL may pass; nothing else does.
bool IsRetryable(const absl::Status& status);

// The window travels with refusals in the trailing metadata "blink-retry-window-ms": "<min>,<max>".
void SetTrailingWindow(grpc::ServerContextBase& context, const RetryWindow& window);
std::optional<RetryWindow> TrailingWindow(const grpc::ClientContext& context);
// "<min>,<max>" in milliseconds, min <= max <= kRetryWindowMsMax. Anything else is no window: the node's own default
// holds.
std::optional<RetryWindow> ParseRetryWindow(absl::string_view text);

}  // namespace blink

#endif  // BLINK_COMMON_RPC_RETRY_H_
