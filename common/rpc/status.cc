#include "common/rpc/status.h"

#include <string>

namespace blink {

// The two enumerations have the same numbers by design (google.rpc.Code); what is outside of them is UNKNOWN, never OK.
grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const int code = static_cast<int>(status.code());  // code() itself maps strange numbers to UNKNOWN
  return grpc::Status(static_cast<grpc::StatusCode>(code), std::string(status.message()));
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const int code = static_cast<int>(status.error_code());
  const bool known = code > 0 && code <= static_cast<int>(grpc::StatusCode::UNAUTHENTICATED);
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                      PeerText(status.error_message()));
}

std::string PeerText(absl::string_view text) {
  constexpr size_t kCharactersMax = 1024;
  std::string result(text.substr(0, kCharactersMax));
  for (char& c : result) {
    if (c < ' ' || c > '~') c = '?';
  }
  return result;
}

static_assert(static_cast<int>(absl::StatusCode::kCancelled) == grpc::StatusCode::CANCELLED);
static_assert(static_cast<int>(absl::StatusCode::kNotFound) == grpc::StatusCode::NOT_FOUND);
static_assert(static_cast<int>(absl::StatusCode::kDataLoss) == grpc::StatusCode::DATA_LOSS);
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) == grpc::StatusCode::UNAUTHENTICATED);

}  // namespace blink
