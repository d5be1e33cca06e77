#include "aggregator_server/links/link_weights.h"

#include <algorithm>
#include <bit>

namespace blink {
namespace {

// Calls visit(j, weight) for each pair (i, j) that has a weight beyond the background.
template <typename Visit>
void ForEachOwn(const LinkWeights& weights, NodeIndex i, const Visit& visit) {
  const uint64_t first = weights.links.node_count() == 0 ? 0 : weights.links.offsets()[i];
  const absl::Span<const NodeIndex> neighbours =
      weights.links.node_count() == 0 ? absl::Span<const NodeIndex>() : weights.links.NeighboursOf(i);
  for (size_t k = 0; k < neighbours.size(); ++k) {
    visit(neighbours[k], weights.values.empty() ? 1.0f : weights.values[first + k]);
  }
  if (weights.ones.empty()) return;
  const size_t row = static_cast<size_t>(i) * weights.ones.words;
  const float* of_class = &weights.by_ones[size_t{2} * weights.class_of_node[i] * weights.class_count];
  for (uint32_t w = 0; w < weights.ones.words; ++w) {
    const uint64_t both = weights.ones.both[row + w];
    for (uint64_t bits = weights.ones.any[row + w]; bits != 0; bits &= bits - 1) {
      const int bit = std::countr_zero(bits);
      const NodeIndex j = weights.ones.node_at[w * 64 + bit];
      visit(j, of_class[2 * weights.class_of_node[j] + ((both >> bit) & 1)]);
    }
  }
}

// [classes + 1] where each class begins in PairOnes' order, and where the last one ends.
std::vector<uint32_t> FirstPositions(absl::Span<const uint32_t> class_of_node, uint32_t class_count) {
  constexpr uint32_t kRun = 4;
  std::vector<uint32_t> first(class_count + 1, 0);
  for (const uint32_t of : class_of_node) ++first[of + 1];
  for (uint32_t c = 0; c < class_count; ++c) first[c + 1] = first[c] + (first[c + 1] + kRun - 1) / kRun * kRun;
  return first;
}

}  // namespace

uint32_t PairOnes::WordsFor(absl::Span<const uint32_t> class_of_node, uint32_t class_count) {
  return (FirstPositions(class_of_node, class_count).back() + 63) / 64;
}

PairOnes PairOnes::Ordered(absl::Span<const uint32_t> class_of_node, uint32_t class_count) {
  std::vector<uint32_t> next = FirstPositions(class_of_node, class_count);
  PairOnes ones;
  ones.words = (next.back() + 63) / 64;
  ones.node_at.assign(size_t{64} * ones.words, kNoNode);
  for (NodeIndex i = 0; i < class_of_node.size(); ++i) ones.node_at[next[class_of_node[i]]++] = i;
  ones.any.assign(class_of_node.size() * ones.words, 0);
  ones.both.assign(class_of_node.size() * ones.words, 0);
  return ones;
}

LinkWeights LinkWeights::Unweighted(CsrGraph graph) {
  LinkWeights weights;
  weights.node_count = graph.node_count();
  weights.links = std::move(graph);
  return weights;
}

void FillRow(const LinkWeights& weights, NodeIndex i, float* out) {
  if (weights.has_background()) {
    const float* of_class = &weights.background[static_cast<size_t>(weights.class_of_node[i]) * weights.class_count];
    for (NodeIndex j = 0; j < weights.node_count; ++j) out[j] = of_class[weights.class_of_node[j]];
    out[i] = 0;
  } else {
    std::fill(out, out + weights.node_count, 0.0f);
  }
  ForEachOwn(weights, i, [&](NodeIndex j, float weight) { out[j] += weight; });
}

}  // namespace blink
