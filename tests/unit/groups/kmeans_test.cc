#include "aggregator_server/groups/kmeans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "tests/testing/instruction_sets.h"

namespace blink {
namespace {

// `groups` clouds of deviation 0.1 whose centres are far apart.
std::vector<float> Clouds(uint32_t n, uint32_t width, uint32_t groups) {
  std::mt19937_64 random(3);
  std::normal_distribution<float> noise(0, 0.1f);
  std::vector<float> points;
  for (uint32_t i = 0; i < n; ++i) {
    for (uint32_t d = 0; d < width; ++d)
      points.push_back(static_cast<float>(10 * (i % groups == d % groups)) + noise(random));
  }
  return points;
}

// Where Lloyd's algorithm has come to rest, every point is nearest to the mean of its own group.
void ExpectNearestMeans(const std::vector<float>& points, uint32_t width, const std::vector<uint32_t>& group_of,
                        uint32_t groups) {
  const size_t n = points.size() / width;
  std::vector<std::vector<double>> means(groups, std::vector<double>(width, 0));
  std::vector<double> sizes(groups, 0);
  for (size_t i = 0; i < n; ++i) {
    ++sizes[group_of[i]];
    for (uint32_t d = 0; d < width; ++d) means[group_of[i]][d] += points[i * width + d];
  }
  const auto distance = [&](size_t i, uint32_t c) {
    double sum = 0;
    for (uint32_t d = 0; d < width; ++d) sum += std::pow(points[i * width + d] - means[c][d] / sizes[c], 2);
    return sum;
  };
  for (size_t i = 0; i < n; ++i) {
    for (uint32_t c = 0; c < groups; ++c) {
      if (sizes[c] > 0) {
        ASSERT_GE(distance(i, c), distance(i, group_of[i]) - 1e-3) << "point " << i;
      }
    }
  }
}

TEST(KMeans, FindsCloudsThatAreApart) {
  for (const uint32_t width : {4u, 37u}) {
    const std::vector<float> points = Clouds(400, width, 4);
    const std::vector<uint32_t> group_of = KMeans(points, width, 4, {.seed = 2});
    std::set<uint32_t> seen;
    for (uint32_t i = 0; i < 400; ++i) {
      EXPECT_EQ(group_of[i], group_of[i % 4]);
      seen.insert(group_of[i]);
    }
    EXPECT_EQ(seen.size(), 4u);
  }
}

TEST(KMeans, EndsWithEveryPointNearestToItsOwnMean) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> uniform(0, 10);
  for (const auto& [n, width, groups] :
       {std::tuple(300u, 2u, 7u), std::tuple(257u, 19u, 20u), std::tuple(90u, 1u, 3u)}) {
    std::vector<float> points(size_t{n} * width);
    for (float& x : points) x = uniform(random);
    ExpectNearestMeans(points, width, KMeans(points, width, groups, {.iterations = 300, .seed = 1}), groups);
  }
}

TEST(KMeans, DoesNotDependOnTheThreads) {
  const std::vector<float> points = Clouds(1000, 23, 5);
  EXPECT_EQ(KMeans(points, 23, 40, {.threads = 1}), KMeans(points, 23, 40, {.threads = 3}));
}

TEST(KMeans, FindsTheSameCloudsWithEveryInstructionSet) {
  const std::vector<float> points = Clouds(300, 21, 5);
  for (const InstructionSet set : kInstructionSets) {
    if (!MachineHas(set)) continue;
    const WithInstructionSet used(set);
    const std::vector<uint32_t> group_of = KMeans(points, 21, 5, {});
    for (uint32_t i = 0; i < 300; ++i) ASSERT_EQ(group_of[i], group_of[i % 5]) << InstructionSetName(set);
  }
}

TEST(KMeans, LeavesGroupsEmptyWhereTooFewPointsDiffer) {
  const std::vector<float> points = {1, 1, 1, 1, 2, 2};
  const std::vector<uint32_t> group_of = KMeans(points, 1, 5, {});
  EXPECT_EQ(std::set<uint32_t>(group_of.begin(), group_of.end()).size(), 2u);
  EXPECT_EQ(group_of[0], group_of[3]);
  EXPECT_NE(group_of[0], group_of[5]);
}

TEST(KMeans, TakesAsManyGroupsAsPoints) {
  const std::vector<float> points = {4, 1, 3, 2};
  const std::vector<uint32_t> group_of = KMeans(points, 1, 4, {});
  EXPECT_EQ(std::set<uint32_t>(group_of.begin(), group_of.end()).size(), 4u);
}

}  // namespace
}  // namespace blink
