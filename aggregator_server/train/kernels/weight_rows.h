// Whole rows of W, decoded in an order of the columns that makes it cheap. Internal to this folder; no LibTorch type.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_KERNELS_WEIGHT_ROWS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_KERNELS_WEIGHT_ROWS_H_

#include <cstdint>
#include <vector>

#include "aggregator_server/links/link_weights.h"

namespace blink {

// The columns stand in the order of PairOnes: nodes of a class side by side, with gaps, whose weight is 0. Rows that
// are taken in NodeInOrder's order share what was expanded for their class.
//
//   WeightRows rows(weights);             // `weights`, which must outlive it, may have a background or not
//   WeightRows::ClassRow class_row;       // one a thread
//   std::vector<float> row(rows.positions());
//   rows.Fill(i, class_row, row.data());  // row[rows.PositionOf(j)] = W_ij, 1 for j = i
class WeightRows {
 public:
  // A row's class, expanded over the positions: the background, and what one and two ones add. [positions] each.
  struct ClassRow {
    int64_t of_class = -1;
    std::vector<float> background, one, two;
  };

  explicit WeightRows(const LinkWeights& weights);

  uint32_t node_count() const { return weights_.node_count; }
  int64_t positions() const { return static_cast<int64_t>(node_at_.size()); }  // a multiple of 64
  int64_t PositionOf(NodeIndex node) const { return position_of_[node]; }
  NodeIndex NodeInOrder(uint32_t k) const { return nodes_[k]; }  // k in 0 .. n - 1

  // Row `node` of W with 1 in its own column, into out[positions()].
  void Fill(NodeIndex node, ClassRow& class_row, float* out) const;

 private:
  void Expand(uint32_t of_class, ClassRow& class_row) const;

  const LinkWeights& weights_;
  std::vector<NodeIndex> node_at_;    // [positions], PairOnes::kNoNode in the gaps
  std::vector<int64_t> position_of_;  // [n]
  std::vector<NodeIndex> nodes_;      // [n], by position
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_KERNELS_WEIGHT_ROWS_H_
