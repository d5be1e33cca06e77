#include "aggregator_server/train/feature_rows.h"

#include <utility>

namespace blink {

FeatureRows::FeatureRows(const FeatureMatrix& features, bool normalize)
    : features_(features), normalize_(normalize), minimum_(normalize ? SmallestFeature(features) : 0.0f) {}

FeatureMatrix FeatureRows::Gather(absl::Span<const NodeIndex> nodes) const {
  FeatureMatrix rows{.rows = static_cast<uint32_t>(nodes.size()), .cols = features_.cols, .sparse = features_.sparse};
  if (rows.sparse) {
    rows.row_offsets.reserve(nodes.size() + 1);
    rows.row_offsets.push_back(0);
    for (const NodeIndex node : nodes) {
      rows.row_offsets.push_back(rows.row_offsets.back() + features_.row_offsets[node + 1] -
                                 features_.row_offsets[node]);
    }
    rows.columns.reserve(static_cast<size_t>(rows.row_offsets.back()));
    rows.values.reserve(static_cast<size_t>(rows.row_offsets.back()));
  } else {
    rows.values.reserve(nodes.size() * features_.cols);
  }
  for (const NodeIndex node : nodes) {
    const int64_t begin = rows.sparse ? features_.row_offsets[node] : static_cast<int64_t>(node) * features_.cols;
    const int64_t end = rows.sparse ? features_.row_offsets[node + 1] : begin + features_.cols;
    rows.values.insert(rows.values.end(), features_.values.begin() + begin, features_.values.begin() + end);
    if (!rows.sparse) continue;
    rows.columns.insert(rows.columns.end(), features_.columns.begin() + begin, features_.columns.begin() + end);
  }
  if (!normalize_) return rows;
  if (minimum_ != 0.0f) {
    if (rows.sparse) rows = ToDense(rows);
    for (float& value : rows.values) value -= minimum_;
  }
  DivideByRowSums(rows);
  return rows;
}

}  // namespace blink
