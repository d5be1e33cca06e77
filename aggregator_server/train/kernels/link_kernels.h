// Products and attention over the links of a graph, on the CPU. No LibTorch type, so that their twins are easy to test.
//
// Everywhere each row of a result is summed by one thread in an order of its own: no result depends on `threads` (1 or
// more). On machines of other instruction sets results differ in the last digits (common/simd/instruction_set.h).
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_KERNELS_LINK_KERNELS_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_KERNELS_LINK_KERNELS_H_

#include <cstdint>

#include "aggregator_server/links/link_weights.h"

namespace blink {

class WeightRows;

// Negative slope of GAT's LeakyReLU.
inline constexpr float kLeakySlope = 0.2f;

// out_i = left_i (sum over the links j of i of W_ij x_j + self x_i), [n, width] row-major. left: null for ones.
// `weights` must have no background.
void MultiplyLinks(const LinkWeights& weights, const float* x, int64_t width, const float* left, float self,
                   int threads, float* out);

// One pass of attention over the rows of W with 1 on its diagonal, w. For row i and column j
//
//   z_ij = row_z_i + col_z_j                   a_ij = w_ij exp(LeakyReLU(z_ij) - shift) col_scale_j
//   y_i = sum_j w_ij a_ij x_j                  sum_i = sum_j a_ij col_factor_j
//
// and the same over the pairs with z_ij > 0 alone in y_positive and sum_positive. This serves both directions:
//   forward:  col_shift is null: the shift is the largest exponent of the row (or a bound near it) and is stored in
//             row_shift, scale and factor are 1, y and both positive sums come out divided by the row's sum, and sum_i
//             holds its inverse.
//   backward: row and column change their places; col_shift, col_scale and col_factor are what the forward pass of j
//             left.
struct AttentionPass {
  const float* row_z = nullptr;       // [n]
  const float* col_z = nullptr;       // [n]
  const float* col_shift = nullptr;   // [n], backward only
  const float* col_scale = nullptr;   // [n], backward only
  const float* col_factor = nullptr;  // [n], backward only
  const float* x = nullptr;           // [n, width]
  int64_t width = 0;
  float* row_shift = nullptr;     // [n], forward only
  float* sum = nullptr;           // [n]
  float* sum_positive = nullptr;  // [n], or null together with y_positive where no gradient is wanted
  float* y = nullptr;             // [n, width]
  float* y_positive = nullptr;    // [n, width]

  bool forward() const { return col_shift == nullptr; }
};

// Over links alone: O(links * width). `weights` must have no background.
void AttendLinks(const LinkWeights& weights, const AttentionPass& pass, int threads);

// Over all pairs (weight_rows.h), for weights with a background: O(n^2 width) time, O(n) memory a thread. exp(z)
// factorises, so that a pair costs no exponential, unless the exponents spread so far that the factors would leave the
// range of floats.
void AttendPairs(const WeightRows& pairs, const AttentionPass& pass, int threads);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_KERNELS_LINK_KERNELS_H_
