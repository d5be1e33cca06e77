#include "aggregator_server/train/kernels/link_kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "common/base/tasks.h"
#include "common/simd/vector_code.h"
#include "common/simd/vector_row.h"

namespace blink {
namespace {

constexpr int kBlock = 16;  // columns of a result that are summed at once: 64 bytes, a cache line

// out = scale * (own_coefficient own + sum over k of coefficients[k] x[neighbours[k]]), for `kWidth` columns that start
// at `own`, `x` and `out`; null coefficients: ones. The width is known to the compiler, which keeps the sums in
// registers. There are several of each, so that an addition need not wait for the one before.
template <int kWidth>
struct SumRow {
  BLINK_INLINE static void Run(const NodeIndex* neighbours, const float* coefficients, size_t count,
                               float own_coefficient, const float* own, const float* x, int64_t stride, float scale,
                               float* out) {
    float even[kWidth], odd[kWidth];
    for (int c = 0; c < kWidth; ++c) even[c] = own_coefficient * own[c];
    for (int c = 0; c < kWidth; ++c) odd[c] = 0;
    size_t k = 0;
    for (; k + 1 < count; k += 2) {
      const float* first = x + neighbours[k] * stride;
      const float* second = x + neighbours[k + 1] * stride;
      const float a = coefficients == nullptr ? 1.0f : coefficients[k],
                  b = coefficients == nullptr ? 1.0f : coefficients[k + 1];
      for (int c = 0; c < kWidth; ++c) even[c] += a * first[c];
      for (int c = 0; c < kWidth; ++c) odd[c] += b * second[c];
    }
    if (k < count) {
      const float* last = x + neighbours[k] * stride;
      const float a = coefficients == nullptr ? 1.0f : coefficients[k];
      for (int c = 0; c < kWidth; ++c) even[c] += a * last[c];
    }
    for (int c = 0; c < kWidth; ++c) out[c] = scale * (even[c] + odd[c]);
  }
};

// The same for widths that fill vectors.
template <int kWidth, int kLanesMax>
struct SumVectorRow {
  BLINK_INLINE static void Run(const NodeIndex* neighbours, const float* coefficients, size_t count,
                               float own_coefficient, const float* own, const float* x, int64_t stride, float scale,
                               float* out) {
    constexpr int kChains = 4;
    VectorRow<kWidth, kLanesMax> sums[kChains], result;
    size_t k = 0;
    if (coefficients == nullptr) {
      for (; k + kChains <= count; k += kChains) {
        for (int chain = 0; chain < kChains; ++chain) sums[chain].Add(x + neighbours[k + chain] * stride);
      }
    } else {
      for (; k + kChains <= count; k += kChains) {
        for (int chain = 0; chain < kChains; ++chain) {
          sums[chain].AddScaled(coefficients[k + chain], x + neighbours[k + chain] * stride);
        }
      }
    }
    for (; k < count; ++k) {
      sums[0].AddScaled(coefficients == nullptr ? 1.0f : coefficients[k], x + neighbours[k] * stride);
    }
    sums[0].Add(sums[1]);
    sums[2].Add(sums[3]);
    sums[0].Add(sums[2]);
    sums[0].AddScaled(own_coefficient, own);
    result.AddScaled(scale, sums[0]);
    result.Store(out);
  }
};

using SumFunction = decltype(CodeOf<SumRow<1>>());

template <int kWidth>
SumFunction SumFunctionOf() {
  if constexpr (kWidth == 4 || kWidth == 8 || kWidth == 16) {
    return CodeOf<SumVectorRow<kWidth, 4>, SumVectorRow<kWidth, 8>, SumVectorRow<kWidth, 16>>();
  } else {
    return CodeOf<SumRow<kWidth>>();
  }
}

// For blocks of 1, 2, .. kBlock columns, by the instruction set that is used when a pass begins.
using SumFunctions = std::array<SumFunction, kBlock>;
template <int... kWidths>
SumFunctions SumFunctionsOf(std::integer_sequence<int, kWidths...>) {
  return {SumFunctionOf<kWidths + 1>()...};
}
SumFunctions SumFunctionsInUse() { return SumFunctionsOf(std::make_integer_sequence<int, kBlock>()); }

// Columns of x that MultiplyLinks sums at once. Where rows are long they are copied to rows that fill vectors.
struct ColumnBlock {
  int64_t columns = 0, kernel_columns = 0;
  const float* x = nullptr;  // of node 0
  int64_t stride = 0;
  std::vector<float> copied;
};

ColumnBlock MakeColumnBlock(const CsrGraph& graph, const float* x, int64_t width, int64_t first) {
  constexpr uint64_t kLongRow = 8;  // links a node, from which on a copy pays
  ColumnBlock block{.columns = std::min<int64_t>(kBlock, width - first), .x = x + first, .stride = width};
  block.kernel_columns = block.columns;
  const uint64_t n = graph.node_count();
  if (block.columns < 3 || graph.neighbours().size() < kLongRow * n) return block;
  block.kernel_columns = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(block.columns)));
  if (block.kernel_columns == block.columns) return block;
  block.copied.assign(n * block.kernel_columns, 0.0f);
  for (uint64_t i = 0; i < n; ++i) {
    std::copy_n(x + i * width + first, block.columns, &block.copied[i * block.kernel_columns]);
  }
  block.x = block.copied.data();
  block.stride = block.kernel_columns;
  return block;
}

