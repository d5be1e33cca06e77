#include "aggregator_server/profiles/sparse_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace blink {

SparseRows::SparseRows(std::vector<uint64_t> offsets, std::vector<uint32_t> columns, std::vector<float> values,
                       uint32_t column_count)
    : offsets_(std::move(offsets)),
      columns_(std::move(columns)),
      values_(std::move(values)),
      column_count_(column_count) {
  const uint32_t rows = row_count(), blocks = (rows + kTileNodes - 1) / kTileNodes;
  key_begin_.assign(1, 0);
  entries_.reserve(columns_.size());
  struct Found {
    uint32_t column, node;
    float value;
  };
  std::vector<Found> found;
  for (uint32_t block = 0; block < blocks; ++block) {
    found.clear();
    const uint32_t first = block * kTileNodes, end = std::min(first + kTileNodes, rows);
    for (uint32_t i = first; i < end; ++i) {
      for (uint64_t e = offsets_[i]; e < offsets_[i + 1]; ++e) found.push_back({columns_[e], i - first, values_[e]});
    }
    std::sort(found.begin(), found.end(),
              [](const Found& x, const Found& y) { return std::tie(x.column, x.node) < std::tie(y.column, y.node); });
    for (size_t k = 0; k < found.size(); ++k) {
      if (k == 0 || found[k].column != found[k - 1].column) {
        keys_.push_back(found[k].column);
        entry_begin_.push_back(entries_.size());
      }
      entries_.push_back({found[k].node, found[k].value});
    }
    key_begin_.push_back(keys_.size());
  }
  entry_begin_.push_back(entries_.size());
}

void SparseProduct::Load(uint32_t block) {
  for (uint64_t k = first_key_; k < end_key_; ++k) place_[rows_.keys_[k]] = kNone;
  first_key_ = rows_.key_begin_[block];
  end_key_ = rows_.key_begin_[block + 1];
  for (uint64_t k = first_key_; k < end_key_; ++k) place_[rows_.keys_[k]] = static_cast<uint32_t>(k - first_key_);
}

void SparseProduct::Row(uint32_t row, float* out) const {
  std::fill_n(out, kTileNodes, 0.0f);
  const SparseRows& rows = rows_;
  for (uint64_t e = rows.offsets_[row]; e < rows.offsets_[row + 1]; ++e) {
    const uint32_t place = place_[rows.columns_[e]];
    if (place == kNone) continue;
    const float value = rows.values_[e];
    const uint64_t key = first_key_ + place;
    for (uint64_t k = rows.entry_begin_[key]; k < rows.entry_begin_[key + 1]; ++k) {
      out[rows.entries_[k].node] += value * rows.entries_[k].value;
    }
  }
}

}  // namespace blink
