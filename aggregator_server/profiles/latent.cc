#include "aggregator_server/profiles/latent.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "Eigen/Dense"
#include "aggregator_server/profiles/sparse_matrix.h"
#include "common/base/tasks.h"

namespace blink {
namespace {

using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Rows>;
using Eigen::Index;

constexpr Index kOversampling = 32;  // directions more than are wanted: the wanted ones converge sooner
constexpr Index kExactMax = 160;     // columns of which all directions are kept
constexpr int kIterations = 16;
constexpr Index kPieces = 16;  // that sums over all rows are cut into, whatever the threads
constexpr float kShareMin = 1e-4f;

// body(begin, end, piece) for kPieces ranges of `rows`.
template <typename Body>
void ForPieces(Index rows, int threads, const Body& body) {
  std::atomic<Index> next{0};
  RunOnThreads(std::clamp(threads, 1, static_cast<int>(kPieces)), [&](int) {
    for (Index piece; (piece = next.fetch_add(1)) < kPieces;)
      body(rows * piece / kPieces, rows * (piece + 1) / kPieces, piece);
  });
}

// The matrix as an operator.
class Operator {
 public:
  Operator(const FeatureMatrix& matrix, int threads) : matrix_(matrix), threads_(threads) {
    if (!matrix.sparse) return;
    sparse_ = SparseFeatures(matrix);
    transposed_ = Transpose(*sparse_);
  }
  Index rows() const { return matrix_.rows; }
  Index cols() const { return matrix_.cols; }

  Rows Times(const Rows& right) const {  // [rows, width]
    Rows product(rows(), right.cols());
    if (sparse_.has_value()) {
      MultiplySparse(*sparse_, right.data(), right.cols(), threads_, product.data());
      return product;
    }
    const ConstMap dense(matrix_.values.data(), rows(), cols());
    ForPieces(rows(), threads_, [&](Index begin, Index end, Index) {
      product.middleRows(begin, end - begin).noalias() = dense.middleRows(begin, end - begin) * right;
    });
    return product;
  }
  Rows TransposedTimes(const Rows& right) const {  // [cols, width]
    Rows product(cols(), right.cols());
    if (sparse_.has_value()) {
      MultiplySparse(*transposed_, right.data(), right.cols(), threads_, product.data());
      return product;
    }
    const ConstMap dense(matrix_.values.data(), rows(), cols());
    std::vector<Rows> parts(kPieces);
    ForPieces(rows(), threads_, [&](Index begin, Index end, Index piece) {
      parts[piece].noalias() = dense.middleRows(begin, end - begin).transpose() * right.middleRows(begin, end - begin);
    });
    product.setZero();
    for (const Rows& part : parts) product += part;
    return product;
  }

 private:
  const FeatureMatrix& matrix_;
  const int threads_;
  std::optional<SparseMatrix> sparse_, transposed_;
};

// Numbers in [-1, 1) that are the same everywhere (SplitMix64 of the place): a start that no matrix expects.
Rows Start(Index rows, Index cols) {
  Rows start(rows, cols);
  for (Index k = 0; k < start.size(); ++k) {
    uint64_t z = static_cast<uint64_t>(k + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    start.data()[k] = static_cast<float>(static_cast<int64_t>(z ^ (z >> 31))) * 0x1p-63f;
  }
  return start;
}

Rows Orthonormal(const Rows& matrix) {
  const Eigen::HouseholderQR<Eigen::MatrixXf> qr(matrix);
  return qr.householderQ() * Eigen::MatrixXf::Identity(matrix.rows(), matrix.cols());
}

// The eigenvectors of y^T y with the largest eigenvalues, [width of y, width].
Eigen::MatrixXf Strongest(const Rows& y, Index width, int threads) {
  std::vector<Eigen::MatrixXd> parts(kPieces);
  ForPieces(y.rows(), threads, [&](Index begin, Index end, Index piece) {
    parts[piece] = Eigen::MatrixXd::Zero(y.cols(), y.cols());
    constexpr Index kRows = 256;  // whose squares are summed as floats
    for (Index row = begin; row < end; row += kRows) {
      const auto some = y.middleRows(row, std::min(kRows, end - row));
      const Eigen::MatrixXf squares = some.transpose() * some;
      parts[piece] += squares.cast<double>();
    }
  });
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(y.cols(), y.cols());
  for (const Eigen::MatrixXd& part : parts) gram += part;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram);  // ascending eigenvalues
  return solver.eigenvectors().rightCols(width).rowwise().reverse().cast<float>();
}

}  // namespace

std::vector<float> LatentRows(const FeatureMatrix& matrix, uint32_t width, int threads) {
  std::vector<float> latent(size_t{matrix.rows} * width);
  if (latent.empty()) return latent;
  const Operator op(matrix, threads);
  Rows directions;  // [cols, some]
  if (op.cols() <= kExactMax) {
    directions = Rows::Identity(op.cols(), op.cols());
  } else {
    directions = Orthonormal(Start(op.cols(), width + kOversampling));
    for (int k = 0; k < kIterations; ++k) directions = Orthonormal(op.TransposedTimes(op.Times(directions)));
  }
  const Rows projected = op.Times(directions);
  const Eigen::MatrixXf strongest = Strongest(projected, width, threads);
  Eigen::Map<Rows> rows(latent.data(), matrix.rows, width);
  ForPieces(matrix.rows, threads, [&](Index begin, Index end, Index) {
    rows.middleRows(begin, end - begin).noalias() = projected.middleRows(begin, end - begin) * strongest;
    for (Index i = begin; i < end; ++i) {
      const float norm = rows.row(i).norm();
      rows.row(i) *= norm >= kShareMin ? 1 / norm : 0;
    }
  });
  return latent;
}

}  // namespace blink
