#include "aggregator_server/profiles/sparse_matrix.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/base/tasks.h"

namespace blink {
namespace {

constexpr int kBlock = 16;  // columns of the result that are summed at once: 64 bytes, a cache line
// Sums columns [first, first + kWidth) of the rows [begin, end). The width is known to the compiler, which keeps the
// sums in registers.
template <int kWidth>
void MultiplyBlock(const SparseMatrix& matrix, const float* dense, int64_t width, int64_t first, float* out,
                   int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    float sums[kWidth] = {};
    for (int64_t k = matrix.offsets[row]; k < matrix.offsets[row + 1]; ++k) {
      const float value = matrix.values[k];
      const float* source = dense + matrix.columns[k] * width + first;
      for (int c = 0; c < kWidth; ++c) sums[c] += value * source[c];
    }
    std::copy(sums, sums + kWidth, out + row * width + first);
  }
}

using BlockFunction = decltype(&MultiplyBlock<kBlock>);

template <int... kWidths>
constexpr std::array<BlockFunction, sizeof...(kWidths)> BlockFunctions(std::integer_sequence<int, kWidths...>) {
  return {&MultiplyBlock<kWidths + 1>...};
}
constexpr auto kBlockOfWidth = BlockFunctions(std::make_integer_sequence<int, kBlock>());

}  // namespace

SparseMatrix Transpose(const SparseMatrix& matrix) {
  SparseMatrix result{.rows = matrix.cols, .cols = matrix.rows};
  result.offsets.assign(result.rows + 1, 0);
  result.columns.resize(matrix.columns.size());
  result.values.resize(matrix.values.size());
  for (const int32_t column : matrix.columns) ++result.offsets[column + 1];
  for (int64_t row = 0; row < result.rows; ++row) result.offsets[row + 1] += result.offsets[row];
  std::vector<int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  for (int64_t row = 0; row < matrix.rows; ++row) {
    for (int64_t k = matrix.offsets[row]; k < matrix.offsets[row + 1]; ++k) {
      const int64_t place = next[matrix.columns[k]]++;
      result.columns[place] = static_cast<int32_t>(row);
      result.values[place] = matrix.values[k];
    }
  }
  return result;
}

SparseMatrix SparseFeatures(FeatureMatrix features) {
  return SparseMatrix{.rows = features.rows,
                      .cols = features.cols,
                      .offsets = std::move(features.row_offsets),
                      .columns = std::move(features.columns),
                      .values = std::move(features.values)};
}

void MultiplySparse(const SparseMatrix& matrix, const float* dense, int64_t width, int threads, float* out) {
  const auto multiply_rows = [&](int64_t begin, int64_t end) {
    for (int64_t first = 0; first < width; first += kBlock) {
      const int64_t block = std::min<int64_t>(kBlock, width - first);
      kBlockOfWidth[block - 1](matrix, dense, width, first, out, begin, end);
    }
  };
  const auto nonzeros = static_cast<int64_t>(matrix.values.size());
  const int tasks = TasksFor(nonzeros * width, threads);
  if (tasks == 1) return multiply_rows(0, matrix.rows);
  // Rows are cut so that every task has about as many entries: the degrees of real graphs are very unequal.
  const auto first_row = [&](int task) -> int64_t {
    if (task == tasks) return matrix.rows;
    const auto place = std::lower_bound(matrix.offsets.begin(), matrix.offsets.end(), nonzeros * task / tasks);
    return std::min<int64_t>(place - matrix.offsets.begin(), matrix.rows);
  };
  RunTasks(tasks, [&](int task) { multiply_rows(task == 0 ? 0 : first_row(task), first_row(task + 1)); });
}

}  // namespace blink
