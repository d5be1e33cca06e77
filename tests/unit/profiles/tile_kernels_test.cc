// The inner loops over tiles against their formulas in doubles, at every instruction set.
#include "aggregator_server/profiles/tile_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "aggregator_server/profiles/sparse_rows.h"
#include "tests/testing/instruction_sets.h"

namespace blink {
namespace {

std::vector<float> Random(size_t count, float low, float high, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

class TileKernels : public testing::EveryInstructionSet {};

TEST_P(TileKernels, ProbabilitiesAreThoseOfTheFormula) {
  for (const float scale : {0.01f, 0.3f, 1.0f, 7.0f, 1e27f}) {
    std::vector<float> evidence(kTileNodes), log_odds(kTileNodes), probability(kTileNodes);
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      log_odds[j] = scale * (static_cast<float>(j) - 100);
      evidence[j] = static_cast<float>(j % 5) * 3 - 6;
    }
    log_odds[17] = kNever;
    const std::vector<float> before = log_odds;
    const float total = ProbabilityRow(evidence.data(), log_odds.data(), probability.data());
    double sum = 0;
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      const double x = before[j] + evidence[j], expected = 1 / (1 + std::exp(-x));
      EXPECT_EQ(log_odds[j], before[j] + evidence[j]);
      EXPECT_NEAR(probability[j], expected, 5e-7 * expected + 1e-37) << x;
      sum += probability[j];
    }
    EXPECT_EQ(probability[17], 0);
    EXPECT_NEAR(total, sum, 1e-5 * sum);
  }
}

TEST_P(TileKernels, MultiplyMatricesOfAnyDepth) {
  for (const size_t depth : {1u, 3u, 17u, 128u}) {
    for (const size_t columns : {1u, 31u, 33u, 256u}) {
      const std::vector<float> a = Random(16 * depth, -1, 1, 1), b = Random(depth * columns, -1, 1, 2);
      Panels panels;
      panels.Pack(b.data(), depth, depth, columns);
      std::vector<float> out(16 * panels.padded_columns(), 0.5f), sum = out;
      MultiplyPanels(a.data(), depth, 16, panels, false, out.data(), panels.padded_columns());
      MultiplyPanels(a.data(), depth, 16, panels, true, sum.data(), panels.padded_columns());
      for (size_t r = 0; r < 16; ++r) {
        for (size_t c = 0; c < panels.padded_columns(); ++c) {
          double expected = 0;
          for (size_t d = 0; d < depth && c < columns; ++d) expected += double{a[r * depth + d]} * b[d * columns + c];
          ASSERT_NEAR(out[r * panels.padded_columns() + c], expected, 1e-5);
          ASSERT_NEAR(sum[r * panels.padded_columns() + c], 0.5 + expected, 1e-5);
        }
      }
    }
  }
}

TEST_P(TileKernels, PackRowsThatBecomeColumnsAndZerosPastThem) {
  const std::vector<float> rows = Random(5 * 7, -1, 1, 1);
  Panels panels;
  panels.PackTransposed(rows.data(), 5, 7, 40);
  for (size_t d = 0; d < 7; ++d) {
    for (size_t c = 0; c < 64; ++c) {
      const float value = panels.values.data()[(c / kPanelColumns * 7 + d) * kPanelColumns + c % kPanelColumns];
      EXPECT_EQ(value, c < 5 ? rows[c * 7 + d] : 0.0f);
    }
  }
}

TEST_P(TileKernels, GiveLogarithms) {
  const std::vector<float> x = Random(kTileNodes, 0, 30, 5);
  std::vector<float> out(kTileNodes);
  for (const float shift : {0.05f, 1.0f, 1e6f}) {
    LogRow(x.data(), 10.0f, shift, out.data());
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      const double expected = std::log(shift + 10.0 * x[j]);
      ASSERT_NEAR(out[j], expected, 1e-6 * (1 + std::abs(expected)));
    }
  }
}

