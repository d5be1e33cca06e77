#include "aggregator_server/profiles/node_profiles.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "Eigen/Dense"

namespace blink {
namespace {

using Eigen::MatrixXd;

FeatureMatrix Dense(const MatrixXd& matrix) {
  FeatureMatrix features;
  features.rows = static_cast<uint32_t>(matrix.rows());
  features.cols = static_cast<uint32_t>(matrix.cols());
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index c = 0; c < matrix.cols(); ++c) features.values.push_back(static_cast<float>(matrix(i, c)));
  }
  return features;
}

FeatureMatrix Sparse(const MatrixXd& matrix, bool with_zeros = false) {
  FeatureMatrix features;
  features.rows = static_cast<uint32_t>(matrix.rows());
  features.cols = static_cast<uint32_t>(matrix.cols());
  features.sparse = true;
  features.row_offsets.push_back(0);
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index c = 0; c < matrix.cols(); ++c) {
      if (matrix(i, c) == 0 && !(with_zeros && (i + c) % 3 == 0)) continue;
      features.columns.push_back(static_cast<int32_t>(c));
      features.values.push_back(static_cast<float>(matrix(i, c)));
    }
    features.row_offsets.push_back(static_cast<int64_t>(features.values.size()));
  }
  return features;
}

MatrixXd ScaledOf(const NodeProfiles& profiles) {
  const FeatureMatrix& f = profiles.scaled;
  MatrixXd matrix = MatrixXd::Zero(f.rows, f.cols);
  for (uint32_t i = 0; i < f.rows; ++i) {
    if (!f.sparse) {
      for (uint32_t c = 0; c < f.cols; ++c) matrix(i, c) = f.values[size_t{i} * f.cols + c];
    } else {
      for (int64_t k = f.row_offsets[i]; k < f.row_offsets[i + 1]; ++k) matrix(i, f.columns[k]) = f.values[k];
    }
  }
  return matrix;
}

MatrixXd LatentOf(const NodeProfiles& profiles) {
  MatrixXd matrix(profiles.scaled.rows, profiles.latent_width);
  EXPECT_EQ(profiles.latent.size(), static_cast<size_t>(matrix.size()));
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index c = 0; c < matrix.cols(); ++c)
      matrix(i, c) = profiles.latent[static_cast<size_t>(i * matrix.cols() + c)];
  }
  return matrix;
}

// Words by topic: rows of a topic share most of their words.
MatrixXd Words(int rows, int cols, uint64_t seed, int topics = 8) {
  std::mt19937_64 random(seed);
  MatrixXd matrix = MatrixXd::Zero(rows, cols);
  for (int i = 0; i < rows; ++i) {
    for (int word = 0; word < 2 + cols / 40; ++word) {
      const uint64_t any = random();
      const int column = any % 4 == 0 ? static_cast<int>((any >> 8) % cols)
                                      : static_cast<int>((any >> 8) % (cols / topics + 1) * topics + i % topics) % cols;
      matrix(i, column) = 1 + static_cast<double>(any >> 62);
    }
  }
  return matrix;
}

MatrixXd Normal(int rows, int cols, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  MatrixXd matrix(rows, cols);
  for (int i = 0; i < rows; ++i) {
    for (int c = 0; c < cols; ++c) matrix(i, c) = 5 * c + (c + 1) * normal(random);
  }
  return matrix;
}

MatrixXd TfIdfSlowly(MatrixXd matrix) {
  for (Eigen::Index c = 0; c < matrix.cols(); ++c) {
    const double with = static_cast<double>((matrix.col(c).array() > 0).count());
    matrix.col(c) *= std::log((1.0 + matrix.rows()) / (1.0 + with)) + 1;
  }
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) matrix.row(i) /= std::max(matrix.row(i).norm(), 1e-12);
  return matrix;
}

MatrixXd StandardisedSlowly(MatrixXd matrix) {
  for (Eigen::Index c = 0; c < matrix.cols(); ++c) {
    matrix.col(c).array() -= matrix.col(c).mean();
    matrix.col(c) /= std::max(std::sqrt(matrix.col(c).squaredNorm() / matrix.rows()), 1e-4);
  }
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) matrix.row(i) /= std::max(matrix.row(i).norm(), 1e-4);
  return matrix;
}

// Cosines of the latent rows do not depend on the signs and rotations among equal singular values.
MatrixXd LatentCosinesSlowly(const MatrixXd& scaled, Eigen::Index width) {
  const Eigen::JacobiSVD<MatrixXd> svd(scaled, Eigen::ComputeThinV);
  MatrixXd latent = scaled * svd.matrixV().leftCols(width);
  for (Eigen::Index i = 0; i < latent.rows(); ++i) {
    const double norm = latent.row(i).norm();
    latent.row(i) *= norm >= 1e-4 ? 1 / norm : 0;
  }
  return latent * latent.transpose();
}

