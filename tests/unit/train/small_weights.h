// Weights of every kind over a small graph, for the tests of the models.
#ifndef BLINK_TESTS_UNIT_TRAIN_SMALL_WEIGHTS_H_
#define BLINK_TESTS_UNIT_TRAIN_SMALL_WEIGHTS_H_

#include <random>
#include <utility>
#include <vector>

#include "aggregator_server/links/link_weights.h"

namespace blink::testing {

enum class Kind {
  kUnweighted,          // Hard
  kLinks,               // Hybrid
  kBackgroundAndLinks,  // Soft with few ones
  kBackgroundAndOnes,   // Soft with many
  kDirected             // links as one end alone reports them
};

inline const char* KindName(Kind kind) {
  constexpr const char* kNames[] = {"unweighted", "weighted links", "background and links", "background and ones",
                                    "directed"};
  return kNames[static_cast<int>(kind)];
}

// One value per link, the same in both directions, in [low, high).
inline std::vector<float> SymmetricValues(const CsrGraph& graph, float low, float high) {
  std::vector<float> values;
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    for (const NodeIndex j : graph.NeighboursOf(i)) {
      std::mt19937_64 random(uint64_t{std::min(i, j)} * 1'000'003 + std::max(i, j));
      values.push_back(std::uniform_real_distribution<float>(low, high)(random));
    }
  }
  return values;
}

// Five classes; the last is that of the last node alone.
inline void AddBackground(LinkWeights& weights) {
  const uint32_t n = weights.node_count;
  weights.class_count = 5;
  for (uint32_t i = 0; i < n; ++i) weights.class_of_node.push_back(i + 1 == n ? 4 : i * 7 % 4);
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 5; ++b)
      weights.background.push_back(0.01f + 0.004f * static_cast<float>((a + b) * (a + b) % 7));
  }
}

// About two thirds of the entries of the rows: most links keep one direction, some both, some none.
inline LinkWeights DirectedWeights(const CsrGraph& graph) {
  std::mt19937_64 random(4);
  std::vector<uint64_t> offsets = {0};
  std::vector<NodeIndex> neighbours;
  for (NodeIndex i = 0; i < graph.node_count(); ++i) {
    for (const NodeIndex j : graph.NeighboursOf(i)) {
      if (random() % 3 != 0) neighbours.push_back(j);
    }
    offsets.push_back(neighbours.size());
  }
  return LinkWeights::Unweighted(CsrGraph::FromRows(std::move(offsets), std::move(neighbours)).value());
}

inline LinkWeights SmallWeights(Kind kind, const CsrGraph& graph) {
  LinkWeights weights;
  weights.node_count = graph.node_count();
  if (kind == Kind::kUnweighted) return LinkWeights::Unweighted(graph);
  if (kind == Kind::kDirected) return DirectedWeights(graph);
  weights.weighted = true;
  if (kind == Kind::kLinks || kind == Kind::kBackgroundAndLinks) {
    weights.links = graph;
    weights.values = SymmetricValues(graph, 0.1f, 0.9f);
  }
  if (kind == Kind::kLinks) return weights;
  AddBackground(weights);
  if (kind == Kind::kBackgroundAndLinks) return weights;
  weights.ones = PairOnes::Ordered(weights.class_of_node, weights.class_count);
  for (int a = 0; a < 5; ++a) {
    for (int b = 0; b < 5; ++b) {
      weights.by_ones.push_back(0.1f + 0.02f * static_cast<float>(a + b));
      weights.by_ones.push_back(0.6f + 0.01f * static_cast<float>(a * b));
    }
  }
  for (uint32_t p = 0; p < weights.ones.node_at.size(); ++p) {
    const NodeIndex j = weights.ones.node_at[p];
    if (j == PairOnes::kNoNode) continue;
    for (const NodeIndex i : graph.NeighboursOf(j)) {
      const uint64_t bit = uint64_t{1} << (p % 64);
      weights.ones.any[i * weights.ones.words + p / 64] |= bit;
      if ((i + j) % 3 == 0) weights.ones.both[i * weights.ones.words + p / 64] |= bit;
    }
  }
  return weights;
}

}  // namespace blink::testing

#endif  // BLINK_TESTS_UNIT_TRAIN_SMALL_WEIGHTS_H_
