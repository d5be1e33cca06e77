#include "aggregator_server/train/neighbour_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "tests/unit/train/small_data.h"
#include "tests/unit/train/small_weights.h"

namespace blink {
namespace {

using testing::Kind;
using testing::SmallWeights;

// A node with `leaves` neighbours, which have no others.
LinkWeights Star(uint32_t leaves) {
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (NodeIndex leaf = 1; leaf <= leaves; ++leaf) links.emplace_back(0, leaf);
  return LinkWeights::Unweighted(CsrGraph::FromLinks(leaves + 1, links).value());
}

std::set<NodeIndex> DrawnOf(const SampledGraph& graph, uint32_t row) {
  std::set<NodeIndex> drawn;
  for (uint64_t k = graph.offsets[row]; k < graph.offsets[row + 1]; ++k) drawn.insert(graph.nodes[graph.neighbours[k]]);
  return drawn;
}

float WeightOf(const LinkWeights& weights, NodeIndex i, NodeIndex j) {
  const auto row = weights.links.NeighboursOf(i);
  const auto place = std::lower_bound(row.begin(), row.end(), j) - row.begin();
  return weights.values.empty() ? 1.0f : weights.values[weights.links.offsets()[i] + static_cast<uint64_t>(place)];
}

// What any sample must be, said link by link.
void ExpectIsASample(const SampledGraph& graph, const LinkWeights& weights, const std::vector<NodeIndex>& batch,
                     const std::vector<uint32_t>& fan_out) {
  ASSERT_EQ(graph.hop_ends.size(), fan_out.size() + 1);
  ASSERT_EQ(graph.hop_ends[0], batch.size());
  ASSERT_EQ(graph.hop_ends.back(), graph.nodes.size());
  EXPECT_TRUE(std::equal(batch.begin(), batch.end(), graph.nodes.begin()));
  EXPECT_EQ(std::set<NodeIndex>(graph.nodes.begin(), graph.nodes.end()).size(), graph.nodes.size()) << "no node twice";
  ASSERT_EQ(graph.offsets.size(), graph.hop_ends[fan_out.size() - 1] + 1);
  std::set<NodeIndex> reached(batch.begin(), batch.end());
  for (size_t hop = 0, row = 0; hop < fan_out.size(); ++hop) {
    for (; row < graph.hop_ends[hop]; ++row) {
      const NodeIndex node = graph.nodes[row];
      const uint32_t degree = weights.links.DegreeOf(node), count = std::min(degree, fan_out[hop]);
      const std::set<NodeIndex> drawn = DrawnOf(graph, static_cast<uint32_t>(row));
      ASSERT_EQ(graph.offsets[row + 1] - graph.offsets[row], count);
      EXPECT_EQ(drawn.size(), count) << "without replacement";
      EXPECT_FLOAT_EQ(graph.links_drawn[row], count == 0 ? 1.0f : static_cast<float>(degree) / count);
      for (uint64_t k = graph.offsets[row]; k < graph.offsets[row + 1]; ++k) {
        EXPECT_TRUE(k == graph.offsets[row] || graph.neighbours[k - 1] < graph.neighbours[k]) << "ascending";
        const NodeIndex other = graph.nodes[graph.neighbours[k]];
        EXPECT_TRUE(weights.links.HasLink(node, other));
        EXPECT_EQ(graph.values.empty() ? 1.0f : graph.values[k], WeightOf(weights, node, other));
      }
      reached.insert(drawn.begin(), drawn.end());
    }
    EXPECT_EQ(reached, std::set<NodeIndex>(graph.nodes.begin(), graph.nodes.begin() + graph.hop_ends[hop + 1]))
        << "the nodes of step " << hop + 1 << " are those that the rows before it reach";
  }
}

TEST(NeighbourSampler, DrawsLinksThatAreThereWithoutReplacement) {
  const CsrGraph graph = testing::SmallDataset(300).graph;
  for (const Kind kind : {Kind::kUnweighted, Kind::kLinks, Kind::kDirected}) {
    const LinkWeights weights = SmallWeights(kind, graph);
    NeighbourSampler sampler(weights);
    for (const std::vector<uint32_t>& fan_out :
         {std::vector<uint32_t>{1}, {2, 3}, {3, 1, 2}, {kAllLinks, kAllLinks}, {1000, 1}}) {
      for (const std::vector<NodeIndex>& batch : {std::vector<NodeIndex>{7}, {0, 1, 2, 299}, {5, 100, 101, 200}}) {
        ExpectIsASample(sampler.Sample(batch, fan_out, 3), weights, batch, fan_out);
      }
    }
  }
}

TEST(NeighbourSampler, ASeedDecidesEverythingWhateverWasDrawnBefore) {
  const LinkWeights weights = LinkWeights::Unweighted(testing::SmallDataset(300).graph);
  NeighbourSampler sampler(weights), other(weights);
  const std::vector<NodeIndex> batch = {1, 2, 3, 50, 77};
  const SampledGraph first = sampler.Sample(batch, {2, 2}, 9);
  sampler.Sample({8, 9}, {3, 3}, 4);
  const SampledGraph again = sampler.Sample(batch, {2, 2}, 9), same = other.Sample(batch, {2, 2}, 9);
  EXPECT_EQ(first.nodes, again.nodes);
  EXPECT_EQ(first.neighbours, again.neighbours);
  EXPECT_EQ(first.neighbours, same.neighbours);
  EXPECT_NE(first.nodes, sampler.Sample(batch, {2, 2}, 10).nodes);
}

// 40,000 draws of 5 of 20 links, with fixed seeds. A right sampler would fail for fewer than one in 10^6 choices of
// seeds: 71 is exceeded by chi-square of 19 degrees with probability 1e-7, and 6.3 standard deviations by one of the
// 190 pairs with 6e-8.
TEST(NeighbourSampler, DrawsEveryLinkAndEveryPairOfLinksEquallyOften) {
  constexpr int kLinks = 20, kDrawn = 5, kTimes = 40'000;
  const LinkWeights star = Star(kLinks);
  NeighbourSampler sampler(star);
  std::vector<double> counts(kLinks, 0);
  std::map<std::pair<NodeIndex, NodeIndex>, double> pairs;
  for (int time = 0; time < kTimes; ++time) {
    const std::set<NodeIndex> drawn = DrawnOf(sampler.Sample({0}, {kDrawn}, SampleSeed(1, time, 0)), 0);
    for (const NodeIndex a : drawn) {
      ++counts[a - 1];
      for (const NodeIndex b : drawn) {
        if (a < b) ++pairs[{a, b}];
      }
    }
  }
  const double share = static_cast<double>(kDrawn) / kLinks, expected = share * kTimes;
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - expected) * (count - expected) / expected;
  chi_square *= (kLinks - 1.0) / (kLinks * (1 - share));  // the counts of a draw are not independent: they sum to 5
  EXPECT_LT(chi_square, 71);
  const double of_pair = share * (kDrawn - 1) / (kLinks - 1);
  ASSERT_EQ(pairs.size(), 190u);
  for (const auto& [pair, count] : pairs) {
    EXPECT_LT(std::abs(count - of_pair * kTimes), 6.3 * std::sqrt(kTimes * of_pair * (1 - of_pair)))
        << pair.first << ", " << pair.second;
  }
}

// The mean of 20,000 draws is within 6 standard errors of the sum: of 150 rows one would miss it by chance with
// probability 3e-7.
TEST(NeighbourSampler, OnAverageTheScaledWeightsOfARowSumToThoseOfTheWholeGraph) {
  const LinkWeights weights = SmallWeights(Kind::kLinks, testing::SmallDataset().graph);
  NeighbourSampler sampler(weights);
  std::vector<NodeIndex> all(weights.node_count);
  std::iota(all.begin(), all.end(), NodeIndex{0});
  constexpr int kTimes = 20'000;
  std::vector<double> sums(all.size(), 0), squares(all.size(), 0);
  for (int time = 0; time < kTimes; ++time) {
    const LinkWeights part = sampler.Sample(all, {2}, SampleSeed(2, time, 0)).RowsOf(0, /*scaled=*/true);
    const std::vector<float> of_rows = RowSums(part, 1);
    for (size_t i = 0; i < all.size(); ++i) {
      sums[i] += of_rows[i];
      squares[i] += double{of_rows[i]} * of_rows[i];
    }
  }
  const std::vector<float> whole = RowSums(weights, 1);
  for (size_t i = 0; i < all.size(); ++i) {
    const double mean = sums[i] / kTimes, variance = std::max(0.0, squares[i] / kTimes - mean * mean);
    EXPECT_NEAR(mean, whole[i], 6 * std::sqrt(variance / kTimes) + 1e-5 * (1 + whole[i])) << i;
  }
}

TEST(NeighbourSampler, RowsOfAStepPointToTheNodesOfTheNextAndTheOthersAreEmpty) {
  const LinkWeights weights = SmallWeights(Kind::kLinks, testing::SmallDataset(300).graph);
  NeighbourSampler sampler(weights);
  const SampledGraph graph = sampler.Sample({3, 4, 5}, {2, 3}, 1);
  for (size_t hop = 0; hop < 2; ++hop) {
    const LinkWeights part = graph.RowsOf(hop, /*scaled=*/true), plain = graph.RowsOf(hop, /*scaled=*/false);
    EXPECT_EQ(part.node_count, graph.hop_ends[hop + 1]);
    EXPECT_EQ(part.links.node_count(), part.node_count);
    for (uint32_t i = 0; i < part.node_count; ++i) {
      EXPECT_EQ(part.links.DegreeOf(i), i < graph.hop_ends[hop] ? graph.offsets[i + 1] - graph.offsets[i] : 0);
    }
    for (uint32_t i = 0; i < graph.hop_ends[hop]; ++i) {
      for (uint64_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
        EXPECT_EQ(plain.values[k], graph.values[k]);
        EXPECT_FLOAT_EQ(part.values[k], graph.values[k] * graph.links_drawn[i]);
      }
    }
  }
  EXPECT_TRUE(sampler.Sample({3}, {kAllLinks}, 1).RowsOf(0, true).weighted);
  const LinkWeights star = Star(4);
  EXPECT_TRUE(NeighbourSampler(star).Sample({0}, {4}, 1).RowsOf(0, true).values.empty()) << "all links weigh 1";
}

TEST(NeighbourSampler, WithoutAGraphABatchIsAlone) {
  const LinkWeights none;
  NeighbourSampler sampler(none);
  const SampledGraph graph = sampler.Sample({4, 9}, {10, 10}, 1);
  EXPECT_EQ(graph.nodes, (std::vector<NodeIndex>{4, 9}));
  EXPECT_EQ(graph.hop_ends, (std::vector<uint32_t>{2, 2, 2}));
  EXPECT_TRUE(graph.neighbours.empty());
  EXPECT_EQ(graph.RowsOf(1, true).links.neighbours().size(), 0u);
}

TEST(DealBatches, EveryNodeIsInOneBatchOfAnEpochAndEpochsDiffer) {
  std::vector<int64_t> nodes(103);
  std::iota(nodes.begin(), nodes.end(), int64_t{5});
  const auto batches = DealBatches(nodes, 25, 1, 1);
  ASSERT_EQ(batches.size(), 5u);
  std::set<NodeIndex> seen;
  for (const auto& batch : batches) {
    EXPECT_EQ(batch.size(), &batch == &batches.back() ? 3u : 25u);
    EXPECT_TRUE(std::is_sorted(batch.begin(), batch.end()));
    seen.insert(batch.begin(), batch.end());
  }
  EXPECT_EQ(seen.size(), 103u);
  EXPECT_EQ(batches, DealBatches(nodes, 25, 1, 1));
  EXPECT_NE(batches, DealBatches(nodes, 25, 1, 2));
  EXPECT_NE(batches, DealBatches(nodes, 25, 2, 1));
  EXPECT_EQ(DealBatches(nodes, 1000, 1, 1).size(), 1u);
}

// 20,000 epochs: the share of a node in the first of four equal batches is 1/4; 6 standard deviations are exceeded by
// one of 40 nodes with probability 8e-8.
TEST(DealBatches, EveryNodeIsInTheFirstBatchEquallyOften) {
  std::vector<int64_t> nodes(40);
  std::iota(nodes.begin(), nodes.end(), int64_t{0});
  constexpr int kTimes = 20'000;
  std::vector<int> counts(40, 0);
  for (int epoch = 0; epoch < kTimes; ++epoch) {
    const auto batches = DealBatches(nodes, 10, 7, epoch);
    for (const NodeIndex node : batches[0]) ++counts[node];
  }
  for (const int count : counts) EXPECT_NEAR(count, kTimes / 4.0, 6 * std::sqrt(kTimes * 0.25 * 0.75));
}

}  // namespace
}  // namespace blink