TEST(NodeProfiles, TakeForCountsWhatIsSparseAndNeverNegativeInEitherForm) {
  MatrixXd quarter = MatrixXd::Zero(8, 4);
  quarter.col(2).setConstant(3);  // a quarter of the matrix, exactly
  MatrixXd more = quarter, negative = quarter;
  more(0, 0) = 1;
  negative(0, 2) = -3;
  for (const bool with_zeros : {false, true}) {
    EXPECT_TRUE(LooksLikeCounts(Sparse(quarter, with_zeros)));
    EXPECT_FALSE(LooksLikeCounts(Sparse(more, with_zeros)));
    EXPECT_FALSE(LooksLikeCounts(Sparse(negative, with_zeros)));
  }
  EXPECT_TRUE(LooksLikeCounts(Dense(quarter)));
  EXPECT_FALSE(LooksLikeCounts(Dense(more)));
  EXPECT_FALSE(LooksLikeCounts(Dense(negative)));
}

TEST(NodeProfiles, OfCountsAreTheirTfIdf) {
  const MatrixXd words = Words(120, 90, 1);
  const NodeProfiles profiles = MakeNodeProfiles(Sparse(words), 1);
  EXPECT_TRUE(profiles.scaled.sparse);
  EXPECT_LT((ScaledOf(profiles) - TfIdfSlowly(words)).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(NodeProfiles, OfContinuousFeaturesAreStandardisedColumns) {
  MatrixXd numbers = Normal(120, 9, 2);
  numbers.col(4).setConstant(0.1);
  const NodeProfiles profiles = MakeNodeProfiles(Dense(numbers), 1);
  EXPECT_FALSE(profiles.scaled.sparse);
  EXPECT_LT((ScaledOf(profiles) - StandardisedSlowly(numbers)).cwiseAbs().maxCoeff(), 1e-5);
  EXPECT_EQ(ScaledOf(profiles).col(4).cwiseAbs().maxCoeff(), 0);
}

void ExpectSame(const NodeProfiles& a, const NodeProfiles& b) {
  EXPECT_EQ(a.scaled.sparse, b.scaled.sparse);
  EXPECT_EQ(a.scaled.row_offsets, b.scaled.row_offsets);
  EXPECT_EQ(a.scaled.columns, b.scaled.columns);
  EXPECT_EQ(a.scaled.values, b.scaled.values);
  EXPECT_EQ(a.latent_width, b.latent_width);
  EXPECT_EQ(a.latent, b.latent);
}

TEST(NodeProfiles, DependOnTheFeaturesAndNotOnTheirForm) {
  MatrixXd signs = Words(80, 40, 3);
  signs(3, 4) = -1;
  for (const MatrixXd& matrix :
       {Words(80, 40, 3), signs, MatrixXd(Normal(80, 5, 4)), MatrixXd(Normal(80, 5, 4).cwiseAbs())}) {
    const NodeProfiles dense = MakeNodeProfiles(Dense(matrix), 1);
    ExpectSame(dense, MakeNodeProfiles(Sparse(matrix), 1));
    ExpectSame(dense, MakeNodeProfiles(Sparse(matrix, /*with_zeros=*/true), 1));
  }
  EXPECT_FALSE(MakeNodeProfiles(Sparse(signs), 1).scaled.sparse);
}

TEST(NodeProfiles, AreTheSameOnAnyNumberOfThreads) {
  for (const FeatureMatrix& features :
       {Sparse(Words(700, 400, 5)), Dense(Normal(700, 200, 6)), Dense(Normal(90, 7, 6))})
    ExpectSame(MakeNodeProfiles(features, 1), MakeNodeProfiles(features, 5));
}

TEST(NodeProfiles, HaveTheLatentRowsOfTheSingularVectors) {
  for (const bool words : {true, false}) {
    const MatrixXd matrix = words ? Words(150, 120, 7) : Normal(150, 90, 7);
    const NodeProfiles profiles = MakeNodeProfiles(words ? Sparse(matrix) : Dense(matrix), 1);
    ASSERT_EQ(profiles.latent_width, 64u);
    const MatrixXd latent = LatentOf(profiles), cosines = latent * latent.transpose();
    EXPECT_LT((cosines - LatentCosinesSlowly(ScaledOf(profiles), 64)).cwiseAbs().maxCoeff(), 1e-3);
  }
}

// Beyond 160 columns by iteration: all but the weakest directions of a flat spectrum have converged.
TEST(NodeProfiles, HaveAlmostTheLatentRowsOfManyColumns) {
  const MatrixXd matrix = Words(400, 300, 8);
  const NodeProfiles profiles = MakeNodeProfiles(Sparse(matrix), 1);
  const MatrixXd scaled = ScaledOf(profiles), latent = LatentOf(profiles);
  const MatrixXd cosines = latent * latent.transpose(), expected = LatentCosinesSlowly(scaled, 64);
  EXPECT_LT((cosines - expected).norm(), 0.1 * expected.norm());
}

TEST(NodeProfiles, SurviveAMatrixOfLowRank) {
  MatrixXd matrix = MatrixXd::Zero(300, 200);
  for (int i = 0; i < 300; ++i) matrix(i, i % 3) = 1;  // three distinct rows
  for (const FeatureMatrix& features : {Sparse(matrix), Dense(-matrix)}) {
    const MatrixXd latent = LatentOf(MakeNodeProfiles(features, 1)), cosines = latent * latent.transpose();
    for (int i = 0; i < 300; ++i) EXPECT_NEAR(cosines(i, (i * 7) % 300), cosines(0, (i * 7 - i + 300) % 3), 1e-4) << i;
    for (int i = 0; i < 300; ++i) EXPECT_NEAR(cosines(i, i), 1, 1e-4);
  }
}

TEST(NodeProfiles, OfNodesWithoutFeaturesAreZero) {
  MatrixXd words = Words(60, 40, 9);
  words.row(7).setZero();
  const NodeProfiles profiles = MakeNodeProfiles(Sparse(words), 1);
  EXPECT_EQ(ScaledOf(profiles).row(7).norm(), 0);
  EXPECT_EQ(LatentOf(profiles).row(7).norm(), 0);
  for (const NodeProfiles& nothing : {MakeNodeProfiles(Sparse(MatrixXd::Zero(60, 40)), 1),
                                      MakeNodeProfiles(Dense(MatrixXd::Constant(60, 4, 0.1)), 1)}) {
    EXPECT_EQ(ScaledOf(nothing).norm(), 0);
    EXPECT_EQ(LatentOf(nothing).norm(), 0);
  }
}

TEST(NodeProfiles, OfNoFeaturesAreEmpty) {
  FeatureMatrix features;
  features.rows = 5;
  const NodeProfiles profiles = MakeNodeProfiles(features, 1);
  EXPECT_EQ(profiles.scaled.rows, 5u);
  EXPECT_EQ(profiles.scaled.cols, 0u);
  EXPECT_EQ(profiles.latent_width, 0u);
  EXPECT_TRUE(profiles.latent.empty());
}

TEST(NodeProfiles, OfASingleColumnAreItsSigns) {
  MatrixXd column(4, 1);
  column << 1, 2, 3, 10;
  const NodeProfiles profiles = MakeNodeProfiles(Dense(column), 1);
  ASSERT_EQ(profiles.latent_width, 1u);
  EXPECT_EQ(profiles.scaled.values, (std::vector<float>{-1, -1, -1, 1}));
  EXPECT_EQ(profiles.latent[0], -profiles.latent[3]);
  EXPECT_NEAR(std::abs(profiles.latent[0]), 1, 1e-6);
}

TEST(NodeProfiles, HaveNoMoreLatentColumnsThanRows) {
  const NodeProfiles profiles = MakeNodeProfiles(Sparse(Words(10, 500, 10)), 1);
  EXPECT_EQ(profiles.latent_width, 10u);
  const MatrixXd scaled = ScaledOf(profiles), latent = LatentOf(profiles);
  EXPECT_LT((latent * latent.transpose() - scaled * scaled.transpose()).cwiseAbs().maxCoeff(), 1e-3);
}

TEST(NodeProfiles, OfHugeAndTinyValuesAreFinite) {
  MatrixXd numbers = Normal(50, 6, 11);
  numbers.col(0) *= 1e36;
  numbers.col(1) *= 1e-36;
  for (const NodeProfiles& profiles :
       {MakeNodeProfiles(Dense(numbers), 1), MakeNodeProfiles(Sparse(1e37 * Words(50, 40, 1)), 1)}) {
    EXPECT_TRUE(ScaledOf(profiles).allFinite());
    EXPECT_TRUE(LatentOf(profiles).allFinite());
    EXPECT_NEAR(ScaledOf(profiles).row(3).norm(), 1, 1e-5);
  }
}

}  // namespace
}  // namespace blink
