// A report from list to receiver at the ends of every parameter.
#include <sys/resource.h>

#include <numeric>
#include <vector>

#include "common/privacy/privatizer.h"
#include "common/wire/report_codec.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"
#include "tests/testing/sanitizers.h"

namespace blink {
namespace {

std::vector<NodeIndex> FullList(uint32_t n, NodeIndex self) {
  std::vector<NodeIndex> list(n - 1);
  std::iota(list.begin(), list.begin() + self, 0);
  std::iota(list.begin() + self, list.end(), self + 1);
  return list;
}

// Draws with the same noise for an empty and a full list, sends both, and compares what is received.
void ExpectReportsOfEmptyAndFullLists(uint64_t epsilon_micro, uint32_t share_ppm, uint32_t n) {
  SCOPED_TRACE(::testing::Message() << "epsilon_micro " << epsilon_micro << ", share " << share_ppm << ", n " << n);
  const auto parameters = *PrivacyParameters::Create(epsilon_micro, share_ppm, n);
  const NodeIndex self = n - 1;
  SeededRandom random(n);
  const ReportNoise noise = *DrawNoise(parameters, self, random);
  const auto empty = ApplyNoise(parameters, self, noise, {});
  const auto full = ApplyNoise(parameters, self, noise, FullList(n, self));
  ASSERT_TRUE(empty.ok() && full.ok());
  for (const auto& report : {*empty, *full}) {
    const auto received = DecodeReport(parameters, self, EncodeReport(parameters, report));
    ASSERT_TRUE(received.ok()) << received.status();
    ASSERT_EQ(*received, report);
  }
  ASSERT_EQ(empty->bits.size(), parameters.sends_bits() ? n : 0);
  if (parameters.sends_bits()) {
    EXPECT_EQ(empty->bits.Count() + full->bits.Count(), n - 1);
  }
  ASSERT_EQ(empty->noisy_degree.has_value(), parameters.sends_degree());
  if (parameters.sends_degree()) {
    EXPECT_EQ(static_cast<uint64_t>(*full->noisy_degree) - static_cast<uint64_t>(*empty->noisy_degree), n - 1);
  }
  // Noise that is drawn with probability below 2^-40 at the largest budget.
  if (epsilon_micro == 50'000'000 && share_ppm == 0) {
    EXPECT_EQ(empty->bits.Count(), 0u);
  }
  if (epsilon_micro == 50'000'000 && share_ppm == 1'000'000) {
    EXPECT_EQ(*empty->noisy_degree, 0);
  }
}

constexpr uint32_t kShares[] = {0, 1, 500'000, 999'999, 1'000'000};

TEST(Extremes, OfBudgetAndShareForTheSmallestRosters) {
  for (const uint32_t n : {3u, 4u, 63u, 64u, 65u, 1000u}) {
    for (const uint64_t epsilon_micro : {1u, 2u, 1'000'000u, 50'000'000u}) {
      for (const uint32_t share_ppm : kShares) ExpectReportsOfEmptyAndFullLists(epsilon_micro, share_ppm, n);
    }
  }
}

long PeakKilobytes() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Extremes, OfBudgetAndShareForTheLargestRosterInBoundedMemory) {
  constexpr uint32_t kNodes = 10'000'000;
  const std::vector<NodeIndex> warm = FullList(kNodes, 0);  // 40 MB, the most that a list itself takes
  ASSERT_EQ(warm.size(), kNodes - 1);
  const long before = PeakKilobytes();
  for (const uint64_t epsilon_micro : {1u, 6'000'000u, 50'000'000u}) {
    for (const uint32_t share_ppm : {0u, 1u, 1'000'000u})
      ExpectReportsOfEmptyAndFullLists(epsilon_micro, share_ppm, kNodes);
  }
  if (kAddressSanitizer || kThreadSanitizer) return;  // which keep what was given back
  // The list once more, and some twenty rows of n bits and symbols.
  EXPECT_LT(PeakKilobytes() - before, (40 + 64) * 1024);
}

}  // namespace
}  // namespace blink
