// The one mapping between absl::Status and grpc::Status; covers every code, keeps the message.
#ifndef BLINK_COMMON_RPC_STATUS_H_
#define BLINK_COMMON_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace blink {

grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace blink

#endif  // BLINK_COMMON_RPC_STATUS_H_
