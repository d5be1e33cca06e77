#include "tools/link_audit/feature_attack.h"

#include <cmath>
#include <cstdint>
#include <utility>

namespace blink {
namespace {

struct RowBounds {
  size_t begin = 0, end = 0;
};

RowBounds BoundsOf(const FeatureMatrix& matrix, NodeIndex i) {
  if (!matrix.sparse) return {size_t{i} * matrix.cols, (size_t{i} + 1) * matrix.cols};
  return {static_cast<size_t>(matrix.row_offsets[i]), static_cast<size_t>(matrix.row_offsets[i + 1])};
}

size_t ColumnAt(const FeatureMatrix& matrix, const RowBounds& row, size_t entry) {
  return matrix.sparse ? static_cast<size_t>(matrix.columns[entry]) : entry - row.begin;
}

}  // namespace

FeatureAttack::FeatureAttack(FeatureMatrix features) : directions_(std::move(features)) {
  for (NodeIndex i = 0; i < directions_.rows; ++i) {
    const RowBounds row = BoundsOf(directions_, i);
    double squares = 0;
    for (size_t k = row.begin; k < row.end; ++k) squares += double{directions_.values[k]} * directions_.values[k];
    if (squares == 0) continue;
    for (size_t k = row.begin; k < row.end; ++k) {
      directions_.values[k] = static_cast<float>(directions_.values[k] / std::sqrt(squares));
    }
  }
}

void FeatureAttack::ScoreRow(NodeIndex node, absl::Span<float> out) const {
  std::vector<float> own(directions_.cols);
  const RowBounds own_row = BoundsOf(directions_, node);
  for (size_t k = own_row.begin; k < own_row.end; ++k) own[ColumnAt(directions_, own_row, k)] = directions_.values[k];
  for (NodeIndex j = 0; j < out.size(); ++j) {
    const RowBounds row = BoundsOf(directions_, j);
    float cosine = 0;
    for (size_t k = row.begin; k < row.end; ++k) {
      cosine += own[ColumnAt(directions_, row, k)] * directions_.values[k];
    }
    out[j] = cosine;
  }
}

}  // namespace blink
