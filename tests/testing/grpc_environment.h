// Include once in a test program that uses gRPC: its last act is to wait until gRPC's own threads have ended. A thread
// that is just ending while the leak checker looks still has OpenSSL's per-thread generators, which would then count as
// a leak.
#ifndef BLINK_TESTS_TESTING_GRPC_ENVIRONMENT_H_
#define BLINK_TESTS_TESTING_GRPC_ENVIRONMENT_H_

#include <grpc/grpc.h>
#include <gtest/gtest.h>

namespace blink::testing {

class GrpcEnvironment : public ::testing::Environment {
 public:
  void SetUp() override { grpc_init(); }
  void TearDown() override { grpc_shutdown_blocking(); }
};

inline ::testing::Environment* const kGrpcEnvironment = ::testing::AddGlobalTestEnvironment(new GrpcEnvironment);

}  // namespace blink::testing

#endif  // BLINK_TESTS_TESTING_GRPC_ENVIRONMENT_H_
