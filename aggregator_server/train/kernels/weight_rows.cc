#include "aggregator_server/train/kernels/weight_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "common/simd/vector_code.h"

namespace blink {
namespace {

// out += one or two, where the bits say so, for `words` words of 64 positions.
struct AddOnes {
  BLINK_INLINE static void Run(const uint64_t* any, const uint64_t* both, uint32_t words, const float* one,
                               const float* two, float* out) {
    for (uint32_t w = 0; w < words; ++w) {
      if (any[w] == 0) continue;
      for (int bit = 0; bit < 64; bit += kLanes) {
        const int64_t place = int64_t{64} * w + bit;
        const Ints some = MaskOf(static_cast<uint32_t>(any[w] >> bit));
        const Ints twice = MaskOf(static_cast<uint32_t>(both[w] >> bit));
        const Floats added = Where(twice, Load(two + place), Load(one + place));
        Store(out + place, Load(out + place) + Where(some, added, Floats{}));
      }
    }
  }
};

}  // namespace

WeightRows::WeightRows(const LinkWeights& weights) : weights_(weights) {
  const uint32_t n = weights.node_count;
  if (!weights.ones.empty()) {
    node_at_ = weights.ones.node_at;
  } else {
    node_at_.resize(n);
    std::iota(node_at_.begin(), node_at_.end(), NodeIndex{0});
    if (weights.has_background()) {
      std::stable_sort(node_at_.begin(), node_at_.end(),
                       [&](NodeIndex a, NodeIndex b) { return weights.class_of_node[a] < weights.class_of_node[b]; });
    }
    node_at_.resize((size_t{n} + 63) / 64 * 64, PairOnes::kNoNode);
  }
  position_of_.resize(n);
  for (size_t p = 0; p < node_at_.size(); ++p) {
    if (node_at_[p] == PairOnes::kNoNode) continue;
    position_of_[node_at_[p]] = static_cast<int64_t>(p);
    nodes_.push_back(node_at_[p]);
  }
}

void WeightRows::Expand(uint32_t of_class, ClassRow& class_row) const {
  class_row.of_class = of_class;
  class_row.background.assign(node_at_.size(), 0.0f);
  if (!weights_.has_background()) return;
  const bool ones = !weights_.ones.empty();
  if (ones) {
    class_row.one.assign(node_at_.size(), 0.0f);
    class_row.two.assign(node_at_.size(), 0.0f);
  }
  for (size_t p = 0; p < node_at_.size(); ++p) {
    if (node_at_[p] == PairOnes::kNoNode) continue;
    const size_t pair = size_t{of_class} * weights_.class_count + weights_.class_of_node[node_at_[p]];
    class_row.background[p] = weights_.background[pair];
    if (!ones) continue;
    class_row.one[p] = weights_.by_ones[2 * pair];
    class_row.two[p] = weights_.by_ones[2 * pair + 1];
  }
}

void WeightRows::Fill(NodeIndex node, ClassRow& class_row, float* out) const {
  const uint32_t of_class = weights_.has_background() ? weights_.class_of_node[node] : 0;
  if (class_row.of_class != of_class) Expand(of_class, class_row);
  std::memcpy(out, class_row.background.data(), node_at_.size() * sizeof(float));
  if (!weights_.ones.empty()) {
    const size_t row = size_t{node} * weights_.ones.words;
    CodeOf<AddOnes>()(&weights_.ones.any[row], &weights_.ones.both[row], weights_.ones.words, class_row.one.data(),
                      class_row.two.data(), out);
  }
  if (weights_.links.node_count() != 0) {
    const auto neighbours = weights_.links.NeighboursOf(node);
    const float* values = weights_.values.empty() ? nullptr : weights_.values.data() + weights_.links.offsets()[node];
    for (size_t k = 0; k < neighbours.size(); ++k)
      out[position_of_[neighbours[k]]] += values == nullptr ? 1.0f : values[k];
  }
  out[position_of_[node]] = 1.0f;
}

}  // namespace blink
