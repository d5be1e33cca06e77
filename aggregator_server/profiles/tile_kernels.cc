#include "aggregator_server/profiles/tile_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/simd/instruction_set.h"
#include "common/simd/vector_code.h"

namespace blink {
namespace {

// log(x) of a positive normal number, relative error below 1e-6 away from 1 (Cephes' logf).
BLINK_INLINE float LogOf(float x) {
  const int32_t bits = std::bit_cast<int32_t>(x);
  // m in [sqrt(1/2), sqrt(2))
  const int32_t shifted = bits - 0x3f3504f3;
  const int32_t exponent = shifted >> 23;
  const float m = std::bit_cast<float>((shifted & 0x7fffff) + 0x3f3504f3) - 1.0f;
  const float e = static_cast<float>(exponent);
  const float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  p = p * m * z - 2.12194440e-4f * e - 0.5f * z;
  return m + p + 0.693359375f * e;
}

// 1 / sqrt(x) of a positive normal number, relative error below 1e-6: a guess from the bits and Newton's steps, which
// GCC makes vectors of, as it does not of sqrtf.
BLINK_INLINE float InverseRootOf(float x) {
  float y = std::bit_cast<float>(0x5f3759df - (std::bit_cast<int32_t>(x) >> 1));
  for (int step = 0; step < 3; ++step) y *= 1.5f - 0.5f * x * y * y;
  return y;
}

// Not one type with the length as its parameter: GCC 12 loads only the first lane of such.
template <int kLanesOf>
struct VectorOf {
  static_assert(kLanesOf == kLanes);
  using Type = Floats;
  using Integers = Ints;
  BLINK_INLINE static Type Load(const float* from) { return blink::Load(from); }
  BLINK_INLINE static void Store(float* to, Type value) { blink::Store(to, value); }
};
template <>
struct VectorOf<16> {
  using Type = float __attribute__((vector_size(64), aligned(4), may_alias));
  using Integers = int32_t __attribute__((vector_size(64), aligned(4), may_alias));
  // memcpy, as Load and Store of vector_code.h.
  BLINK_INLINE static Type Load(const float* from) {
    Type value;
    __builtin_memcpy(&value, from, sizeof(value));
    return value;
  }
  BLINK_INLINE static void Store(float* to, Type value) { __builtin_memcpy(to, &value, sizeof(value)); }
};

template <int kLanesOf>
struct MultiplyBody {
  using Vector = typename VectorOf<kLanesOf>::Type;
  // sums[kRows][kVectors] and what is multiplied fill the registers: 32 of AVX-512 and of NEON, 16 of AVX2
  static constexpr int kRows = kLanesOf == 16 ? 8 : 4;
  static constexpr int kVectors = kLanesOf == 4 ? 4 : 2;
  static constexpr int kColumns = kVectors * kLanesOf;

  BLINK_INLINE static void Block(const float* a, size_t a_stride, const float* b, size_t depth, bool add, float* out,
                                 size_t out_stride) {
    Vector sums[kRows][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float* from = out + r * out_stride;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] = add ? VectorOf<kLanesOf>::Load(from + v * kLanesOf) : Vector{};
    }
    for (size_t d = 0; d < depth; ++d) {
      Vector row[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) row[v] = VectorOf<kLanesOf>::Load(b + d * kPanelColumns + v * kLanesOf);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        const float x = a[r * a_stride + d];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[r][v] += x * row[v];
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) VectorOf<kLanesOf>::Store(out + r * out_stride + v * kLanesOf, sums[r][v]);
    }
  }

  BLINK_INLINE static void Run(const float* a, size_t a_stride, size_t rows, const float* b, size_t depth,
                               size_t panels, bool add, float* out, size_t out_stride) {
    for (size_t panel = 0; panel < panels; ++panel) {
      const float* of_panel = b + panel * depth * kPanelColumns;
      for (size_t c = 0; c < kPanelColumns; c += kColumns) {
        for (size_t r = 0; r < rows; r += kRows) {
          Block(a + r * a_stride, a_stride, of_panel + c, depth, add, out + r * out_stride + panel * kPanelColumns + c,
                out_stride);
        }
      }
    }
  }
};

struct LogBody {
  BLINK_INLINE static void Run(const float* x, float factor, float shift, float* out) {
    for (uint32_t j = 0; j < kTileNodes; ++j) out[j] = LogOf(shift + factor * x[j]);
  }
};

struct EvidenceBody {
  BLINK_INLINE static void Run(const uint8_t* own, const uint8_t* other, float own_reports, const float* reports,
                               float weight, float* out) {
    for (uint32_t byte = 0; byte < kTileNodes / 8; ++byte) {
      for (uint32_t bit = 0; bit < 8; bit += kLanes) {
        const uint32_t j = 8 * byte + bit;
        const Ints one = MaskOf(own[byte] >> bit) + MaskOf(other[byte] >> bit);
        const Floats ones = -__builtin_convertvector(one, Floats);
        Store(out + j, (2.0f * ones - own_reports - Load(reports + j)) * weight);
      }
    }
  }
};