TEST_P(TileKernels, AddCurves) {
  const std::vector<float> x = Random(kTileNodes, -1, 2, 8), before = Random(kTileNodes, -9, 9, 9);
  const Curve curves[] = {{.slope = 2},
                          {.slope = -1, .square = 0.5f},
                          {.hinge_count = 2, .hinge_slopes = {3, -4}, .hinges = {0.1f, 1}},
                          {1, 2, 4, {1, -2, 3, -4}, {0, 0.2f, 0.5f, 1.5f}}};
  for (const Curve& curve : curves) {
    std::vector<float> log_odds = before;
    AddCurveRow(curve, x.data(), log_odds.data());
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      double expected = before[j] + double{x[j]} * (curve.slope + double{curve.square} * x[j]);
      for (int k = 0; k < curve.hinge_count; ++k) expected += curve.hinge_slopes[k] * std::min(x[j], curve.hinges[k]);
      ASSERT_NEAR(log_odds[j], expected, 1e-5);
    }
    EXPECT_FALSE(curve.IsZero());
  }
  EXPECT_TRUE((Curve{.hinge_count = 2, .hinges = {1, 2}}.IsZero()));
}

// Sums that rounding has put below P count as 0.
TEST_P(TileKernels, CompareCommonNeighboursWithThoseOfBothEnds) {
  const std::vector<float> common = Random(kTileNodes, 0, 3, 1), p = Random(kTileNodes, 0, 1, 2);
  std::vector<float> sums = Random(kTileNodes, 1, 40, 3), out(kTileNodes);
  sums[5] = p[5] * 0.999f;
  OverlapRow(common.data(), p.data(), 7, sums.data(), out.data());
  for (uint32_t j = 0; j < kTileNodes; ++j) {
    const double expected = common[j] / std::sqrt((7.5 - p[j]) * (std::max(0.0, double{sums[j]} - p[j]) + 0.5));
    ASSERT_NEAR(out[j], expected, 1e-5 * expected) << j;
  }
}

TEST_P(TileKernels, FindMaximaAndBins) {
  const std::vector<float> x = Random(kTileNodes, -70, 70, 6);
  std::vector<float> maxima(kTileNodes / 16);
  std::vector<int32_t> bins(kTileNodes);
  MaximaRow(x.data(), maxima.data());
  BinRow(x.data(), -64, 64, 8192, bins.data());
  for (uint32_t j = 0; j < kTileNodes; ++j) {
    EXPECT_EQ(maxima[j / 16], *std::max_element(x.begin() + j / 16 * 16, x.begin() + j / 16 * 16 + 16));
    EXPECT_EQ(bins[j], std::clamp<int32_t>(static_cast<int32_t>(std::floor((x[j] + 64) * 64)), 0, 8191));
  }
}

TEST_P(TileKernels, MultiplySparseRowsOfBlocks) {
  constexpr uint32_t kRows = 300, kColumns = 50;
  std::mt19937_64 random(7);
  std::vector<std::vector<float>> dense(kRows, std::vector<float>(kColumns, 0.0f));
  std::vector<uint64_t> offsets = {0};
  std::vector<uint32_t> columns;
  std::vector<float> values;
  for (uint32_t i = 0; i < kRows; ++i) {
    for (uint32_t k = 0; k < kColumns && i % 7 != 0; ++k) {
      if (random() % 6 != 0) continue;
      dense[i][k] = 1.0f + static_cast<float>(random() % 5);
      columns.push_back(k);
      values.push_back(dense[i][k]);
    }
    offsets.push_back(columns.size());
  }
  const SparseRows rows(offsets, columns, values, kColumns);
  SparseProduct product(rows);
  std::vector<float> out(kTileNodes);
  for (const uint32_t block : {0u, 1u, 0u}) {
    product.Load(block);
    for (uint32_t i = 0; i < kRows; ++i) {
      product.Row(i, out.data());
      for (uint32_t k = 0; k < kTileNodes; ++k) {
        float expected = 0;
        const uint32_t j = block * kTileNodes + k;
        for (uint32_t c = 0; c < kColumns && j < kRows; ++c) expected += dense[i][c] * dense[j][c];
        ASSERT_EQ(out[k], expected);
      }
    }
  }
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(TileKernels);

}  // namespace
}  // namespace blink
