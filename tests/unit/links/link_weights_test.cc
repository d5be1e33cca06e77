#include "aggregator_server/links/link_weights.h"

#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "aggregator_server/links/row_kernels.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/instruction_sets.h"

namespace blink {
namespace {

struct Shape {
  uint32_t nodes, classes;
  double density;  // of pairs with ones
};

// Classes of uneven sizes (one of them of one node), every class table symmetric.
LinkWeights RandomSoft(const Shape& shape, bool packed, uint32_t seed = 7) {
  const uint32_t n = shape.nodes, k = shape.classes;
  std::mt19937 random(seed);
  const auto uniform = [&] { return random() * 0x1p-32; };
  LinkWeights weights;
  weights.node_count = n;
  weights.weighted = true;
  weights.class_count = k;
  for (NodeIndex i = 0; i < n; ++i) {
    weights.class_of_node.push_back(i < k ? i : static_cast<uint32_t>((k - 1) * uniform() * uniform()));
  }
  weights.background.resize(k * k);
  weights.by_ones.resize(k * k * 2);
  for (uint32_t a = 0; a < k; ++a) {
    for (uint32_t b = 0; b < k; ++b) {
      weights.background[a * k + b] = 0.01f / static_cast<float>(1 + a + b + a * b);
      for (int ones = 0; ones < 2; ++ones) {
        weights.by_ones[2 * (a * k + b) + ones] = 0.1f * static_cast<float>(1 + ones) / static_cast<float>(1 + a + b);
      }
    }
  }
  PairOnes pairs = PairOnes::Ordered(weights.class_of_node, k);
  const uint32_t words = pairs.words;
  std::vector<uint32_t> position(n);
  for (uint32_t p = 0; p < 64 * words; ++p) {
    if (pairs.node_at[p] != PairOnes::kNoNode) position[pairs.node_at[p]] = p;
  }
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = i + 1; j < n; ++j) {
      const uint32_t ones = uniform() >= shape.density ? 0 : 1 + random() % 2;
      if (ones == 0) continue;
      links.emplace_back(i, j);
      for (const auto& [from, to] : {std::pair(i, j), std::pair(j, i)}) {
        const uint32_t p = position[to];
        pairs.any[from * words + p / 64] |= uint64_t{1} << (p % 64);
        if (ones == 2) pairs.both[from * words + p / 64] |= uint64_t{1} << (p % 64);
      }
    }
  }
  if (packed) {
    weights.ones = std::move(pairs);
    return weights;
  }
  weights.links = CsrGraph::FromLinks(n, links).value();
  for (NodeIndex i = 0; i < n; ++i) {
    for (const NodeIndex j : weights.links.NeighboursOf(i)) {
      const uint64_t both = (pairs.both[i * words + position[j] / 64] >> (position[j] % 64)) & 1;
      weights.values.push_back(weights.by_ones[2 * (weights.class_of_node[i] * k + weights.class_of_node[j]) + both]);
    }
  }
  weights.by_ones.clear();
  return weights;
}

std::vector<float> RandomMatrix(size_t size) {
  std::mt19937 random(8);
  std::vector<float> x(size);
  for (float& value : x) value = std::normal_distribution<float>()(random);
  return x;
}

// The slow twin: every row as n numbers, sums in double. `size`: the sum of |W_ij x_jc|, for the tolerance.
struct Sums {
  std::vector<double> sum, size;
};
Sums MultiplyDensely(const LinkWeights& weights, const std::vector<float>& x, int64_t width) {
  const uint32_t n = weights.node_count;
  Sums sums{std::vector<double>(n * width), std::vector<double>(n * width)};
  std::vector<float> row(n);
  for (NodeIndex i = 0; i < n; ++i) {
    FillRow(weights, i, row.data());
    for (NodeIndex j = 0; j < n; ++j) {
      for (int64_t c = 0; c < width; ++c) {
        const double term = static_cast<double>(row[j]) * x[j * width + c];
        sums.sum[i * width + c] += term;
        sums.size[i * width + c] += std::abs(term);
      }
    }
  }
  return sums;
}