struct WithoutOwnBitsBody {
  BLINK_INLINE static void Run(const float* evidence, float own_bit, float own_reports, const float* reports,
                               float own_influence, const float* influence, float* base) {
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      const float others = reports[j];  // 0 or 1, as own_reports
      const float any = own_reports + others - own_reports * others, inverse = any - 0.5f * own_reports * others;
      base[j] -= (own_influence + influence[j]) * (0.5f * any + evidence[j] * (own_bit * inverse));
    }
  }
};

struct CurveBody {
  BLINK_INLINE static void Run(const Curve& curve, const float* x, float* log_odds) {
    const float slope = curve.slope, square = curve.square;
    for (uint32_t j = 0; j < kTileNodes; ++j) log_odds[j] += x[j] * (slope + square * x[j]);
    for (int k = 0; k < curve.hinge_count; ++k) {
      const float of_hinge = curve.hinge_slopes[k], hinge = curve.hinges[k];
      for (uint32_t j = 0; j < kTileNodes; ++j) log_odds[j] += of_hinge * (x[j] < hinge ? x[j] : hinge);
    }
  }
};

struct NeighboursBody {
  BLINK_INLINE static void Run(const float* s_ij, const float* s_ji, const float* previous, float own_i,
                               const float* own, float sum_i, const float* sum, float* out) {
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      const float p = previous[j];
      const float rest_i = sum_i - p, rest_j = sum[j] - p;  // rounding may put them below 0
      out[j] = (s_ij[j] - p * own[j]) / ((rest_i > 0 ? rest_i : 0) + 0.5f) +
               (s_ji[j] - p * own_i) / ((rest_j > 0 ? rest_j : 0) + 0.5f);
    }
  }
};

struct OverlapBody {
  BLINK_INLINE static void Run(const float* common, const float* previous, float sum_i, const float* sum, float* out) {
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      const float rest_i = sum_i - previous[j], rest_j = sum[j] - previous[j];  // as above
      out[j] = common[j] * InverseRootOf(((rest_i > 0 ? rest_i : 0) + 0.5f) * ((rest_j > 0 ? rest_j : 0) + 0.5f));
    }
  }
};

// In vectors by hand: the conditions keep GCC from making them of a loop.
template <int kLanesOf>
struct ProbabilityBody {
  using Vector = typename VectorOf<kLanesOf>::Type;
  using Integers = typename VectorOf<kLanesOf>::Integers;

  // yes where the mask is -1, 0 elsewhere
  BLINK_INLINE static Vector Masked(Integers mask, Vector yes) {
    return reinterpret_cast<Vector>(reinterpret_cast<Integers>(yes) & mask);
  }
  // ExpOfNegative of common/simd/vector_code.h; 0 of NaN.
  BLINK_INLINE static Vector ExpOf(Vector x) {
    constexpr float kLeast = -87;
    const Integers within = x >= kLeast;
    const Vector inside = Masked(within, x);
    const Integers k = __builtin_convertvector(inside * 1.44269504f - 0.5f, Integers);  // rounds a negative number
    const Vector whole = __builtin_convertvector(k, Vector);
    const Vector r = (inside - whole * 0.693359375f) + whole * 2.12194440e-4f;
    Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return Masked(within, (p * r * r + r + 1.0f) * reinterpret_cast<Vector>((k + 127) << 23));
  }
  BLINK_INLINE static float Run(const float* evidence, float* log_odds, float* probability) {
    Vector sums = {};
    for (uint32_t j = 0; j < kTileNodes; j += kLanesOf) {
      const Vector x = VectorOf<kLanesOf>::Load(log_odds + j) + VectorOf<kLanesOf>::Load(evidence + j);
      const Integers negative = x < 0;
      const Vector size = reinterpret_cast<Vector>(reinterpret_cast<Integers>(x) & 0x7fffffff), e = ExpOf(-size);
      const Vector p = (Masked(negative, e) + Masked(~negative, e * 0 + 1.0f)) / (1.0f + e);
      VectorOf<kLanesOf>::Store(log_odds + j, x);
      VectorOf<kLanesOf>::Store(probability + j, p);
      sums += p;
    }
    float total = 0;
    for (int lane = 0; lane < kLanesOf; ++lane) total += sums[lane];
    return total;
  }
};

struct MaximaBody {
  BLINK_INLINE static void Run(const float* x, float* maxima) {
    for (uint32_t part = 0; part < kTileNodes / 16; ++part) {
      float lanes[16];
      for (int k = 0; k < 16; ++k) lanes[k] = x[16 * part + k];
      for (int half = 8; half > 0; half /= 2) {
        for (int k = 0; k < half; ++k) lanes[k] = lanes[k] > lanes[k + half] ? lanes[k] : lanes[k + half];
      }
      maxima[part] = lanes[0];
    }
  }
};

struct BinBody {
  BLINK_INLINE static void Run(const float* x, float low, float per_unit, int32_t bins, int32_t* out) {
    const float last = static_cast<float>(bins - 1);
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      const float place = (x[j] - low) * per_unit;
      out[j] = static_cast<int32_t>(place > 0 ? (place < last ? place : last) : 0.0f);
    }
  }
};

