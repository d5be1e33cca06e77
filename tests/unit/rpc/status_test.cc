#include "common/rpc/status.h"

#include <gtest/gtest.h>

namespace blink {
namespace {

TEST(StatusMapping, KeepsEveryCodeAndMessageBothWays) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status there(static_cast<absl::StatusCode>(code), "the reason");
    const grpc::Status wire = ToGrpcStatus(there);
    EXPECT_EQ(static_cast<int>(wire.error_code()), code);
    EXPECT_EQ(wire.error_message(), "the reason");
    EXPECT_EQ(FromGrpcStatus(wire), there);
  }
}

TEST(StatusMapping, NamesCorrespondNotOnlyNumbers) {
  EXPECT_EQ(ToGrpcStatus(absl::CancelledError("")).error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(ToGrpcStatus(absl::UnknownError("")).error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(ToGrpcStatus(absl::InvalidArgumentError("")).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ToGrpcStatus(absl::DeadlineExceededError("")).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(ToGrpcStatus(absl::NotFoundError("")).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ToGrpcStatus(absl::AlreadyExistsError("")).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(ToGrpcStatus(absl::PermissionDeniedError("")).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(ToGrpcStatus(absl::ResourceExhaustedError("")).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ToGrpcStatus(absl::FailedPreconditionError("")).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(ToGrpcStatus(absl::AbortedError("")).error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(ToGrpcStatus(absl::OutOfRangeError("")).error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(ToGrpcStatus(absl::UnimplementedError("")).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(ToGrpcStatus(absl::InternalError("")).error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(ToGrpcStatus(absl::UnavailableError("")).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ToGrpcStatus(absl::DataLossError("")).error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(ToGrpcStatus(absl::UnauthenticatedError("")).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST(StatusMapping, WhatAPeerSaysCanForgeNoLineAndSteerNoTerminal) {
  const absl::Status status =
      FromGrpcStatus(grpc::Status(grpc::StatusCode::INTERNAL, "no\n2026 info: all is well\x1b[2J\r\x9b"));
  EXPECT_EQ(status.message(), "no?2026 info: all is well?[2J??");
  EXPECT_EQ(PeerText(std::string(1 << 20, 'x')).size(), 1024u);
  EXPECT_EQ(PeerText(std::string("a\0b", 3)), "a?b");
}

TEST(StatusMapping, OkIsOk) {
  EXPECT_TRUE(ToGrpcStatus(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpcStatus(grpc::Status::OK).ok());
}

TEST(StatusMapping, ACodeOutsideTheRangeIsUnknownNeverOk) {
  for (const int code : {17, 31, -1}) {  // what the enumeration's bits can hold
    EXPECT_EQ(FromGrpcStatus(grpc::Status(static_cast<grpc::StatusCode>(code), "odd")).code(),
              absl::StatusCode::kUnknown);
  }
  for (const int code : {17, 99, -1, 1 << 20}) {
    EXPECT_EQ(ToGrpcStatus(absl::Status(static_cast<absl::StatusCode>(code), "odd")).error_code(),
              grpc::StatusCode::UNKNOWN);
  }
}

}  // namespace
}  // namespace blink
