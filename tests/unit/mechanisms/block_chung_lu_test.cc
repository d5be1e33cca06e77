#include "mechanisms/block_chung_lu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/mechanisms/small_graph.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

struct Model {
  uint32_t groups = 3;
  std::vector<uint32_t> group_of = {0, 0, 0, 0, 1, 1, 1, 2, 2, 0, 1, 0};
  std::vector<float> weights;  // [12, 3], with zeros and with pairs that are clipped at 1

  Model() {
    for (uint32_t u = 0; u < 12; ++u) {
      for (uint32_t j = 0; j < 3; ++j)
        weights.push_back(static_cast<float>((u * 7 + j * 5) % 6) * (u == 4 ? 3.0f : 0.4f));
    }
  }
  double Sum(uint32_t i, uint32_t j) const {
    double sum = 0;
    for (uint32_t u = 0; u < 12; ++u) sum += group_of[u] == i ? weights[u * 3 + j] : 0;
    return sum;
  }
  double Probability(uint32_t u, uint32_t v) const {
    const uint32_t i = group_of[u], j = group_of[v];
    const double m = (Sum(i, j) + Sum(j, i)) / 2;
    return m > 0 ? std::min(1.0, weights[u * 3 + j] * static_cast<double>(weights[v * 3 + i]) / m) : 0;
  }
};

// Each of 66 pairs in 20,000 graphs against the formula: error probability 66 * 4e-8 = 3e-6. Neighbouring pairs of a
// walk, too, since skipping must not couple them.
TEST(BlockChungLu, LinksEveryPairWithItsProbability) {
  const Model model;
  constexpr int kDraws = 20'000;
  std::mt19937_64 random(17);
  std::vector<double> count(144, 0);
  double both = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const CsrGraph graph = DrawBlockChungLu(model.weights, model.group_of, model.groups, random).value();
    for (uint32_t u = 0; u < 12; ++u) {
      for (const NodeIndex v : graph.NeighboursOf(u)) ++count[u * 12 + v];
    }
    both += graph.HasLink(1, 5) && graph.HasLink(1, 6) ? 1 : 0;
  }
  for (uint32_t u = 0; u < 12; ++u) {
    EXPECT_EQ(count[u * 12 + u], 0);
    for (uint32_t v = u + 1; v < 12; ++v) {
      const double p = model.Probability(u, v);
      if (p == 0 || p == 1) {
        EXPECT_EQ(count[u * 12 + v], p * kDraws) << u << ", " << v;
      } else {
        EXPECT_LT(std::abs(testing::Deviations(count[u * 12 + v], kDraws, p)), 5.5) << u << ", " << v;
      }
    }
  }
  const double p = model.Probability(1, 5) * model.Probability(1, 6);
  ASSERT_GT(p, 0);
  EXPECT_LT(std::abs(testing::Deviations(both, kDraws, p)), 5.5);
}

TEST(BlockChungLu, TakesGroupsWithoutNodes) {
  std::mt19937_64 random(1);
  const std::vector<float> weights(3 * 4, 1.0f);
  const auto graph = DrawBlockChungLu(weights, std::vector<uint32_t>{0, 3, 3}, 4, random);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->node_count(), 3u);
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
