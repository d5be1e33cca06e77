#include "aggregator_server/groups/block_chung_lu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/unit/mechanisms/small_graph.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

struct BlockModel {
  uint32_t groups = 3;
  std::vector<uint32_t> group_of = {0, 0, 0, 0, 1, 1, 1, 2, 2, 0, 1, 0};
  std::vector<float> weights;  // [12, 3], with zeros and with pairs that are clipped at 1

  BlockModel() {
    for (uint32_t u = 0; u < 12; ++u) {
      for (uint32_t j = 0; j < 3; ++j)
        weights.push_back(static_cast<float>((u * 7 + j * 5) % 6) * (u == 4 ? 3.0f : 0.4f));
    }
  }
  double SumOf(uint32_t i, uint32_t j) const {  // T_ij
    double sum = 0;
    for (uint32_t u = 0; u < 12; ++u) sum += group_of[u] == i ? weights[u * 3 + j] : 0;
    return sum;
  }
  double Probability(uint32_t u, uint32_t v) const {
    const uint32_t i = group_of[u], j = group_of[v];
    const double sum = SumOf(0, j) + SumOf(1, j) + SumOf(2, j);  // S_j
    const auto size = static_cast<double>(std::count(group_of.begin(), group_of.end(), j));
    return std::min(1.0, weights[u * 3 + j] * (sum / size) / (sum + SumOf(i, j)));
  }
};

// Each of 132 ordered pairs in 20,000 graphs against the formula: error probability 132 * 4e-8 = 5e-6. Two members of a
// group together, too, since skipping must not couple them.
TEST(BlockChungLu, NamesEveryNodeWithItsProbability) {
  const BlockModel model;
  constexpr int kDraws = 20'000;
  std::mt19937_64 random(17);
  std::vector<double> count(144, 0);
  double both = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const LinkWeights links = DrawBlockChungLu(model.weights, model.group_of, model.groups, random).value();
    for (uint32_t v = 0; v < 12; ++v) {  // row v has those that name v
      for (const NodeIndex u : links.links.NeighboursOf(v)) ++count[u * 12 + v];
    }
    both += links.links.HasLink(5, 3) && links.links.HasLink(6, 3) ? 1 : 0;
  }
  for (uint32_t u = 0; u < 12; ++u) {
    EXPECT_EQ(count[u * 12 + u], 0);
    for (uint32_t v = 0; v < 12; ++v) {
      if (u == v) continue;
      const double p = model.Probability(u, v);
      if (p == 0 || p == 1) {
        EXPECT_EQ(count[u * 12 + v], p * kDraws) << u << " names " << v;
      } else {
        EXPECT_LT(std::abs(testing::Deviations(count[u * 12 + v], kDraws, p)), 5.5) << u << " names " << v;
      }
    }
  }
  const double p = model.Probability(3, 5) * model.Probability(3, 6);
  ASSERT_GT(p, 0);
  ASSERT_LT(p, 1);
  EXPECT_LT(std::abs(testing::Deviations(both, kDraws, p)), 5.5);
}

TEST(BlockChungLu, TakesGroupsWithoutNodes) {
  std::mt19937_64 random(1);
  const std::vector<float> weights(3 * 4, 1.0f);
  const auto graph = DrawBlockChungLu(weights, std::vector<uint32_t>{0, 3, 3}, 4, random);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->node_count, 3u);
}

TEST(BlockChungLu, RefusesWeightsThatAreNone) {
  std::mt19937_64 random(1);
  const std::vector<uint32_t> group_of = {0, 1};
  for (const float wrong : {-1.0f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    EXPECT_THAT(
        std::string(DrawBlockChungLu(std::vector<float>{1, 1, 1, wrong}, group_of, 2, random).status().message()),
        HasSubstr("a weight is"));
  }
  EXPECT_FALSE(DrawBlockChungLu(std::vector<float>{1, 1, 1}, group_of, 2, random).ok());
  EXPECT_THAT(std::string(DrawBlockChungLu(std::vector<float>{1, 1}, group_of, 1, random).status().message()),
              HasSubstr("group 1 is not below 1"));
}

}  // namespace
}  // namespace blink
