#include "aggregator_server/links/link_weights.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

// 100 nodes of 3 classes, about a third of the pairs with ones.
LinkWeights RandomSoft(bool packed) {
  constexpr uint32_t n = 100, k = 3;
  std::mt19937 random(7);
  LinkWeights weights;
  weights.node_count = n;
  weights.weighted = true;
  weights.class_count = k;
  for (NodeIndex i = 0; i < n; ++i) weights.class_of_node.push_back(i * 7 % k);
  weights.background.resize(k * k);
  weights.by_ones.resize(k * k * 2);
  for (uint32_t a = 0; a < k; ++a) {
    for (uint32_t b = 0; b < k; ++b) {
      weights.background[a * k + b] = 0.01f * static_cast<float>(1 + a + b + a * b);
      for (int ones = 0; ones < 2; ++ones) {
        weights.by_ones[2 * (a * k + b) + ones] = 0.1f * static_cast<float>((1 + ones) * (1 + a + b));
      }
    }
  }
  PairOnes pairs = PairOnes::Ordered(weights.class_of_node, k);
  const uint32_t words = pairs.words;
  std::vector<uint32_t> position(n);
  for (uint32_t p = 0; p < 64 * words; ++p) {
    if (pairs.node_at[p] != PairOnes::kNoNode) position[pairs.node_at[p]] = p;
  }
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = i + 1; j < n; ++j) {
      const uint32_t ones = random() % 6 >= 2 ? 0 : 1 + random() % 2;
      if (ones == 0) continue;
      links.emplace_back(i, j);
      for (const auto& [from, to] : {std::pair(i, j), std::pair(j, i)}) {
        const uint32_t p = position[to];
        pairs.any[from * words + p / 64] |= uint64_t{1} << (p % 64);
        if (ones == 2) pairs.both[from * words + p / 64] |= uint64_t{1} << (p % 64);
      }
    }
  }
  if (packed) {
    weights.ones = std::move(pairs);
    return weights;
  }
  weights.links = CsrGraph::FromLinks(n, links).value();
  for (NodeIndex i = 0; i < n; ++i) {
    for (const NodeIndex j : weights.links.NeighboursOf(i)) {
      const uint64_t both = (pairs.both[i * words + position[j] / 64] >> (position[j] % 64)) & 1;
      weights.values.push_back(weights.by_ones[2 * (weights.class_of_node[i] * k + weights.class_of_node[j]) + both]);
    }
  }
  weights.by_ones.clear();
  return weights;
}

TEST(LinkWeights, MultiplyIsTheProductWithTheRowsThatItDescribes) {
  for (const bool packed : {false, true}) {
    const LinkWeights weights = RandomSoft(packed);
    const uint32_t n = weights.node_count;
    constexpr int64_t kWidth = 5;
    std::vector<float> x(n * kWidth), y(n * kWidth), row(n);
    std::mt19937 random(8);
    for (float& value : x) value = std::normal_distribution<float>()(random);
    Multiply(weights, x.data(), kWidth, 2, y.data());
    for (NodeIndex i = 0; i < n; ++i) {
      FillRow(weights, i, row.data());
      EXPECT_EQ(row[i], 0);
      for (int64_t c = 0; c < kWidth; ++c) {
        double sum = 0;
        for (NodeIndex j = 0; j < n; ++j) sum += static_cast<double>(row[j]) * x[j * kWidth + c];
        EXPECT_NEAR(y[i * kWidth + c], sum, 1e-4) << i;
      }
    }
  }
}

TEST(LinkWeights, AListAndPackedOnesDescribeTheSameWeights) {
  const LinkWeights list = RandomSoft(false), packed = RandomSoft(true);
  std::vector<float> a(list.node_count), b(list.node_count);
  for (NodeIndex i = 0; i < list.node_count; ++i) {
    FillRow(list, i, a.data());
    FillRow(packed, i, b.data());
    EXPECT_EQ(a, b);
  }
}

TEST(LinkWeights, AGraphTakenAsItIsWeighsOneALink) {
  const LinkWeights weights = LinkWeights::Unweighted(CsrGraph::FromLinks(4, {{0, 1}, {1, 2}}).value());
  EXPECT_FALSE(weights.weighted);
  EXPECT_THAT(RowSums(weights, 3), ::testing::ElementsAre(1, 2, 1, 0));
}

}  // namespace
}  // namespace blink
