// The fine Laplace noise, and ldpgcn, which adds it to every entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mechanisms/fine_laplace.h"
#include "mechanisms/ldpgcn.h"
#include "tests/testing/random_doubles.h"
#include "tests/unit/mechanisms/small_graph.h"

namespace blink {
namespace {

using testing::Dense;
using testing::Deviations;
using testing::GraphWithHubs;
using ::testing::HasSubstr;

// P(|y| > k scales) = e^-k, up to the grid; five cells of 100,000 draws at two scales: error probability 4e-7.
TEST(FineLaplace, HasTheTailOfItsScale) {
  constexpr int kDraws = 100'000;
  for (const uint64_t parts : {1, 2}) {
    SeededRandom source(7 + parts);
    RandomBits bits(source);
    const double decay = std::exp(-1.5 / static_cast<double>(parts) / kUnitsPerLink);  // of one unit more
    std::vector<int64_t> drawn(kDraws);
    for (int64_t& y : drawn) y = DrawFineLaplace(1'500'000, parts, bits);
    for (const int64_t k : {0, 200, 700, 1500, 3000}) {
      // P(y > k) of the two-sided geometric: decay^(k + 1) / (1 + decay).
      const double p = std::pow(decay, k + 1) / (1 + decay);
      const auto above = std::count_if(drawn.begin(), drawn.end(), [&](int64_t y) { return y > k; });
      const auto below = std::count_if(drawn.begin(), drawn.end(), [&](int64_t y) { return y < -k; });
      EXPECT_LT(std::abs(Deviations(static_cast<double>(above), kDraws, p)), 5.5) << parts << ", above " << k;
      EXPECT_LT(std::abs(Deviations(static_cast<double>(below), kDraws, p)), 5.5) << parts << ", below " << -k;
    }
  }
}

TEST(FineLaplace, AddsModulo2To64) {
  EXPECT_EQ(AddNoise(3, 5), 3 * 1024 + 5);
  EXPECT_EQ(AddNoise(0, -5), -5);
  EXPECT_EQ(AddNoise(1, std::numeric_limits<int64_t>::max()), std::numeric_limits<int64_t>::min() + 1023);
}

// The pairs by the sum of both entries, sorted: the formula as it reads. No two sums may be equal at the cut.
std::vector<float> DenseTwin(const std::vector<std::vector<int64_t>>& entries) {
  const uint32_t n = static_cast<uint32_t>(entries.size());
  double total = 0;
  std::vector<std::pair<int64_t, std::pair<NodeIndex, NodeIndex>>> pairs;
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = 0; j < n; ++j) {
      if (i != j) total += static_cast<double>(entries[i][j]) / kUnitsPerLink;
      if (i < j) pairs.push_back({entries[i][j] + entries[j][i], {i, j}});
    }
  }
  std::sort(pairs.rbegin(), pairs.rend());
  std::vector<float> dense(size_t{n} * n, 0);
  const auto count = static_cast<size_t>(std::clamp(std::round(total / 2), 0.0, static_cast<double>(pairs.size())));
  for (size_t k = 0; k < count; ++k) {
    const auto [i, j] = pairs[k].second;
    dense[i * n + j] = dense[j * n + i] = 1;
  }
  if (count > 0 && count < pairs.size()) {
    EXPECT_NE(pairs[count - 1].first, pairs[count].first) << "choose other seeds";
  }
  return dense;
}

TEST(LdpGcn, KeepsTheLargestPairs) {
  constexpr uint32_t kNodes = 90;
  const CsrGraph graph = GraphWithHubs(kNodes);
  for (const uint64_t epsilon : {500'000, 2'000'000, 8'000'000}) {
    const LdpGcnNode node = LdpGcnNode::Create(epsilon, kNodes).value();
    SeededRandom random(epsilon + 1);
    LdpGcnAggregator aggregator(kNodes, 1);
    std::vector<std::vector<int64_t>> entries;
    for (NodeIndex i = 0; i < kNodes; ++i) {
      entries.push_back(node.Report(i, graph.NeighboursOf(i), random).value());
      ASSERT_TRUE(aggregator.Add(i, entries.back()).ok());
    }
    EXPECT_EQ(Dense(std::move(aggregator).Links().value()), DenseTwin(entries)) << epsilon;
  }
}

TEST(LdpGcn, TakesNoOrAllPairsAtTheEnds) {
  for (const int64_t links : {-5, 0, 1, 5}) {
    LdpGcnAggregator aggregator(6, 1);
    for (NodeIndex i = 0; i < 6; ++i) {
      ASSERT_TRUE(aggregator.Add(i, std::vector<int64_t>(6, links * kUnitsPerLink)).ok());
    }
    EXPECT_EQ(std::move(aggregator).Links().value().links.link_count(), links <= 0 ? 0u : 15u) << links;
  }
}

TEST(LdpGcn, DecidesTiesByTheSeed) {
  const auto links_of = [](uint64_t seed) {
    LdpGcnAggregator aggregator(20, seed);
    for (NodeIndex i = 0; i < 20; ++i) EXPECT_TRUE(aggregator.Add(i, std::vector<int64_t>(20, 512)).ok());
    return Dense(std::move(aggregator).Links().value());
  };
  const std::vector<float> dense = links_of(1);
  EXPECT_EQ(std::accumulate(dense.begin(), dense.end(), 0.0), 2 * 95) << "half of 20 * 19 / 2 pairs";
  EXPECT_EQ(dense, links_of(1));
  EXPECT_NE(dense, links_of(2));
}

TEST(LdpGcn, SurvivesEntriesBeyondAllNumbers) {
  LdpGcnAggregator aggregator(3, 1);
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();
  ASSERT_TRUE(aggregator.Add(0, std::vector<int64_t>{0, kMax, kMin}).ok());
  ASSERT_TRUE(aggregator.Add(1, std::vector<int64_t>{kMax, 0, kMin}).ok());
  ASSERT_TRUE(aggregator.Add(2, std::vector<int64_t>{kMax, kMax, 0}).ok());
  EXPECT_EQ(std::move(aggregator).Links().value().links.link_count(), 3u);
}

TEST(LdpGcn, RefusesWhatIsNoReport) {
  EXPECT_FALSE(LdpGcnNode::Create(0, 10).ok());
  const LdpGcnNode node = LdpGcnNode::Create(1'000'000, 10).value();
  SeededRandom random(1);
  for (const std::vector<NodeIndex>& list : {std::vector<NodeIndex>{10}, {3}, {1, 1}}) {
    EXPECT_EQ(node.Report(3, list, random).status().code(), absl::StatusCode::kInvalidArgument);
  }
  FailingRandom failing;
  EXPECT_EQ(node.Report(3, {}, failing).status().code(), absl::StatusCode::kUnavailable);
  LdpGcnAggregator aggregator(10, 1);
  EXPECT_FALSE(aggregator.Add(10, std::vector<int64_t>(10)).ok());
  EXPECT_THAT(std::string(aggregator.Add(0, std::vector<int64_t>(9)).message()), HasSubstr("9 entries"));
  ASSERT_TRUE(aggregator.Add(0, std::vector<int64_t>(10)).ok());
  EXPECT_THAT(std::string(aggregator.Add(0, std::vector<int64_t>(10)).message()), HasSubstr("twice"));
}

}  // namespace
}  // namespace blink
