#include "common/privacy/own_pairs.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace blink {
namespace {

// The rule as the header states it in words.
std::vector<NodeIndex> OthersOf(NodeIndex self, uint32_t n) {
  std::vector<NodeIndex> others;
  for (NodeIndex j = 0; j < n; ++j) {
    if (j == self) continue;
    const NodeIndex reporter = (self + j) % 2 == 0 ? std::min(self, j) : std::max(self, j);
    if (reporter == self) others.push_back(j);
  }
  return others;
}

TEST(OwnPairs, GiveEveryPairToOneOfItsEnds) {
  for (NodeIndex i = 0; i < 70; ++i) {
    for (NodeIndex j = 0; j < i; ++j) ASSERT_NE(OwnsPair(i, j), OwnsPair(j, i)) << i << " and " << j;
  }
  EXPECT_TRUE(OwnsPair(9'999'998, 9'999'997));
  EXPECT_FALSE(OwnsPair(9'999'999, 9'999'997));
}

TEST(OwnPairs, AreThoseOfTheRuleInAscendingOrder) {
  for (const uint32_t n : {3u, 4u, 5u, 64u, 65u, 130u}) {
    for (NodeIndex i = 0; i < n; ++i) {
      const std::vector<NodeIndex> others = OthersOf(i, n);
      ASSERT_EQ(OwnPairCount(i, n), others.size()) << i << " of " << n;
      for (uint32_t place = 0; place < others.size(); ++place) {
        ASSERT_TRUE(OwnsPair(i, others[place]));
        ASSERT_EQ(OwnPairPlace(i, others[place]), place) << i << " of " << n;
        ASSERT_EQ(OwnPairAt(i, place), others[place]) << i << " of " << n;
      }
    }
  }
}

TEST(OwnPairs, AreHalfOfANodesPairsAndNeverNone) {
  for (const uint32_t n : {3u, 4u, 101u, 102u, 10'000'000u}) {
    for (const NodeIndex i : {0u, 1u, 2u, n / 2, n - 2, n - 1}) {
      EXPECT_LE(std::abs(OwnPairCount(i, n) - (n - 1) / 2.0), 0.5) << i << " of " << n;
      EXPECT_GE(OwnPairCount(i, n), 1u);
    }
  }
}

// The tests of a report are made for an even and an odd node alone (aggregator_server/plausibility).
TEST(OwnPairs, AreAsManyForAllNodesOfOneParity) {
  for (const uint32_t n : {3u, 4u, 101u, 102u}) {
    for (NodeIndex i = 2; i < n; ++i) ASSERT_EQ(OwnPairCount(i, n), OwnPairCount(i - 2, n)) << i << " of " << n;
  }
}

}  // namespace
}  // namespace blink
