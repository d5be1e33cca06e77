// The kernels over links and over pairs against their formulas in doubles.
#include "aggregator_server/train/kernels/link_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <tuple>

#include "aggregator_server/train/kernels/weight_rows.h"
#include "common/graph/dataset.h"
#include "common/simd/vector_code.h"
#include "tests/testing/instruction_sets.h"
#include "tests/unit/train/small_weights.h"

namespace blink {
namespace {

using testing::Kind;
using testing::KindName;
using testing::SmallWeights;

CsrGraph SmallGraph(uint32_t nodes) {
  return GenerateDataset({.nodes = nodes, .classes = 3, .mean_degree = 4, .features = 0, .words_per_node = 0})->graph;
}

std::vector<float> Random(size_t count, uint64_t seed, float low = -1, float high = 1) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(random);
  return values;
}

class Product : public testing::EveryInstructionSet {};

TEST_P(Product, OverLinksIsItsFormulaAtEveryWidth) {
  const CsrGraph graph = SmallGraph(90);
  const LinkWeights weights = SmallWeights(Kind::kLinks, graph);
  std::vector<float> row(90);
  for (const int64_t width : {1, 3, 7, 16, 17, 40}) {
    const std::vector<float> x = Random(90 * width, 1), left = Random(90, 2);
    std::vector<float> out(90 * width, NAN);
    MultiplyLinks(weights, x.data(), width, left.data(), 0.5f, 2, out.data());
    for (NodeIndex i = 0; i < 90; ++i) {
      FillRow(weights, i, row.data());
      for (int64_t c = 0; c < width; ++c) {
        double sum = 0.5 * x[i * width + c];
        for (NodeIndex j = 0; j < 90; ++j) sum += double{row[j]} * x[j * width + c];
        ASSERT_NEAR(out[i * width + c], left[i] * sum, 2e-6) << "row " << i << ", column " << c << ", width " << width;
      }
    }
  }
}

// A whole pass, forward or backward, and the same in doubles.
struct Pass {
  Pass(uint32_t n, int64_t width, float spread) : n(n), width(width) {
    row_z = Random(n, 3, -spread, spread);
    col_z = Random(n, 4, -spread, spread);
    x = Random(n * width, 5);
    scale = Random(n, 7, 0.2f, 1);
    factor = Random(n, 8);
    for (auto* list : {&row_shift, &sum, &sum_positive}) list->assign(n, NAN);
    y.assign(n * width, NAN);
    y_positive.assign(n * width, NAN);
  }
  // Backward: the shifts must be those that the forward pass of these values leaves.
  AttentionPass Arguments(bool forward) {
    AttentionPass pass{.row_z = row_z.data(),
                       .col_z = col_z.data(),
                       .x = x.data(),
                       .width = width,
                       .row_shift = row_shift.data(),
                       .sum = sum.data(),
                       .sum_positive = sum_positive.data(),
                       .y = y.data(),
                       .y_positive = y_positive.data()};
    if (forward) return pass;
    const float top = *std::max_element(row_z.begin(), row_z.end());
    for (uint32_t j = 0; j < n; ++j) shift.push_back(Leaky(top + col_z[j], kLeakySlope));
    pass.col_shift = shift.data();
    pass.col_scale = scale.data();
    pass.col_factor = factor.data();
    return pass;
  }
  void Run(const LinkWeights& weights, bool forward, int threads) {
    const AttentionPass pass = Arguments(forward);
    weights.has_background() ? AttendPairs(WeightRows(weights), pass, threads) : AttendLinks(weights, pass, threads);
  }
  void ExpectTheFormula(const LinkWeights& weights, bool forward) const {
    std::vector<float> row(n);
    for (NodeIndex i = 0; i < n; ++i) {
      FillRow(weights, i, row.data());
      row[i] = 1;
      double largest = -1e30;
      for (NodeIndex j = 0; j < n; ++j) {
        if (row[j] > 0) largest = std::max(largest, LeakyOf(i, j));
      }
      double all = 0, positive = 0;
      std::vector<double> sums(width, 0.0), positives(width, 0.0);
      for (NodeIndex j = 0; j < n; ++j) {
        const double e = forward ? std::exp(LeakyOf(i, j) - largest) : std::exp(LeakyOf(i, j) - shift[j]) * scale[j];
        const double a = row[j] * e, share = forward ? a : a * factor[j];
        const bool above = row_z[i] + col_z[j] > 0;
        all += share;
        positive += above ? share : 0;
        for (int64_t c = 0; c < width; ++c) {
          sums[c] += row[j] * a * x[j * width + c];
          positives[c] += above ? row[j] * a * x[j * width + c] : 0;
        }
      }
      const double norm = forward ? all : 1;
      const double tolerance = 3e-5;
      if (!forward) {
        ASSERT_NEAR(sum[i], all, tolerance) << i;
      }
      ASSERT_NEAR(sum_positive[i], positive / norm, tolerance) << i;
      for (int64_t c = 0; c < width; ++c) {
        ASSERT_NEAR(y[i * width + c], sums[c] / norm, tolerance) << i;
        ASSERT_NEAR(y_positive[i * width + c], positives[c] / norm, tolerance) << i;
      }
    }
  }
  double LeakyOf(NodeIndex i, NodeIndex j) const {
    const double z = double{row_z[i]} + col_z[j];
    return z > 0 ? z : 0.2 * z;
  }

