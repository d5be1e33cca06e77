#include "aggregator_server/profiles/sparse_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace blink {
namespace {

SparseMatrix RandomMatrix(int64_t rows, int64_t cols, double density, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  SparseMatrix matrix{.rows = rows, .cols = cols};
  matrix.offsets.push_back(0);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j) {
      if (uniform(random) >= density) continue;
      matrix.columns.push_back(static_cast<int32_t>(j));
      matrix.values.push_back(static_cast<float>(uniform(random) - 0.5));
    }
    matrix.offsets.push_back(static_cast<int64_t>(matrix.columns.size()));
  }
  return matrix;
}

std::vector<double> Dense(const SparseMatrix& matrix) {
  std::vector<double> dense(matrix.rows * matrix.cols, 0.0);
  for (int64_t i = 0; i < matrix.rows; ++i) {
    for (int64_t k = matrix.offsets[i]; k < matrix.offsets[i + 1]; ++k) {
      dense[i * matrix.cols + matrix.columns[k]] = matrix.values[k];
    }
  }
  return dense;
}

class MultiplySparseWidth : public ::testing::TestWithParam<int64_t> {};

TEST_P(MultiplySparseWidth, EqualsTheDenseProduct) {
  const int64_t width = GetParam();
  for (const double density : {0.0, 0.05, 0.6}) {
    const SparseMatrix matrix = RandomMatrix(301, 97, density, 11);
    const SparseMatrix factor = RandomMatrix(97, width, 1.1, 12);
    const std::vector<double> dense = Dense(matrix);
    std::vector<float> out(301 * width, NAN);  // every entry must be written
    MultiplySparse(matrix, factor.values.data(), width, 2, out.data());
    for (int64_t i = 0; i < 301; ++i) {
      for (int64_t c = 0; c < width; ++c) {
        double sum = 0;
        for (int64_t j = 0; j < 97; ++j) sum += dense[i * 97 + j] * factor.values[j * width + c];
        ASSERT_NEAR(out[i * width + c], sum, 1e-5) << "row " << i << ", column " << c << ", density " << density;
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Widths, MultiplySparseWidth, ::testing::Values(1, 3, 7, 15, 16, 17, 32, 50));

TEST(SparseMatrix, TheProductDoesNotDependOnTheNumberOfThreads) {
  const SparseMatrix matrix =
      RandomMatrix(3000, 400, 0.15, 21);  // 180,000 entries: enough for five threads at width 16
  const SparseMatrix factor = RandomMatrix(400, 16, 1.1, 22);
  std::vector<float> one(3000 * 16, NAN);
  MultiplySparse(matrix, factor.values.data(), 16, 1, one.data());
  for (const int threads : {2, 3, 5}) {
    std::vector<float> many(3000 * 16, NAN);
    MultiplySparse(matrix, factor.values.data(), 16, threads, many.data());
    EXPECT_EQ(one, many) << threads;
  }
}

TEST(SparseMatrix, TransposeSwapsRowsAndColumns) {
  const SparseMatrix matrix = RandomMatrix(40, 23, 0.2, 3);
  const SparseMatrix transpose = Transpose(matrix);
  ASSERT_EQ(transpose.rows, 23);
  ASSERT_EQ(transpose.cols, 40);
  const std::vector<double> a = Dense(matrix), b = Dense(transpose);
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 23; ++j) ASSERT_EQ(a[i * 23 + j], b[j * 40 + i]);
  }
  const SparseMatrix back = Transpose(transpose);
  EXPECT_EQ(back.columns, matrix.columns);
  EXPECT_EQ(back.values, matrix.values);
}

}  // namespace
}  // namespace blink
