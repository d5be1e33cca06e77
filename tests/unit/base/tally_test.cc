#include "common/base/tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <vector>

#include "common/base/code_counts.h"

namespace blink {
namespace {

using ::testing::ElementsAre;

TEST(Tally, CountsAValueInTheRangeThatEndsWithIt) {
  Tally tally({1, 10});
  for (const double value : {-1.0, 1.0, 1.5, 10.0, 11.0, std::numeric_limits<double>::infinity()}) tally.Add(value);
  EXPECT_THAT(tally.Read().counts, ElementsAre(2, 2, 2));
  EXPECT_THAT(tally.Read().bounds, ElementsAre(1, 10));
}

TEST(Tally, HasOneRangeWithoutBounds) {
  Tally tally({});
  tally.Add(2);
  tally.Add(3);
  EXPECT_THAT(tally.Read().counts, ElementsAre(2));
  EXPECT_EQ(tally.Read().sum, 5);
}

TEST(Tally, LosesNothingOfSeveralThreads) {
  Tally tally({0.5});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 10'000; ++n) tally.Add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(tally.Read().counts, ElementsAre(0, 40'000));
  EXPECT_EQ(tally.Read().sum, 40'000);
}

TEST(CodeCounts, CountsEachCodeAndTakesUnknownOnesForUnknown) {
  CodeCounts counts;
  counts.Add(absl::StatusCode::kNotFound);
  counts.Add(absl::StatusCode::kNotFound);
  counts.Add(absl::StatusCode::kUnauthenticated);
  counts.Add(static_cast<absl::StatusCode>(99));
  const CodeCounts::Counts read = counts.Read();
  EXPECT_EQ(read[static_cast<size_t>(absl::StatusCode::kNotFound)], 2u);
  EXPECT_EQ(read[static_cast<size_t>(absl::StatusCode::kUnauthenticated)], 1u);
  EXPECT_EQ(read[static_cast<size_t>(absl::StatusCode::kUnknown)], 1u);
}

}  // namespace
}  // namespace blink
