// The only mapping between absl::Status and grpc::Status. It covers every code and keeps the message.
#ifndef BLINK_COMMON_RPC_STATUS_H_
#define BLINK_COMMON_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace blink {

grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);  // its message has passed through PeerText

// Makes the text of a peer fit for a log or a terminal: one line of printable ASCII, with '?' for other bytes, and at
// most 1,024 characters.
std::string PeerText(absl::string_view text);

}  // namespace blink

#endif  // BLINK_COMMON_RPC_STATUS_H_
