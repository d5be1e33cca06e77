// AttendPairs: attention over all pairs. Rows are taken four at a time; per tile of columns first the coefficients of
// the pairs, eight at once, then a small matrix product with the tile's rows of x, which stay in the cache.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "aggregator_server/train/kernels/link_kernels.h"
#include "aggregator_server/train/kernels/weight_rows.h"
#include "common/base/tasks.h"
#include "common/simd/vector_code.h"

namespace blink {
namespace {

constexpr int kRows = 4;          // rows at a time: each row of x that was loaded serves so many
constexpr int kTile = 256;        // columns at a time: 16 kB of x at width 16
constexpr int kStrip = 16;        // columns of x that are summed at once, or half as many
constexpr uint32_t kGroups = 16;  // of kRows rows, that a thread takes at a time
// Up to this spread of the exponents' column parts the factors and the sums of a row, which holds its own node with
// weight 1, are normal floats: e^-60 = 9e-27, and e^-48 times e^-12 at the least for z <= 0.
constexpr float kLargestSpread = 60.0f;

BLINK_INLINE float SumOf(Floats v) {
  float parts[4] = {v[0], v[1], v[2], v[3]};
  for (int lane = 4; lane < kLanes; ++lane) parts[lane - 4] += v[lane];
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

// The pass's columns, in the order of WeightRows and padded to whole tiles, and with the exponential taken apart where
// that is possible: exp(LeakyReLU(row_z + col_z) - shift) scale = row_up * col_up for z > 0, row_down * col_down for z
// <= 0.
struct Columns {
  int64_t padded = 0;  // positions, rounded up to whole tiles
  int64_t stride = 0;  // width, rounded up to whole halves of strips
  bool factorised = false;
  std::vector<float> z, up, down, shift, scale, factor;  // [padded]
  std::vector<float> row_up, row_down;                   // [n], by nodes
  std::vector<float> x;                                  // [padded, stride]
};

void FillFactors(const AttentionPass& pass, const WeightRows& rows, Columns& columns) {
  const uint32_t n = rows.node_count();
  // Source and target of the forward pass, whichever direction this is: the shift of a row is that of its target.
  const float* source = pass.forward() ? pass.col_z : pass.row_z;
  const float* target = pass.forward() ? pass.row_z : pass.col_z;
  const auto [smallest, largest] = std::minmax_element(source, source + n);
  const float top = *largest;
  columns.factorised = top - *smallest <= kLargestSpread;
  if (!columns.factorised) return;
  for (uint32_t j = 0; j < n; ++j) {
    const int64_t p = rows.PositionOf(j);
    const float source_up = std::exp(source[j] - top), source_down = std::exp(kLeakySlope * (source[j] - top));
    const float most = top + target[j];
    const float shift = Leaky(most, kLeakySlope);
    const float target_up = most > 0 ? 1.0f : 0.0f;  // where even the largest z is not above 0, nothing asks for it
    const float target_down = std::exp(kLeakySlope * most - shift);
    if (pass.forward()) {
      columns.up[p] = source_up;
      columns.down[p] = source_down;
      columns.row_up[j] = target_up;
      columns.row_down[j] = target_down;
      pass.row_shift[j] = shift;
    } else {
      columns.up[p] = target_up * pass.col_scale[j];
      columns.down[p] = target_down * pass.col_scale[j];
      columns.row_up[j] = source_up;
      columns.row_down[j] = source_down;
    }
  }
}

Columns MakeColumns(const AttentionPass& pass, const WeightRows& rows) {
  const uint32_t n = rows.node_count();
  Columns columns;
  columns.padded = (rows.positions() + kTile - 1) / kTile * kTile;
  constexpr int kHalf = kStrip / 2;
  columns.stride = (pass.width + kHalf - 1) / kHalf * kHalf;
  for (auto* list : {&columns.z, &columns.up, &columns.down, &columns.shift, &columns.scale, &columns.factor}) {
    list->assign(columns.padded, 0.0f);
  }
  columns.row_up.assign(n, 0.0f);
  columns.row_down.assign(n, 0.0f);
  columns.x.assign(columns.padded * columns.stride, 0.0f);
  for (uint32_t j = 0; j < n; ++j) {
    const int64_t p = rows.PositionOf(j);
    columns.z[p] = pass.col_z[j];
    columns.scale[p] = pass.forward() ? 1.0f : pass.col_scale[j];
    columns.factor[p] = pass.forward() ? 1.0f : pass.col_factor[j];
    if (!pass.forward()) columns.shift[p] = pass.col_shift[j];
    std::memcpy(&columns.x[p * columns.stride], pass.x + j * pass.width, pass.width * sizeof(float));
  }
  FillFactors(pass, rows, columns);
  return columns;
}

struct RowScalars {
  float z, up, down, shift;
};

// Coefficients of one row over one tile; returns through `sums` what belongs to the row's two sums, lane by lane.
template <bool kFactorised>
BLINK_INLINE void TileCoefficients(const Columns& columns, int64_t first, const RowScalars& row, const float* weight,
                                   float* coefficient, float* positive, Floats* sums) {
  for (int j = 0; j < kTile; j += kLanes) {
    const Floats z = row.z + Load(&columns.z[first + j]);
    const Ints above = z > 0.0f;
    const Floats w = Load(weight + first + j);
    Floats exponential;
    if constexpr (kFactorised) {
      exponential = Where(above, row.up * Load(&columns.up[first + j]), row.down * Load(&columns.down[first + j]));
    } else {
      const Floats e = Where(above, z, kLeakySlope * z) - row.shift - Load(&columns.shift[first + j]);
      exponential = Where(w > 0.0f, ExpOfNegative(e), Floats{}) * Load(&columns.scale[first + j]);
    }
    const Floats attention = w * exponential;
    const Floats m = w * attention;
    const Floats share = attention * Load(&columns.factor[first + j]);
    Store(coefficient + j, m);
    Store(positive + j, Where(above, m, Floats{}));
    sums[0] += share;
    sums[1] += Where(above, share, Floats{});
  }
}

// sums[kRows, stride] += coefficients[kRows, kTile] x[kTile, kVectors * kLanes]
template <int kVectors>
BLINK_INLINE void TileProduct(const float* coefficients, const float* x, int64_t stride, float* sums) {
  Floats local[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) local[r][v] = Load(sums + r * stride + v * kLanes);
  }
  for (int j = 0; j < kTile; ++j) {
    Floats of_column[kVectors];
    for (int v = 0; v < kVectors; ++v) of_column[v] = Load(x + j * stride + v * kLanes);
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) local[r][v] += coefficients[r * kTile + j] * of_column[v];
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) Store(sums + r * stride + v * kLanes, local[r][v]);
  }
}