// A mixer of 32 bits with little bias (Wellons, "Prospecting for Hash Functions", 2018).
struct HashBody {
  BLINK_INLINE static void Run(uint32_t seed_of_row, uint32_t first, uint32_t* out) {
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      uint32_t x = seed_of_row ^ ((first + j) * 0x9E3779B9u);
      x = (x ^ (x >> 16)) * 0x7feb352du;
      x = (x ^ (x >> 15)) * 0x846ca68bu;
      out[j] = x ^ (x >> 16);
    }
  }
};

}  // namespace

void Panels::PackTransposed(const float* from, size_t rows, size_t new_depth, size_t new_columns) {
  depth = new_depth;
  columns = new_columns;
  values.Resize(padded_columns() * depth);
  for (size_t panel = 0; panel < count(); ++panel) {
    float* to = values.data() + panel * depth * kPanelColumns;
    for (size_t k = 0; k < kPanelColumns; ++k) {
      const size_t c = panel * kPanelColumns + k;
      if (c < rows) {
        for (size_t d = 0; d < depth; ++d) to[d * kPanelColumns + k] = from[c * depth + d];
      } else {
        for (size_t d = 0; d < depth; ++d) to[d * kPanelColumns + k] = 0;
      }
    }
  }
}

void Panels::Pack(const float* from, size_t rows, size_t new_depth, size_t new_columns) {
  depth = new_depth;
  columns = new_columns;
  values.Resize(padded_columns() * depth);
  values.Fill(0);
  for (size_t panel = 0; panel < count(); ++panel) {
    float* to = values.data() + panel * depth * kPanelColumns;
    const size_t first = panel * kPanelColumns, width = std::min<size_t>(kPanelColumns, columns - first);
    for (size_t d = 0; d < rows; ++d) std::copy_n(from + d * columns + first, width, to + d * kPanelColumns);
  }
}

void MultiplyPanels(const float* a, size_t a_stride, size_t rows, const Panels& b, bool add, float* out,
                    size_t out_stride) {
  CodeOf<MultiplyBody<kLanes>, MultiplyBody<kLanes>, MultiplyBody<16>>()(a, a_stride, rows, b.values.data(), b.depth,
                                                                         b.count(), add, out, out_stride);
}

void TransposeStrip(const float* from, size_t rows, float* to, size_t to_stride) {
  constexpr size_t kSquare = 8;
  for (size_t c = 0; c < kTileNodes; c += kSquare) {
    for (size_t r = 0; r < rows; r += kSquare) {
      for (size_t y = 0; y < kSquare; ++y) {
        for (size_t x = 0; x < kSquare; ++x) to[(c + y) * to_stride + r + x] = from[(r + x) * kTileNodes + c + y];
      }
    }
  }
}

void LogRow(const float* x, float factor, float shift, float* out) {
  CodeOf<LogBody, LogBody, LogBody>()(x, factor, shift, out);
}

void EvidenceRow(const uint8_t* own, const uint8_t* other, float own_reports, const float* reports, float weight,
                 float* out) {
  CodeOf<EvidenceBody>()(own, other, own_reports, reports, weight, out);
}

void WithoutOwnBitsRow(const float* evidence, float own_bit, float own_reports, const float* reports,
                       float own_influence, const float* influence, float* base) {
  CodeOf<WithoutOwnBitsBody, WithoutOwnBitsBody, WithoutOwnBitsBody>()(evidence, own_bit, own_reports, reports,
                                                                       own_influence, influence, base);
}

void AddCurveRow(const Curve& curve, const float* x, float* log_odds) {
  CodeOf<CurveBody, CurveBody, CurveBody>()(curve, x, log_odds);
}

void NeighboursRow(const float* s_ij, const float* s_ji, const float* previous, float own_i, const float* own,
                   float sum_i, const float* sum, float* out) {
  CodeOf<NeighboursBody, NeighboursBody, NeighboursBody>()(s_ij, s_ji, previous, own_i, own, sum_i, sum, out);
}

void OverlapRow(const float* common, const float* previous, float sum_i, const float* sum, float* out) {
  CodeOf<OverlapBody, OverlapBody, OverlapBody>()(common, previous, sum_i, sum, out);
}

float ProbabilityRow(const float* evidence, float* log_odds, float* probability) {
  return CodeOf<ProbabilityBody<kLanes>, ProbabilityBody<kLanes>, ProbabilityBody<16>>()(evidence, log_odds,
                                                                                         probability);
}

void MaximaRow(const float* x, float* maxima) { CodeOf<MaximaBody, MaximaBody, MaximaBody>()(x, maxima); }

void BinRow(const float* x, float low, float per_unit, int32_t bins, int32_t* out) {
  CodeOf<BinBody, BinBody, BinBody>()(x, low, per_unit, bins, out);
}

void HashRow(uint32_t seed_of_row, uint32_t first, uint32_t* out) {
  CodeOf<HashBody, HashBody, HashBody>()(seed_of_row, first, out);
}

}  // namespace blink
