#include "aggregator_server/train/nearest_shares.h"

#include <gtest/gtest.h>

#include <cmath>

namespace blink {
namespace {

// Three nodes, two classes; 0 and 1 are alike, 2 is like nobody.
NearestNodes Pair() {
  const Nearest nearest{.node_count = 3, .count = 2, .nodes = {1, 0, 0, 0, 0, 0}, .cosines = {.5f, 0, .5f, 0, 0, 0}};
  return {.scaled = nearest, .latent = {}};
}
const ClassProbabilities kClasses{
    .node_count = 3, .class_count = 2, .open = {.5f, .5f, .4f, .6f, .3f, .7f}, .clamped = {1, 0, .4f, .6f, .3f, .7f}};

TEST(NearestShares, AreOfTheClampedRowsOfTheOthers) {
  const NearestShares shares = NearestSharesOf(Pair(), kClasses);
  ASSERT_EQ(shares.width, 4u);  // ten nearest and thirty, which are the same here
  ASSERT_EQ(shares.values.size(), 12u);
  EXPECT_NEAR(shares.values[0], std::log(.21 / .52), 1e-5);
  EXPECT_NEAR(shares.values[3], std::log(.31 / .52), 1e-5);
  EXPECT_NEAR(shares.values[4], std::log(.51 / .52), 1e-5) << "node 1 sees the label of node 0";
}

TEST(NearestShares, AreEqualOfANodeLikeNobody) {
  const NearestShares shares = NearestSharesOf(Pair(), kClasses);
  for (int c = 0; c < 4; ++c) EXPECT_NEAR(shares.values[8 + c], std::log(.5), 1e-6);
}

TEST(NearestShares, DoNotChangeWithTheNodesOwnLabel) {
  ClassProbabilities other = kClasses;
  other.clamped[0] = 0;
  other.clamped[1] = 1;
  const NearestShares before = NearestSharesOf(Pair(), kClasses), after = NearestSharesOf(Pair(), other);
  for (int c = 0; c < 4; ++c) EXPECT_EQ(before.values[c], after.values[c]);
  EXPECT_NE(before.values, after.values);
}

TEST(NearestShares, AreNoneWithoutFeatures) {
  const NearestShares shares = NearestSharesOf({}, kClasses);
  EXPECT_EQ(shares.width, 0u);
  EXPECT_TRUE(shares.values.empty());
}

TEST(SideBySide, KeepsTheRows) {
  EXPECT_EQ(SideBySide({1, 2}, 1, {3, 4, 5, 6}, 2), (std::vector<float>{1, 3, 4, 2, 5, 6}));
}

}  // namespace
}  // namespace blink