BLINK_INLINE void Product(const float* coefficients, const Columns& columns, int64_t first, float* sums) {
  for (int64_t c = 0; c < columns.stride; c += kStrip) {
    const float* x = &columns.x[first * columns.stride + c];
    if (columns.stride - c >= kStrip) {
      TileProduct<kStrip / kLanes>(coefficients, x, columns.stride, sums + c);
    } else {
      TileProduct<kStrip / 2 / kLanes>(coefficients, x, columns.stride, sums + c);
    }
  }
}

// What a thread needs for kRows rows.
struct Scratch {
  explicit Scratch(const Columns& columns)
      : weights(kRows * columns.padded),
        coefficients(kRows * kTile),
        positive(kRows * kTile),
        y(kRows * columns.stride),
        y_positive(kRows * columns.stride) {}
  std::vector<float> weights, coefficients, positive, y, y_positive;
  float sums[kRows][2];
};

template <bool kFactorised>
struct SumFourRows {
  BLINK_INLINE static void Run(const Columns& columns, const RowScalars* rows, bool with_positive, Scratch& scratch) {
    std::fill(scratch.y.begin(), scratch.y.end(), 0.0f);
    std::fill(scratch.y_positive.begin(), scratch.y_positive.end(), 0.0f);
    Floats sums[kRows][2] = {};
    for (int64_t first = 0; first < columns.padded; first += kTile) {
      for (int r = 0; r < kRows; ++r) {
        TileCoefficients<kFactorised>(columns, first, rows[r], &scratch.weights[r * columns.padded],
                                      &scratch.coefficients[r * kTile], &scratch.positive[r * kTile], sums[r]);
      }
      Product(scratch.coefficients.data(), columns, first, scratch.y.data());
      if (with_positive) Product(scratch.positive.data(), columns, first, scratch.y_positive.data());
    }
    for (int r = 0; r < kRows; ++r) {
      scratch.sums[r][0] = SumOf(sums[r][0]);
      scratch.sums[r][1] = SumOf(sums[r][1]);
    }
  }
};