// Float sums of n terms: each partial sum is rounded once, 2^-24 of what has been summed; their errors partly cancel.
constexpr double kTolerance = 2e-6;

void ExpectProduct(const LinkWeights& weights, int64_t width, const std::string& what) {
  const std::vector<float> x = RandomMatrix(weights.node_count * width);
  std::vector<float> y(x.size(), std::nanf(""));
  Multiply(weights, x.data(), width, 2, y.data());
  const Sums expected = MultiplyDensely(weights, x, width);
  for (size_t k = 0; k < y.size(); ++k) {
    ASSERT_NEAR(y[k], expected.sum[k], kTolerance * expected.size[k] + 1e-30)
        << what << ", width " << width << ", " << k;
  }
}

constexpr Shape kShapes[] = {{3, 1, 0.5}, {100, 3, 0.4}, {257, 40, 0.6}, {513, 5, 0.1}, {600, 64, 0.5}, {64, 64, 0.9}};

class Multiplied : public testing::EveryInstructionSet {};

TEST_P(Multiplied, IsTheProductWithTheRowsForEveryWidthAndShape) {
  for (const Shape& shape : kShapes) {
    for (const bool packed : {false, true}) {
      const LinkWeights weights = RandomSoft(shape, packed);
      // The twin takes n^2 width steps, also under sanitizers: the large shapes see two of the widths.
      const std::vector<int64_t> widths =
          shape.nodes > 200 ? std::vector<int64_t>{3, 16} : std::vector<int64_t>{1, 3, 4, 5, 7, 8, 15, 16, 17, 32, 33};
      for (const int64_t width : widths) {
        ExpectProduct(weights, width, absl::StrCat(packed ? "packed, n " : "list, n ", shape.nodes));
      }
    }
  }
}

TEST(Multiply, TakesABackgroundAlone) {
  LinkWeights weights = RandomSoft({300, 20, 0}, false);
  weights.links = CsrGraph();
  weights.values.clear();
  ExpectProduct(weights, 16, "background");
}

TEST(Multiply, TakesAListAlone) {
  LinkWeights weights = RandomSoft({300, 20, 0.1}, false);
  weights.class_count = 0;
  weights.class_of_node.clear();
  weights.background.clear();
  ExpectProduct(weights, 16, "values");
  weights.values.clear();
  ExpectProduct(weights, 4, "links of weight 1");
}

