#include "common/privacy/random_source.h"

#include <vector>

#include "common/privacy/random_bits.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

TEST(SecureRandom, FillsEveryByteAndNeverRepeatsItself) {
  std::vector<uint8_t> first(100'000, 0), second(100'000, 0);
  ASSERT_TRUE(SecureRandom().Fill(absl::MakeSpan(first)).ok());
  ASSERT_TRUE(SecureRandom().Fill(absl::MakeSpan(second)).ok());
  EXPECT_NE(first, second);
  std::vector<int> counts(256, 0);
  for (const uint8_t byte : first) ++counts[byte];
  for (const int count : counts) EXPECT_GT(count, 100);  // expected 391; chance of failure below 1e-40
}

TEST(SecureRandom, AcceptsAnEmptySpan) { EXPECT_TRUE(SecureRandom().Fill({}).ok()); }

TEST(RandomBits, FetchInBulkAndHandOutEachWordOnce) {
  SeededRandom seeded(7), again(7);
  CountingRandom counting(seeded);
  RandomBits bits(counting);
  for (int i = 0; i < 3000; ++i) {
    uint64_t expected;
    ASSERT_TRUE(again.Fill(absl::MakeSpan(reinterpret_cast<uint8_t*>(&expected), 8)).ok());
    EXPECT_EQ(bits.NextWord(), expected);
  }
  EXPECT_EQ(counting.calls(), 3u);
}

TEST(RandomBits, FetchWhatIsExpectedAndThenLittleByLittle) {
  SeededRandom seeded(7), again(7);
  CountingRandom counting(seeded);
  RandomBits bits(counting, /*expected_words=*/1500);
  uint64_t fetched[] = {1024, 1024 + 476, 1500 + 128, 1500 + 256};
  uint64_t drawn = 0;
  for (const uint64_t words : fetched) {
    for (; drawn < words; ++drawn) {
      uint64_t expected;
      ASSERT_TRUE(again.Fill(absl::MakeSpan(reinterpret_cast<uint8_t*>(&expected), 8)).ok());
      EXPECT_EQ(bits.NextWord(), expected);
      EXPECT_EQ(counting.bytes(), 8 * words);
    }
  }
  EXPECT_EQ(counting.calls(), 4u);
}

TEST(RandomBits, FetchNothingBeforeAWordIsDrawn) {
  FailingRandom failing;
  RandomBits bits(failing, 0);
  EXPECT_TRUE(bits.ok());
  EXPECT_EQ(failing.calls(), 0);
}

TEST(RandomBits, RememberThatTheSourceFailed) {
  FailingRandom failing(/*good_calls=*/1);
  RandomBits bits(failing);
  for (int i = 0; i < 1024; ++i) bits.NextWord();
  EXPECT_TRUE(bits.ok());
  EXPECT_EQ(bits.NextWord(), 0u);
  EXPECT_EQ(bits.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(bits.NextBelow(1000), 0u);
  for (int i = 0; i < 3000; ++i) EXPECT_EQ(bits.NextWord(), 0u);
  EXPECT_EQ(failing.calls(), 2) << "a source that failed is not asked again";
}

TEST(RandomBits, RejectRatherThanReduce) {
  // 3 bits a draw for a bound of 5: 7, 6 and 5 are rejected.
  TapeRandom tape({7, 6, 5, 4, 8 + 3});
  RandomBits bits(tape);
  EXPECT_EQ(bits.NextBelow(5), 4u);
  EXPECT_EQ(bits.NextBelow(5), 3u);
}

TEST(RandomBits, KnowOnlyZeroBelowOne) {
  TapeRandom tape({UINT64_MAX});
  RandomBits bits(tape);
  EXPECT_EQ(bits.NextBelow(1), 0u);
}

}  // namespace
}  // namespace blink