  uint32_t n;
  int64_t width;
  std::vector<float> row_z, col_z, x, shift, scale, factor, row_shift, sum, sum_positive, y, y_positive;
};

class AttentionKernel : public ::testing::TestWithParam<std::tuple<Kind, InstructionSet>> {
 protected:
  void SetUp() override {
    const auto [kind, set] = GetParam();
    if (!MachineHas(set)) GTEST_SKIP() << "this machine does not have " << InstructionSetName(set);
    set_.emplace(set);
  }
  LinkWeights Weights(const CsrGraph& graph) const { return SmallWeights(std::get<0>(GetParam()), graph); }

 private:
  std::optional<WithInstructionSet> set_;
};

TEST_P(AttentionKernel, ForwardIsItsFormulaForAnySpreadOfTheExponents) {
  const CsrGraph graph = SmallGraph(101);
  const LinkWeights weights = Weights(graph);
  for (const int64_t width : {1, 7, 16, 27}) {
    for (const float spread : {0.5f, 8.0f, 29.0f, 200.0f}) {  // the last does not factorise
      Pass pass(101, width, spread);
      pass.Run(weights, /*forward=*/true, 2);
      pass.ExpectTheFormula(weights, /*forward=*/true);
    }
  }
}

TEST_P(AttentionKernel, BackwardIsItsFormula) {
  const CsrGraph graph = SmallGraph(101);
  const LinkWeights weights = Weights(graph);
  for (const int64_t width : {1, 7, 16, 27}) {
    for (const float spread : {0.5f, 8.0f, 200.0f}) {
      Pass pass(101, width, spread);
      pass.Run(weights, /*forward=*/false, 2);
      pass.ExpectTheFormula(weights, /*forward=*/false);
    }
  }
}

TEST_P(AttentionKernel, DoesNotDependOnTheNumberOfThreads) {
  // Enough work for more threads than one, of all pairs or of the links alone.
  const uint32_t n = Weights(SmallGraph(30)).has_background() ? 300 : 3000;
  const LinkWeights weights = Weights(SmallGraph(n));
  for (const bool forward : {true, false}) {
    Pass one(n, 48, 3.0f);
    one.Run(weights, forward, 1);
    for (const int threads : {2, 3}) {
      Pass many(n, 48, 3.0f);
      many.Run(weights, forward, threads);
      EXPECT_EQ(one.y, many.y) << threads;
      EXPECT_EQ(one.y_positive, many.y_positive) << threads;
      EXPECT_EQ(one.sum, many.sum) << threads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, AttentionKernel,
                         ::testing::Combine(::testing::Values(Kind::kUnweighted, Kind::kLinks,
                                                              Kind::kBackgroundAndLinks, Kind::kBackgroundAndOnes),
                                            ::testing::ValuesIn(kInstructionSets)),
                         [](const auto& info) {
                           std::string name = std::string(KindName(std::get<0>(info.param))) + "_" +
                                              InstructionSetName(std::get<1>(info.param));
                           std::replace(name.begin(), name.end(), ' ', '_');
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(Product, DoesNotDependOnTheNumberOfThreads) {
  const CsrGraph graph = SmallGraph(9000);
  const LinkWeights weights = SmallWeights(Kind::kLinks, graph);
  const std::vector<float> x = Random(9000 * 40, 1);
  std::vector<float> one(9000 * 40, NAN);
  MultiplyLinks(weights, x.data(), 40, nullptr, 1, 1, one.data());
  for (const int threads : {2, 3}) {
    std::vector<float> many(9000 * 40, NAN);
    MultiplyLinks(weights, x.data(), 40, nullptr, 1, threads, many.data());
    EXPECT_EQ(one, many) << threads;
  }
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(Product);

TEST(LinkKernels, ANodeWithoutLinksAttendsToItselfAlone) {
  const LinkWeights weights = LinkWeights::Unweighted(CsrGraph::FromLinks(3, {{0, 1}}).value());
  Pass pass(3, 4, 100.0f);
  pass.Run(weights, /*forward=*/true, 1);
  for (int c = 0; c < 4; ++c) EXPECT_FLOAT_EQ(pass.y[2 * 4 + c], pass.x[2 * 4 + c]);
}

class DecodedRows : public testing::EveryInstructionSet {};

TEST_P(DecodedRows, AreThoseOfTheWeightsWithOneOnTheDiagonal) {
  const CsrGraph graph = SmallGraph(77);
  for (const Kind kind : {Kind::kUnweighted, Kind::kLinks, Kind::kBackgroundAndLinks, Kind::kBackgroundAndOnes}) {
    const LinkWeights weights = SmallWeights(kind, graph);
    const WeightRows rows(weights);
    WeightRows::ClassRow class_row;
    std::vector<float> decoded(rows.positions()), expected(77);
    std::vector<int> seen(77, 0);
    for (uint32_t k = 0; k < 77; ++k) {
      const NodeIndex i = rows.NodeInOrder(k);
      ++seen[i];
      rows.Fill(i, class_row, decoded.data());
      FillRow(weights, i, expected.data());
      expected[i] = 1;
      double sum = 0, expected_sum = 0;
      for (const float value : decoded) sum += value;
      for (NodeIndex j = 0; j < 77; ++j) {
        EXPECT_FLOAT_EQ(decoded[rows.PositionOf(j)], expected[j]) << KindName(kind) << ", pair " << i << ", " << j;
        expected_sum += expected[j];
      }
      EXPECT_NEAR(sum, expected_sum, 1e-4) << "a gap has a weight";
    }
    EXPECT_THAT(seen, ::testing::Each(1));
  }
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(DecodedRows);

}  // namespace
}  // namespace blink
