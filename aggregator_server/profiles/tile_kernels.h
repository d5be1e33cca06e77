// The inner loops over a tile of pairs: small products of matrices, and functions of a row of pairs. Everything is laid
// out so that a loop runs over the kTileNodes columns of a tile, whatever the number of nodes: what stands in columns
// past the last node is computed and never used.
#ifndef BLINK_AGGREGATOR_SERVER_PROFILES_TILE_KERNELS_H_
#define BLINK_AGGREGATOR_SERVER_PROFILES_TILE_KERNELS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace blink {

inline constexpr uint32_t kTileNodes = 256;    // pairs of kTileNodes x kTileNodes nodes are a tile
inline constexpr uint32_t kStripRows = 32;     // rows of a tile that are computed together: they stay in the caches
inline constexpr uint32_t kPanelColumns = 32;  // columns of a packed matrix that stand side by side
// Log-odds of what is no pair: P is 0, exactly.
inline constexpr float kNever = -1e30f;

// Floats at a multiple of a cache line, for vectors of any length.
class AlignedFloats {
 public:
  void Resize(size_t size) {
    if (size > size_) values_.reset(new (std::align_val_t{kAlignment}) float[size]());
    size_ = std::max(size, size_);
  }  // to at least this size; the values are lost
  void Fill(float value) { std::fill_n(values_.get(), size_, value); }
  float* data() { return values_.get(); }
  const float* data() const { return values_.get(); }

 private:
  static constexpr size_t kAlignment = 64;
  struct Delete {
    void operator()(float* values) const { ::operator delete[](values, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<float[], Delete> values_;
  size_t size_ = 0;
};

// A matrix [depth, columns] as MultiplyPanels wants it: panels of kPanelColumns columns,
// [panels][depth][kPanelColumns], columns past the last are zeros.
struct Panels {
  size_t depth = 0, columns = 0;
  AlignedFloats values;
  size_t count() const { return (columns + kPanelColumns - 1) / kPanelColumns; }
  size_t padded_columns() const { return count() * kPanelColumns; }
  // matrix[d][c] = from[c * depth + d]: rows that become columns, e.g. those of the nodes of a tile. [columns, depth]
  void PackTransposed(const float* from, size_t rows, size_t depth, size_t columns);
  // matrix[d][c] = from[d * columns + c], of which `rows` are there and zeros follow. [depth, columns]
  void Pack(const float* from, size_t rows, size_t depth, size_t columns);
};

// out[r][c] (+)= sum_d a[r][d] b[d][c], r < rows (a multiple of 8), c < b.padded_columns(). Each entry is summed in the
// order of d.
void MultiplyPanels(const float* a, size_t a_stride, size_t rows, const Panels& b, bool add, float* out,
                    size_t out_stride);

// to[c][r] = from[r][c] for r < rows, c < kTileNodes.
void TransposeStrip(const float* from, size_t rows, float* to, size_t to_stride);

// All below: rows of kTileNodes floats.

// log(shift + factor * x), of positive numbers.
void LogRow(const float* x, float factor, float shift, float* out);

// What the bits say: (ones - zeros) * weight from the bits of both directions, 32 bytes each; `reports` [kTileNodes] of
// the other end, 0 or 1.
void EvidenceRow(const uint8_t* own, const uint8_t* other, float own_reports, const float* reports, float weight,
                 float* out);

// base -= (own_influence + influence) * b, b what the pair's own bits add to the sums of its ends
// (DegreePosterior::OwnBits): of R > 0 reports, 1/2 + evidence * own_bit / R.
void WithoutOwnBitsRow(const float* evidence, float own_bit, float own_reports, const float* reports,
                       float own_influence, const float* influence, float* base);

// A function of one quantity of a pair: slope x + square x^2 + the sum of hinge_slopes[k] min(x, hinges[k]).
struct Curve {
  static constexpr int kHingesMax = 4;
  float slope = 0, square = 0;
  int hinge_count = 0;
  float hinge_slopes[kHingesMax] = {}, hinges[kHingesMax] = {};
  bool IsZero() const {
    return slope == 0 && square == 0 &&
           std::all_of(hinge_slopes, hinge_slopes + hinge_count, [](float s) { return s == 0; });
  }
};
// log_odds += curve(x)
void AddCurveRow(const Curve& curve, const float* x, float* log_odds);

// Two features of the neighbours of both ends, from sums over all pairs of the previous posterior: the mean of what
// node i's neighbours have in common with j and the reverse, each without the pair's own part.
//   out = (s_ij - P own_j) / (sum_i - P + 1/2) + (s_ji - P own_i) / (sum_j - P + 1/2)
void NeighboursRow(const float* s_ij, const float* s_ji, const float* previous, float own_i, const float* own,
                   float sum_i, const float* sum, float* out);

// common / sqrt((sum_i - P + 1/2) (sum_j - P + 1/2)): common neighbours as a share of what both ends have.
void OverlapRow(const float* common, const float* previous, float sum_i, const float* sum, float* out);

// log_odds += evidence, probability = sigma(log_odds); returns the sum of the probabilities.
float ProbabilityRow(const float* evidence, float* log_odds, float* probability);

// [kTileNodes / 16] the largest of each 16.
void MaximaRow(const float* x, float* maxima);

// Which of so many bins of `per_unit` to a unit, from `low` on, a value is in; what is outside is in the first or last.
void BinRow(const float* x, float low, float per_unit, int32_t bins, int32_t* out);

// 32 well-mixed bits for each of the columns first, first + 1 ..
void HashRow(uint32_t seed_of_row, uint32_t first, uint32_t* out);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PROFILES_TILE_KERNELS_H_