// body(first, end) over the rows of the graph, cut so that every task has about as many links and rows: the degrees of
// real graphs are very unequal.
template <typename Body>
void InRows(const CsrGraph& graph, int tasks, const Body& body) {
  const uint32_t n = graph.node_count();
  if (tasks == 1) return body(uint32_t{0}, n);
  const auto work_before = [&](uint32_t row) { return graph.offsets()[row] + row; };
  const auto first_row = [&](int task) {
    const uint64_t wanted = work_before(n) / tasks * task;
    uint32_t low = 0, high = n;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      work_before(middle) < wanted ? low = middle + 1 : high = middle;
    }
    return low;
  };
  RunTasks(tasks, [&](int task) { body(first_row(task), task + 1 == tasks ? n : first_row(task + 1)); });
}

// The links of one row, and what a pass of attention computes for them before it meets x. The node itself is the last
// entry.
struct AttentionRow {
  std::vector<float> z, exponent, weight, scale, factor, coefficient, positive;

  void Resize(size_t count) {
    count = (count + kLanes - 1) / kLanes * kLanes;  // whole vectors
    for (auto* buffer : {&z, &exponent, &weight, &scale, &factor, &coefficient, &positive}) buffer->resize(count);
  }
};

// Fills row.z, weight, scale, factor; exponent = LeakyReLU(z) - shift.
void GatherRow(const AttentionPass& pass, absl::Span<const NodeIndex> neighbours, const float* values, uint32_t i,
               AttentionRow& row) {
  const size_t count = neighbours.size();
  const float row_z = pass.row_z[i];
  const auto node = [&](size_t k) { return k == count ? i : neighbours[k]; };
  for (size_t k = 0; k <= count; ++k) {
    row.z[k] = row_z + pass.col_z[node(k)];
    row.weight[k] = k == count || values == nullptr ? 1.0f : values[k];
  }
  if (pass.forward()) {
    float largest = row.z[count];
    for (size_t k = 0; k < count; ++k) {
      if (row.weight[k] > 0 && row.z[k] > largest) largest = row.z[k];
    }
    const float shift =
        Leaky(largest, kLeakySlope);  // LeakyReLU ascends: the largest exponent is that of the largest z
    pass.row_shift[i] = shift;
    for (size_t k = 0; k <= count; ++k) row.exponent[k] = Leaky(row.z[k], kLeakySlope) - shift;
  } else {
    for (size_t k = 0; k <= count; ++k) {
      row.exponent[k] = Leaky(row.z[k], kLeakySlope) - pass.col_shift[node(k)];
      row.scale[k] = pass.col_scale[node(k)];
      row.factor[k] = pass.col_factor[node(k)];
    }
  }
}