// The largest exponent of a row among the pairs that have a weight, its own node included.
float LargestExponent(const Columns& columns, float row_z, const float* weight) {
  float largest = -std::numeric_limits<float>::infinity();
  for (int64_t p = 0; p < columns.padded; ++p) {
    if (weight[p] > 0 && columns.z[p] > largest) largest = columns.z[p];
  }
  return Leaky(row_z + largest, kLeakySlope);
}

RowScalars ScalarsOf(const AttentionPass& pass, const Columns& columns, uint32_t i, const float* weight) {
  RowScalars row{.z = pass.row_z[i], .up = columns.row_up[i], .down = columns.row_down[i], .shift = 0};
  if (pass.forward() && !columns.factorised) row.shift = pass.row_shift[i] = LargestExponent(columns, row.z, weight);
  return row;
}

void StoreRow(const AttentionPass& pass, const Columns& columns, const Scratch& scratch, int r, uint32_t i) {
  const float scale = pass.forward() ? 1.0f / scratch.sums[r][0] : 1.0f;
  pass.sum[i] = pass.forward() ? scale : scratch.sums[r][0];
  for (int64_t c = 0; c < pass.width; ++c) pass.y[i * pass.width + c] = scale * scratch.y[r * columns.stride + c];
  if (pass.y_positive == nullptr) return;
  pass.sum_positive[i] = scale * scratch.sums[r][1];
  for (int64_t c = 0; c < pass.width; ++c) {
    pass.y_positive[i * pass.width + c] = scale * scratch.y_positive[r * columns.stride + c];
  }
}

// Rows `first` .. of NodeInOrder's order, kRows of them or as many as there are.
void AttendGroup(const WeightRows& pairs, const AttentionPass& pass, const Columns& columns,
                 decltype(CodeOf<SumFourRows<true>>()) sum_rows, uint32_t first, WeightRows::ClassRow& class_row,
                 Scratch& scratch) {
  const int count = static_cast<int>(std::min<uint32_t>(kRows, pairs.node_count() - first));
  RowScalars rows[kRows] = {};
  for (int r = 0; r < count; ++r) {
    float* weight = &scratch.weights[r * columns.padded];
    const uint32_t i = pairs.NodeInOrder(first + r);
    pairs.Fill(i, class_row, weight);
    rows[r] = ScalarsOf(pass, columns, i, weight);
  }
  sum_rows(columns, rows, pass.y_positive != nullptr, scratch);
  for (int r = 0; r < count; ++r) StoreRow(pass, columns, scratch, r, pairs.NodeInOrder(first + r));
}

}  // namespace

void AttendPairs(const WeightRows& pairs, const AttentionPass& pass, int threads) {
  const uint32_t n = pairs.node_count();
  const Columns columns = MakeColumns(pass, pairs);
  auto* const sum_rows = columns.factorised ? CodeOf<SumFourRows<true>>() : CodeOf<SumFourRows<false>>();
  const uint32_t groups = (n + kRows - 1) / kRows;
  std::atomic<uint32_t> next_group{0};
  RunTasks(TasksFor(int64_t{n} * n * (2 * pass.width + 20), threads), [&](int) {
    Scratch scratch(columns);
    WeightRows::ClassRow class_row;
    for (uint32_t begin; (begin = next_group.fetch_add(kGroups)) < groups;) {
      for (uint32_t group = begin; group < std::min(begin + kGroups, groups); ++group) {
        AttendGroup(pairs, pass, columns, sum_rows, group * kRows, class_row, scratch);
      }
    }
  });
}

}  // namespace blink
