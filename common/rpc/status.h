// The one mapping between absl::Status and grpc::Status; covers every code, keeps the message.
#ifndef BLINK_COMMON_RPC_STATUS_H_
#define BLINK_COMMON_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace blink {

grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);  // with the message as PeerText has it

// What a peer says, fit for a log or a terminal: printable ASCII on one line, other bytes as '?', at most 1,024 of
// them.
std::string PeerText(absl::string_view text);

}  // namespace blink

#endif  // BLINK_COMMON_RPC_STATUS_H_