TEST_P(Multiplied, DoesNotDependOnTheNumberOfThreads) {
  for (const bool packed : {false, true}) {
    const LinkWeights weights = RandomSoft({1100, 30, 0.5}, packed);  // 5 blocks of rows
    const std::vector<float> x = RandomMatrix(weights.node_count * 16);
    std::vector<float> one(x.size()), many(x.size());
    Multiply(weights, x.data(), 16, 1, one.data());
    for (const int threads : {2, 3, 8}) {
      Multiply(weights, x.data(), 16, threads, many.data());
      EXPECT_EQ(one, many) << threads;
    }
  }
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(Multiplied);

TEST(Multiply, LeavesNothingToDoWithoutNodesOrColumns) {
  Multiply(LinkWeights(), nullptr, 16, 2, nullptr);
  const LinkWeights weights = RandomSoft({100, 3, 0.4}, true);
  Multiply(weights, nullptr, 0, 2, nullptr);
}

TEST(RowKernels, OfEveryInstructionSetThatThisMachineHasAgree) {
  const LinkWeights list = RandomSoft({250, 9, 0.4}, false), packed = RandomSoft({250, 9, 0.4}, true);
  const std::vector<OnesSegment> segments = FindSegments(packed);
  for (const int columns : {4, 8, 16, 32}) {
    const std::vector<float> x = RandomMatrix(size_t{64} * packed.ones.words * columns);
    std::vector<float> ordered(x.size(), 0.0f);
    for (size_t p = 0; p < packed.ones.node_at.size(); ++p) {
      if (packed.ones.node_at[p] == PairOnes::kNoNode) continue;
      std::copy_n(&x[packed.ones.node_at[p] * columns], columns, &ordered[p * columns]);
    }
    std::vector<float> expected(250 * columns, 0.0f);
    KernelsFor(columns, InstructionSet::kPlain).list(list, x.data(), 0, 250, expected.data());
    for (const InstructionSet set : kInstructionSets) {
      if (!MachineHas(set)) continue;  // Multiplied says which are skipped
      std::vector<float> of_list(expected.size(), 0.0f), of_ones(expected.size(), 0.0f);
      KernelsFor(columns, set).list(list, x.data(), 0, 250, of_list.data());
      KernelsFor(columns, set).ones(packed, segments, ordered.data(), 0, 250, of_ones.data());
      EXPECT_THAT(of_list, ::testing::Pointwise(::testing::FloatNear(1e-5f), expected)) << columns;
      EXPECT_THAT(of_ones, ::testing::Pointwise(::testing::FloatNear(1e-5f), expected)) << columns;
    }
  }
}

TEST(PairOnes, BeginsEveryClassAtAMultipleOfFour) {
  const PairOnes ones = PairOnes::Ordered({2, 0, 2, 1, 2, 2, 2}, 3);
  EXPECT_EQ(ones.words, 1u);
  EXPECT_THAT(std::vector<NodeIndex>(ones.node_at.begin(), ones.node_at.begin() + 13),
              ::testing::ElementsAre(1, PairOnes::kNoNode, PairOnes::kNoNode, PairOnes::kNoNode,  //
                                     3, PairOnes::kNoNode, PairOnes::kNoNode, PairOnes::kNoNode,  //
                                     0, 2, 4, 5, 6));
  EXPECT_EQ(PairOnes::WordsFor(std::vector<uint32_t>(65, 0), 1), 2u);
}

TEST(FillRow, OfAListAndOfPackedOnesIsTheSame) {
  const LinkWeights list = RandomSoft({100, 3, 0.4}, false), packed = RandomSoft({100, 3, 0.4}, true);
  std::vector<float> a(100), b(100);
  for (NodeIndex i = 0; i < 100; ++i) {
    FillRow(list, i, a.data());
    FillRow(packed, i, b.data());
    EXPECT_EQ(a, b);
    EXPECT_EQ(a[i], 0);
  }
}

TEST(FillRow, IsSymmetric) {
  const LinkWeights weights = RandomSoft({100, 7, 0.4}, true);
  std::vector<float> rows(100 * 100);
  for (NodeIndex i = 0; i < 100; ++i) FillRow(weights, i, &rows[i * 100]);
  for (NodeIndex i = 0; i < 100; ++i) {
    for (NodeIndex j = 0; j < 100; ++j) ASSERT_EQ(rows[i * 100 + j], rows[j * 100 + i]);
  }
}

TEST(RowSums, AreTheSumsOfTheRows) {
  const LinkWeights weights = RandomSoft({300, 20, 0.5}, true);
  const std::vector<float> sums = RowSums(weights, 2);
  const Sums expected = MultiplyDensely(weights, std::vector<float>(300, 1.0f), 1);
  for (NodeIndex i = 0; i < 300; ++i) EXPECT_NEAR(sums[i], expected.sum[i], kTolerance * expected.sum[i]);
}

TEST(RowSums, OfAGraphTakenAsItIsAreItsDegrees) {
  const LinkWeights weights = LinkWeights::Unweighted(CsrGraph::FromLinks(4, {{0, 1}, {1, 2}}).value());
  EXPECT_FALSE(weights.weighted);
  EXPECT_THAT(RowSums(weights, 3), ::testing::ElementsAre(1, 2, 1, 0));
}

}  // namespace
}  // namespace blink
