// The links as the layers see them: products and attention, whatever variant or device is behind. Internal to this
// folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_GRAPH_OPERATOR_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_GRAPH_OPERATOR_H_

#include <torch/types.h>

#include <memory>

#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/train/trainer.h"

namespace blink {

// L (W + self I) R: W between two diagonal matrices.
struct Propagation {
  torch::Tensor left, right;  // the diagonals, [n]; undefined: ones
  float self = 0;
  Propagation Transposed() const { return {right, left, self}; }
};

// What one pass of attention leaves for its gradient. With z_ij = target_i + source_j, w_ij = W_ij off the diagonal and
// 1 on it, and a_ij = w_ij exp(LeakyReLU_0.2(z_ij) - shift_i) * inverse_sum_i:
struct Attention {
  torch::Tensor out;                 // [n, width] sum over j of w_ij a_ij h_j
  torch::Tensor out_positive;        // [n, width] the part of it with z_ij > 0; only for a gradient
  torch::Tensor attention_positive;  // [n] sum of a_ij over z_ij > 0; only for a gradient
  torch::Tensor shift, inverse_sum;  // [n]
};

// W without saying what it is. Immutable; all matrices float32, contiguous, on the operator's device.
class GraphOperator {
 public:
  virtual ~GraphOperator() = default;

  // Not differentiable in themselves: see the functions below.
  virtual torch::Tensor Multiply(const Propagation& propagation,
                                 const torch::Tensor& x) const = 0;  // [n, width] -> [n, width]
  virtual torch::Tensor RowSums() const = 0;                         // [n]
  // h [n, width], source and target [n].
  virtual Attention Attend(const torch::Tensor& h, const torch::Tensor& source, const torch::Tensor& target,
                           bool for_gradient) const = 0;
  struct AttentionGradient {
    torch::Tensor h;                // [n, width] sum over i of w_ij a_ij g_i
    torch::Tensor h_positive;       // [n, width] the part of it with z_ij > 0
    torch::Tensor center;           // [n] sum over i of a_ij center_i
    torch::Tensor center_positive;  // [n] the part of it with z_ij > 0
  };
  // The sums over column j that a gradient needs; `gradient` g is that of `out`, `center` [n] is g_i . out_i.
  virtual AttentionGradient AttendBackward(const torch::Tensor& source, const torch::Tensor& target,
                                           const Attention& forward, const torch::Tensor& gradient,
                                           const torch::Tensor& center) const = 0;
};

// kAuto: this folder's kernels on a CPU, LibTorch's operations on a GPU. kTensorOperations: the latter also on a CPU,
// so that what runs on a GPU is tested without one.
enum class OperatorPath { kAuto, kTensorOperations };

// `weights` must outlive the operator.
std::shared_ptr<const GraphOperator> MakeGraphOperator(const LinkWeights& weights, torch::Device device, int threads,
                                                       OperatorPath path = OperatorPath::kAuto);

// Of links that point one way, weighted or not, such as a sample of others (neighbour_sampler.h). `for_gradient`: false
// makes an operator that nothing is to be differentiated through. `weights` must outlive the operator.
std::shared_ptr<const GraphOperator> MakeDirectedOperator(const LinkWeights& weights, torch::Device device, int threads,
                                                          bool for_gradient, OperatorPath path = OperatorPath::kAuto);

// The propagation of GCN or GraphSAGE (network.h), by the sums of the rows of W.
Propagation MakePropagation(const torch::Tensor& row_sums, Model model);

// Differentiable in x: y = L (W + self I) R x, by W^T.
torch::Tensor Propagate(const std::shared_ptr<const GraphOperator>& links, const Propagation& propagation,
                        const torch::Tensor& x);

// Differentiable in h, source and target: Attention::out.
//
// Gradient. With c_i = g_i . out_i, G_ij = g_i . h_j and m_ij = w_ij a_ij:
//   dL/de_ij = a_ij (w_ij G_ij - c_i)
//   dL/dz_ij = slope_ij dL/de_ij, slope 1 where z_ij > 0 and 0.2 elsewhere
// Since the dL/de_ij of a row sum to 0,
//   dL/dtarget_i = 0.8 (g_i . out_positive_i - c_i attention_positive_i)
//   dL/dsource_j = h_j . (0.2 sum_i m_ij g_i + 0.8 sum_i,z>0 m_ij g_i) - (0.2 sum_i a_ij c_i + 0.8 sum_i,z>0 a_ij c_i)
//   dL/dh_j      = sum_i m_ij g_i
// so that no pass needs a product of two rows per link, and none writes anything of the links' size.
torch::Tensor Attend(const std::shared_ptr<const GraphOperator>& links, const torch::Tensor& h,
                     const torch::Tensor& source, const torch::Tensor& target);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_GRAPH_OPERATOR_H_
