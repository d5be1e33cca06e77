// Whatever allocation fails while a model is trained, the caller gets a status: no exception leaves Train.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "aggregator_server/train/trainer.h"
#include "tests/unit/train/small_data.h"

namespace {

// Of this thread's allocations of at least kBytes, counted from 1, the one that fails; 0: none.
constexpr size_t kBytes = 4096;
thread_local int fails_at = 0, counted = 0;

void* Allocate(size_t bytes) {
  if (fails_at > 0 && bytes >= kBytes && ++counted == fails_at) throw std::bad_alloc();
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes); }
void* operator new[](size_t bytes) { return Allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace blink {
namespace {

TEST(TrainMemory, EveryFailingAllocationIsAStatus) {
  const Dataset data = testing::SmallDataset(1200);
  const LinkWeights weights = LinkWeights::Unweighted(data.graph);
  TrainOptions options;
  options.epochs = 1;
  options.threads = 1;
  options.device = "cpu";
  for (const NodeFeatures kind : {NodeFeatures::kIdentity, NodeFeatures::kGivenAndDegree}) {
    options.node_features = kind;
    ASSERT_TRUE(Train(weights, data.attributes, options).ok()) << "what is made once is there";
    int failures = 0;
    for (int at = 1;; ++at) {
      counted = 0;
      fails_at = at;
      const absl::StatusOr<TrainResult> result = Train(weights, data.attributes, options);
      fails_at = 0;
      if (result.ok()) break;
      EXPECT_EQ(result.status().code(), absl::StatusCode::kResourceExhausted) << at << ": " << result.status();
      EXPECT_NE(std::string(result.status().message()).find("out of memory on cpu"), std::string::npos)
          << result.status();
      ++failures;
    }
    EXPECT_GT(failures, 20) << "the test reaches the allocations";
  }
}

}  // namespace
}  // namespace blink
