#include "aggregator_server/train/failure.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "aggregator_server/train/determinism.h"

namespace blink {
namespace {

const TrainDevice kGpu{torch::Device(torch::kCUDA, 0), "cuda:0"};

template <typename Throw>
absl::Status StatusOf(Throw do_throw, const TrainDevice& device = kGpu) {
  try {
    do_throw();
  } catch (...) {
    return StatusFromCurrentException(device);
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

TEST(TrainFailure, AdvisesWhatHelpsOnTheDevice) {
  const auto no_memory = [] { throw std::bad_alloc(); };
  const std::string gpu(StatusOf(no_memory).message()), cpu(StatusOf(no_memory, TrainDevice{}).message());
  EXPECT_THAT(gpu, ::testing::HasSubstr("--on-out-of-memory cpu"));
  EXPECT_THAT(cpu, ::testing::HasSubstr("on cpu: use hard links"));
  EXPECT_THAT(cpu, ::testing::Not(::testing::HasSubstr("on the CPU")));
  EXPECT_THAT(cpu, ::testing::Not(::testing::HasSubstr("GPU")));
}

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

// A training that uses an operation without a deterministic algorithm, as a GPU's is.
absl::StatusOr<TrainResult> UseAnIndeterminateOperation() {
  at::globalContext().alertNotDeterministic("the test's operation");
  return TrainResult{};
}

TEST(Determinism, IsClaimedWhereEveryOperationHasADeterministicAlgorithm) {
  const auto result = RunDeterministically("cuda:0", []() -> absl::StatusOr<TrainResult> {
    EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
    return TrainResult{};
  });
  EXPECT_TRUE(result->deterministic);
  EXPECT_TRUE(result->warnings.empty());
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms()) << "as before";
}

TEST(Determinism, IsNotClaimedWhereAnOperationHasNone) {
  int runs = 0;
  const auto result = RunDeterministically("cuda:0", [&] {
    ++runs;
    return UseAnIndeterminateOperation();
  });
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(result->deterministic);
  ASSERT_EQ(result->warnings.size(), 1u);
  EXPECT_EQ(result->warnings[0],
            "not deterministic: on cuda:0 the test's operation may round differently from run to run; train on the CPU "
            "for equal bits");
}

TEST(Determinism, OtherFailuresAreNotTakenForIt) {
  int runs = 0;
  const auto fail = [&]() -> absl::StatusOr<TrainResult> {
    ++runs;
    TORCH_CHECK(false, "CUDA error");
    return TrainResult{};
  };
  EXPECT_THROW(static_cast<void>(RunDeterministically("cuda:0", fail)), c10::Error);
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace blink
