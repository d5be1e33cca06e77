// A constant sparse matrix as a differentiable factor. Internal to this folder.
#ifndef BLINK_AGGREGATOR_SERVER_TRAIN_SPARSE_OPERATOR_H_
#define BLINK_AGGREGATOR_SERVER_TRAIN_SPARSE_OPERATOR_H_

#include <torch/types.h>

#include <memory>

#include "aggregator_server/profiles/sparse_matrix.h"

namespace blink {

// The matrix M of y = M x. On a CPU this folder's kernels multiply; on a GPU LibTorch's sparse CSR product. Immutable.
class SparseOperator {
 public:
  // `threads`: for the products on a CPU. `for_gradient`: false leaves out what MultiplyTransposed needs.
  static std::shared_ptr<const SparseOperator> Create(SparseMatrix matrix, torch::Device device, int threads,
                                                      bool for_gradient = true);

  torch::Tensor Multiply(const torch::Tensor& dense) const;            // [cols, width] -> [rows, width]
  torch::Tensor MultiplyTransposed(const torch::Tensor& dense) const;  // [rows, width] -> [cols, width]

 private:
  struct Side {           // the matrix, or its transpose
    SparseMatrix matrix;  // CPU
    torch::Tensor csr;    // GPU
  };
  static Side MakeSide(SparseMatrix matrix, torch::Device device);
  torch::Tensor MultiplySide(const Side& side, const torch::Tensor& dense) const;

  Side forward_;
  Side backward_;
  int threads_ = 1;
};

// LibTorch's CSR matrix [rows, cols] of these lists (int64 offsets and columns), which are not checked, without its
// warning that such tensors are in beta.
torch::Tensor CsrTensor(const torch::Tensor& offsets, const torch::Tensor& columns, const torch::Tensor& values,
                        int64_t rows, int64_t cols);

// A CSR matrix [rows, cols] times a dense one [cols, width]. On a GPU by cuSPARSE's default algorithm, whose sums may
// differ from run to run: where LibTorch was told to be deterministic it throws (or warns), which LibTorch's own
// product does not.
torch::Tensor CsrTimesDense(const torch::Tensor& csr, const torch::Tensor& dense);

// y = M x with dy/dx = M^T. M is constant.
torch::Tensor Multiply(const std::shared_ptr<const SparseOperator>& matrix, const torch::Tensor& dense);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRAIN_SPARSE_OPERATOR_H_