// coefficient = w a, positive = the same where z > 0, and the sums of a, into sums[0] and sums[1].
template <bool kForward>
struct RowCoefficients {
  BLINK_INLINE static void Run(AttentionRow& row, size_t count, float* sums) {
    float* const a = row.exponent.data();
    float* const coefficient = row.coefficient.data();
    float* const positive = row.positive.data();
    const float* const weight = row.weight.data();
    const float* const scale = row.scale.data();
    const float* const factor = row.factor.data();
    const float* const z = row.z.data();
    for (size_t k = 0; k < count; k += kLanes) {  // what stands past the last entry is not used
      const Floats w = Load(weight + k), exponential = Where(w > 0.0f, ExpOfNegative(Load(a + k)), Floats{});
      const Floats attention = w * (kForward ? exponential : exponential * Load(scale + k)), of_x = w * attention;
      Store(coefficient + k, of_x);
      Store(positive + k, Where(Load(z + k) > 0.0f, of_x, Floats{}));
      Store(a + k, kForward ? attention : attention * Load(factor + k));
    }
    float sum = 0, sum_positive = 0;
    for (size_t k = 0; k < count; ++k) {
      sum += a[k];
      sum_positive += z[k] > 0 ? a[k] : 0.0f;
    }
    sums[0] = sum;
    sums[1] = sum_positive;
  }
};

// y_i = scale * sum over the row's links and the node itself of coefficients x.
void SumAttended(const SumFunctions& sums, absl::Span<const NodeIndex> neighbours,
                 const std::vector<float>& coefficients, uint32_t i, const AttentionPass& pass, float scale, float* y) {
  for (int64_t first = 0; first < pass.width; first += kBlock) {
    const int64_t place = i * pass.width + first;
    sums[std::min<int64_t>(kBlock, pass.width - first) - 1](neighbours.data(), coefficients.data(), neighbours.size(),
                                                            coefficients[neighbours.size()], pass.x + place,
                                                            pass.x + first, pass.width, scale, y + place);
  }
}

}  // namespace

void MultiplyLinks(const LinkWeights& weights, const float* x, int64_t width, const float* left, float self,
                   int threads, float* out) {
  const CsrGraph& graph = weights.links;
  const SumFunctions sums = SumFunctionsInUse();
  const int tasks = TasksFor((graph.neighbours().size() + graph.node_count()) * width, threads);
  for (int64_t first = 0; first < width; first += kBlock) {
    const ColumnBlock block = MakeColumnBlock(graph, x, width, first);
    const SumFunction sum_row = sums[block.kernel_columns - 1];
    InRows(graph, tasks, [&](uint32_t begin, uint32_t end) {
      float row[kBlock];
      for (uint32_t i = begin; i < end; ++i) {
        const auto neighbours = graph.NeighboursOf(i);
        const float* values = weights.values.empty() ? nullptr : weights.values.data() + graph.offsets()[i];
        float* const to = out + i * width + first;
        sum_row(neighbours.data(), values, neighbours.size(), self, block.x + i * block.stride, block.x, block.stride,
                left == nullptr ? 1.0f : left[i], block.copied.empty() ? to : row);
        if (!block.copied.empty()) std::copy_n(row, block.columns, to);
      }
    });
  }
}

void AttendLinks(const LinkWeights& weights, const AttentionPass& pass, int threads) {
  const CsrGraph& graph = weights.links;
  const SumFunctions sum_functions = SumFunctionsInUse();
  auto* const coefficients = pass.forward() ? CodeOf<RowCoefficients<true>>() : CodeOf<RowCoefficients<false>>();
  const auto attend_rows = [&](uint32_t begin, uint32_t end) {
    AttentionRow row;
    for (uint32_t i = begin; i < end; ++i) {
      const auto neighbours = graph.NeighboursOf(i);
      const size_t count = neighbours.size() + 1;
      if (row.z.size() < count) row.Resize(2 * count);
      GatherRow(pass, neighbours, weights.values.empty() ? nullptr : weights.values.data() + graph.offsets()[i], i,
                row);
      float sums[2];
      coefficients(row, count, sums);
      const float scale = pass.forward() ? 1.0f / sums[0] : 1.0f;
      pass.sum[i] = pass.forward() ? scale : sums[0];
      SumAttended(sum_functions, neighbours, row.coefficient, i, pass, scale, pass.y);
      if (pass.y_positive == nullptr) continue;
      pass.sum_positive[i] = scale * sums[1];
      SumAttended(sum_functions, neighbours, row.positive, i, pass, scale, pass.y_positive);
    }
  };
  // An exponential is worth about twenty multiplications.
  InRows(graph, TasksFor((graph.neighbours().size() + graph.node_count()) * (2 * pass.width + 20), threads),
         attend_rows);
}

}  // namespace blink
