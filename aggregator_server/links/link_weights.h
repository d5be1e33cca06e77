// What the models are trained on: symmetric weights W [n, n] with a zero diagonal, without ever being n^2 numbers.
//
//   W_ij = background[class_i, class_j]  (Soft; 0 without a background)
//        + what the pair has of its own: values of `links`, or by_ones[class_i, class_j, number of ones of the pair]
//
//   Hard, a true graph: links alone, weight 1, unweighted layers        Hybrid: links with values
//   Soft: background, and its own weight for every pair whose reports hold a one: a list where those are few, packed
//   bits where they are many
//
// A model uses the operations below. It does not know which variant or which prior made the weights. No LibTorch type.
#ifndef BLINK_AGGREGATOR_SERVER_LINKS_LINK_WEIGHTS_H_
#define BLINK_AGGREGATOR_SERVER_LINKS_LINK_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/graph/csr_graph.h"
#include "common/wire/training_choices.h"

namespace blink {

// The ones that were received about each pair, as packed bits. A row belongs to a node, and a column is a position. The
// nodes of a class have positions side by side, so that a run of columns has one weight. Bit p of row i of `any` says
// that the pair (i, node_at[p]) has a one; the same bit of `both` says that it has two. A class begins at a multiple of
// 4 positions.
struct PairOnes {
  static constexpr NodeIndex kNoNode = ~NodeIndex{0};

  uint32_t words = 0;               // of a row; 64 positions each
  std::vector<NodeIndex> node_at;   // [64 * words]; kNoNode in the gaps, whose bits are zero
  std::vector<uint64_t> any, both;  // [n * words]; symmetric as pairs of nodes, zero diagonal

  static uint32_t WordsFor(absl::Span<const uint32_t> class_of_node, uint32_t class_count);
  // The order for these classes, with rows of zeros.
  static PairOnes Ordered(absl::Span<const uint32_t> class_of_node, uint32_t class_count);

  bool empty() const { return words == 0; }
};

struct LinkWeights {
  uint32_t node_count = 0;
  bool weighted = false;  // false: every link weighs 1, and the models take their unweighted forms

  CsrGraph links;             // pairs with a weight of their own, both directions
  std::vector<float> values;  // [2 * links] beyond the background, in the order of links.neighbours(); empty: 1 each

  uint32_t class_count = 0;             // 0: no background
  std::vector<uint32_t> class_of_node;  // [n]
  std::vector<float> background;        // [classes, classes], symmetric

  PairOnes ones;               // in place of `links` where they are many; needs a background
  std::vector<float> by_ones;  // [classes, classes, 2] beyond the background, of a pair with 1 and with 2 ones

  bool has_background() const { return class_count != 0; }

  // A graph that is taken as it is: Hard, the truth, or directed links, whose W alone is not symmetric.
  static LinkWeights Unweighted(CsrGraph graph);
};

// y = W x, [n, width] row-major, with at most `threads` (>= 1) threads. The order in which a row of y is summed does
// not depend on the threads, so y is the same bit for bit on machines of one instruction set (common/simd). One pass
// over the weights serves up to 32 columns of x; a pass works on 4, 8, 16 or 32 columns. Cost of a row: its entries for
// a list; one look-up for each 4 columns of `any`, and of `both` where it has bits, for packed ones. The background
// costs classes^2 * width in all.
void Multiply(const LinkWeights& weights, const float* x, int64_t width, int threads, float* y);

// [n] sums of the rows of W: the weighted degrees.
std::vector<float> RowSums(const LinkWeights& weights, int threads);

// Row i of W into out[n].
void FillRow(const LinkWeights& weights, NodeIndex i, float* out);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_LINKS_LINK_WEIGHTS_H_
