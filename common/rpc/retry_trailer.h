// The retry window of a refusal, as gRPC carries it.
//
// A refusal has no message that could hold the window. It travels in the trailing metadata "blink-retry-window-ms" as
// "<min>,<max>", both in milliseconds. See common/wire/retry_policy.h for what a client makes of it.
#ifndef BLINK_COMMON_RPC_RETRY_TRAILER_H_
#define BLINK_COMMON_RPC_RETRY_TRAILER_H_

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include <optional>

#include "absl/strings/string_view.h"
#include "common/wire/round.h"

namespace blink {

// Adds the window to the server's answer, cut to 0 .. kRetryWindowMsMax. Call it before the call is finished.
void SetTrailingWindow(grpc::ServerContextBase& context, const RetryWindow& window);

// The window of a call that has ended. Nothing when the server sent none, or not one that ParseRetryWindow accepts.
std::optional<RetryWindow> ReadTrailingWindow(const grpc::ClientContext& context);

// Reads "<min>,<max>" with min <= max <= kRetryWindowMsMax. Any other text is no window.
std::optional<RetryWindow> ParseRetryWindow(absl::string_view text);

}  // namespace blink

#endif  // BLINK_COMMON_RPC_RETRY_TRAILER_H_
