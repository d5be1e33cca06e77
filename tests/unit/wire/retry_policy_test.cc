#include "common/wire/retry_policy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

constexpr uint64_t kLowest = 0;
constexpr uint64_t kHighest = ~uint64_t{0};
const RetryPolicy kPolicy = {.base = absl::Milliseconds(200), .max = absl::Minutes(5)};

absl::Duration Wait(uint64_t word, int attempt, std::optional<RetryWindow> window,
                    const RetryPolicy& policy = kPolicy) {
  TapeRandom random({word});
  return DrawWait(policy, attempt, window, random).value();
}

TEST(DrawWait, BacksOffFromZeroToTwiceAsMuchEachTime) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    EXPECT_EQ(Wait(kLowest, attempt, std::nullopt), absl::ZeroDuration());
    EXPECT_EQ(Wait(kHighest, attempt, std::nullopt), absl::Milliseconds(200) * (1 << attempt));
  }
}

TEST(DrawWait, NeverExceedsTheMaximumHoweverManyAttempts) {
  for (const int attempt : {11, 12, 63, 64, 1'000'000'000}) {
    EXPECT_EQ(Wait(kHighest, attempt, std::nullopt), absl::Minutes(5));
  }
}

TEST(DrawWait, SpreadsTheWaitsOfAFleetOverTheWholeRange) {
  SeededRandom random(7);
  double sum = 0;
  absl::Duration low = absl::InfiniteDuration(), high;
  for (int i = 0; i < 10'000; ++i) {
    const absl::Duration wait = *DrawWait(kPolicy, 3, std::nullopt, random);  // 0 .. 1.6 s
    sum += absl::ToDoubleSeconds(wait);
    low = std::min(low, wait);
    high = std::max(high, wait);
  }
  // Mean 0.8 s, standard error 0.0046 s: six of them, an error probability below 1e-8 (and the seed is fixed).
  EXPECT_NEAR(sum / 10'000, 0.8, 0.028);
  EXPECT_LT(low, absl::Milliseconds(5));
  EXPECT_GT(high, absl::Milliseconds(1595));
}

TEST(DrawWait, AWindowOfThePeerReplacesTheBackoff) {
  const RetryWindow window = {absl::Seconds(10), absl::Seconds(30)};
  EXPECT_EQ(Wait(kLowest, 0, window), absl::Seconds(10));
  EXPECT_EQ(Wait(kHighest, 0, window), absl::Seconds(30));
  EXPECT_EQ(Wait(kHighest, 20, window), absl::Seconds(30));
}

TEST(DrawWait, AHostileWindowCannotPutANodeToSleep) {
  const RetryWindow window = {absl::Hours(24), absl::Hours(24)};
  EXPECT_LE(Wait(kHighest, 0, window), absl::Minutes(5));
}

TEST(DrawWait, AHostileWindowCannotWakeAFleetInOneInstant) {
  for (const absl::Duration point : {absl::ZeroDuration(), absl::Seconds(60), absl::Minutes(5), absl::Hours(24)}) {
    const RetryWindow window = {point, point};
    EXPECT_GE(Wait(kHighest, 0, window) - Wait(kLowest, 0, window), absl::Milliseconds(200))
        << absl::FormatDuration(point);
  }
}

TEST(DrawWait, AWindowThatIsUpsideDownOrNegativeStaysWithinTheLimits) {
  for (const RetryWindow window :
       {RetryWindow{absl::Seconds(9), absl::Seconds(1)}, RetryWindow{-absl::Hours(1), -absl::Hours(2)},
        RetryWindow{absl::InfiniteDuration(), absl::InfiniteDuration()},
        RetryWindow{-absl::InfiniteDuration(), absl::InfiniteDuration()}}) {
    for (const uint64_t word : {kLowest, kHighest / 2, kHighest}) {
      EXPECT_GE(Wait(word, 0, window), absl::ZeroDuration());
      EXPECT_LE(Wait(word, 0, window), absl::Minutes(5));
    }
  }
}

TEST(DrawWait, FailsWhenThereIsNoRandomness) {
  FailingRandom random(0);
  EXPECT_EQ(DrawWait(kPolicy, 0, std::nullopt, random).status().code(), absl::StatusCode::kUnavailable);
}

TEST(IsRetryable, OnlyWhatMayPass) {
  for (int code = 0; code <= 16; ++code) {
    const auto known = static_cast<absl::StatusCode>(code);
    const bool expected = known == absl::StatusCode::kUnavailable || known == absl::StatusCode::kDeadlineExceeded ||
                          known == absl::StatusCode::kResourceExhausted || known == absl::StatusCode::kAborted ||
                          known == absl::StatusCode::kInternal;
    EXPECT_EQ(IsRetryable(absl::Status(known, "")), expected) << code;
  }
}

}  // namespace
}  // namespace blink
