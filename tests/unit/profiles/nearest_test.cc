#include "aggregator_server/profiles/nearest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "gtest/gtest.h"

namespace blink {
namespace {

// Dense rows of norm 1 of small numbers, so that cosines often tie; every 17th row is 0.
NodeProfiles RandomProfiles(uint32_t nodes, uint32_t columns, bool sparse, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> dense(size_t{nodes} * columns, 0.0f);
  for (uint32_t i = 0; i < nodes; ++i) {
    float square = 0;
    for (uint32_t c = 0; c < columns && i % 17 != 3; ++c) {
      const float value = static_cast<float>(random() % 3) - (sparse ? 0.0f : 1.0f);
      dense[size_t{i} * columns + c] = value;
      square += value * value;
    }
    for (uint32_t c = 0; c < columns && square > 0; ++c) dense[size_t{i} * columns + c] /= std::sqrt(square);
  }
  NodeProfiles profiles;
  profiles.latent = dense;
  profiles.latent_width = columns;
  FeatureMatrix& scaled = profiles.scaled;
  scaled.rows = nodes;
  scaled.cols = columns;
  scaled.sparse = sparse;
  if (!sparse) {
    scaled.values = std::move(dense);
    return profiles;
  }
  scaled.row_offsets.push_back(0);
  for (uint32_t i = 0; i < nodes; ++i) {
    for (uint32_t c = 0; c < columns; ++c) {
      if (dense[size_t{i} * columns + c] == 0) continue;
      scaled.columns.push_back(static_cast<int32_t>(c));
      scaled.values.push_back(dense[size_t{i} * columns + c]);
    }
    scaled.row_offsets.push_back(static_cast<int64_t>(scaled.columns.size()));
  }
  return profiles;
}

// By the definition: all cosines, sorted.
void ExpectNearest(const NodeProfiles& profiles, const Nearest& nearest, uint32_t count) {
  const uint32_t nodes = profiles.scaled.rows, width = profiles.latent_width;
  ASSERT_EQ(nearest.node_count, nodes);
  ASSERT_EQ(nearest.count, count);
  for (uint32_t i = 0; i < nodes; ++i) {
    std::vector<double> cosines;
    for (uint32_t j = 0; j < nodes; ++j) {
      double cosine = 0;
      for (uint32_t c = 0; c < width; ++c) {
        cosine += double{profiles.latent[size_t{i} * width + c]} * profiles.latent[size_t{j} * width + c];
      }
      cosines.push_back(i == j ? -1 : cosine);
    }
    std::vector<double> sorted = cosines;
    std::sort(sorted.rbegin(), sorted.rend());
    for (uint32_t k = 0; k < count; ++k) {
      const float found = nearest.cosines[size_t{i} * count + k];
      EXPECT_NEAR(found, std::max(0.0, sorted[k]), 1e-5) << i << " " << k;
      if (found > 0) {
        EXPECT_NEAR(found, cosines[nearest.nodes[size_t{i} * count + k]], 1e-5);
      }
    }
  }
}

TEST(Nearest, AreTheNodesOfTheLargestCosines) {
  for (const bool sparse : {false, true}) {
    const NodeProfiles profiles = RandomProfiles(300, 9, sparse, 1);
    const NearestNodes nearest = FindNearest(profiles, 7, 2, {});
    ExpectNearest(profiles, nearest.scaled, 7);
    ExpectNearest(profiles, nearest.latent, 7);
  }
}

TEST(Nearest, ListEachNodeOnceAndNeverItself) {
  const Nearest nearest = FindNearest(RandomProfiles(300, 3, false, 2), 20, 2, {}).scaled;
  for (uint32_t i = 0; i < nearest.node_count; ++i) {
    std::vector<uint32_t> nodes;
    for (uint32_t k = 0; k < nearest.count; ++k) {
      if (nearest.cosines[i * nearest.count + k] > 0) nodes.push_back(nearest.nodes[i * nearest.count + k]);
    }
    std::sort(nodes.begin(), nodes.end());
    EXPECT_EQ(std::unique(nodes.begin(), nodes.end()), nodes.end());
    EXPECT_EQ(std::count(nodes.begin(), nodes.end(), i), 0);
  }
}

TEST(Nearest, DoNotDependOnTheThreads) {
  for (const bool sparse : {false, true}) {
    const NodeProfiles profiles = RandomProfiles(700, 4, sparse, 3);
    const NearestNodes one = FindNearest(profiles, 10, 1, {}), four = FindNearest(profiles, 10, 4, {});
    EXPECT_EQ(one.scaled.nodes, four.scaled.nodes);
    EXPECT_EQ(one.scaled.cosines, four.scaled.cosines);
    EXPECT_EQ(one.latent.nodes, four.latent.nodes);
  }
}

TEST(Nearest, AreNoMoreThanTheOtherNodes) {
  const Nearest nearest = FindNearest(RandomProfiles(5, 4, true, 4), 30, 1, {}).scaled;
  EXPECT_EQ(nearest.count, 4u);
}

TEST(Nearest, AreNoneOfANodeWithoutFeatures) {
  const Nearest nearest = FindNearest(RandomProfiles(40, 4, true, 5), 6, 1, {}).scaled;
  for (uint32_t k = 0; k < 6; ++k) EXPECT_EQ(nearest.cosines[3 * 6 + k], 0.0f);
}

TEST(Nearest, AreNoneWithoutFeaturesAtAll) {
  NodeProfiles profiles;
  profiles.scaled.rows = 10;
  EXPECT_EQ(FindNearest(profiles, 30, 1, {}).scaled.count, 0u);
  EXPECT_TRUE(SumsOfNearest({}, 30, {}, 3).empty());
}

TEST(SumsOfNearest, WeighTheFirstByTheirCosines) {
  const Nearest nearest{
      .node_count = 3, .count = 2, .nodes = {1, 2, 0, 2, 0, 1}, .cosines = {.5f, .25f, .5f, 0, .25f, 0}};
  const std::vector<float> x = {1, 2, 10, 20, 100, 200};
  EXPECT_EQ(SumsOfNearest(nearest, 2, x, 2), (std::vector<float>{30, 60, .5f, 1, .25f, .5f}));
  EXPECT_EQ(SumsOfNearest(nearest, 1, x, 2), (std::vector<float>{5, 10, .5f, 1, .25f, .5f}));
}

}  // namespace
}  // namespace blink
