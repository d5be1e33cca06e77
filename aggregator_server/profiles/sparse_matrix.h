// A sparse float matrix in compressed rows, and the product with a dense one. No LibTorch type, so that its twin is
// easy to test.
#ifndef BLINK_AGGREGATOR_SERVER_PROFILES_SPARSE_MATRIX_H_
#define BLINK_AGGREGATOR_SERVER_PROFILES_SPARSE_MATRIX_H_

#include <cstdint>
#include <vector>

#include "common/graph/node_attributes.h"

namespace blink {

struct SparseMatrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<int64_t> offsets;  // [rows + 1]
  std::vector<int32_t> columns;  // [nnz], ascending in a row
  std::vector<float> values;     // [nnz]
};

SparseMatrix Transpose(const SparseMatrix& matrix);

// `features` must be sparse.
SparseMatrix SparseFeatures(FeatureMatrix features);

// out[rows, width] = matrix[rows, cols] * dense[cols, width], row-major, with at most `threads` threads (1 or more).
// Each row of the result is summed by one thread in the order of its columns: the result does not depend on the number
// of threads.
void MultiplySparse(const SparseMatrix& matrix, const float* dense, int64_t width, int threads, float* out);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PROFILES_SPARSE_MATRIX_H_
