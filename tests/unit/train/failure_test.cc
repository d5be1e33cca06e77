#include "aggregator_server/train/failure.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace blink {
namespace {

template <typename Throw>
absl::Status StatusOf(Throw do_throw) {
  try {
    do_throw();
  } catch (...) {
    return StatusFromCurrentException("cuda:0");
  }
  return absl::OkStatus();
}

TEST(TrainFailure, EveryLackOfMemoryIsResourceExhaustedAndNamesTheDevice) {
  const absl::Status cases[] = {
      StatusOf([] { throw std::bad_alloc(); }),
      StatusOf([] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 2.00 GiB"); }),
      StatusOf([] { TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"); }),
  };
  for (const absl::Status& status : cases) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("cuda:0"));
  }
}

TEST(TrainFailure, AnythingElseIsInternalInOneLine) {
  const absl::Status status = StatusOf([] { throw std::runtime_error("\nfirst\nsecond"); });
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("first"));
  EXPECT_THAT(std::string(status.message()), ::testing::Not(::testing::HasSubstr("second")));
  EXPECT_EQ(StatusOf([] { throw 3; }).code(), absl::StatusCode::kInternal);
}

const TrainDevice kGpu{torch::Device(torch::kCUDA, 0), "cuda:0"};

absl::StatusOr<TrainResult> OutOfMemoryUnlessCpu(const TrainDevice& device) {
  if (!device.device.is_cpu()) return absl::ResourceExhaustedError("out of memory");
  return TrainResult{.device = device.description};
}

TEST(TrainFailure, GoesOnOnTheCpuWhenToldTo) {
  const auto result = RunWithFallback(kGpu, true, OutOfMemoryUnlessCpu);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->device, "cpu");
  EXPECT_TRUE(result->fell_back_to_cpu);
}

TEST(TrainFailure, FailsWhenNotToldToGoOn) {
  EXPECT_EQ(RunWithFallback(kGpu, false, OutOfMemoryUnlessCpu).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TrainFailure, DoesNotTryAgainAfterAnotherFailureOrOnTheCpu) {
  int runs = 0;
  EXPECT_FALSE(RunWithFallback(kGpu, true, [&](const TrainDevice&) -> absl::StatusOr<TrainResult> {
                 ++runs;
                 return absl::InternalError("x");
               }).ok());
  EXPECT_FALSE(RunWithFallback(TrainDevice{}, true, [&](const TrainDevice&) -> absl::StatusOr<TrainResult> {
                 ++runs;
                 return absl::ResourceExhaustedError("x");
               }).ok());
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace blink
