// Sparse rows of numbers, and the products of all rows of one block of nodes with those of another. They serve features
// that are words, and the neighbours that two nodes have in common. A product looks up which nodes of the other block
// share a column.
#ifndef BLINK_AGGREGATOR_SERVER_PROFILES_SPARSE_ROWS_H_
#define BLINK_AGGREGATOR_SERVER_PROFILES_SPARSE_ROWS_H_

#include <cstdint>
#include <vector>

#include "aggregator_server/profiles/tile_kernels.h"
#include "common/graph/node_attributes.h"

namespace blink {

// Memory: 8 bytes an entry as rows and 8 as columns of blocks, 8 for each column of a block that has an entry.
class SparseRows {
 public:
  SparseRows() = default;
  // offsets [rows + 1] into `columns` (ascending in a row, below column_count) and `values`.
  SparseRows(std::vector<uint64_t> offsets, std::vector<uint32_t> columns, std::vector<float> values,
             uint32_t column_count);

  // Of a sparse matrix of features.
  explicit SparseRows(const FeatureMatrix& matrix)
      : SparseRows({matrix.row_offsets.begin(), matrix.row_offsets.end()},
                   {matrix.columns.begin(), matrix.columns.end()}, matrix.values, matrix.cols) {}

  bool empty() const { return columns_.empty(); }
  uint32_t row_count() const { return offsets_.empty() ? 0 : static_cast<uint32_t>(offsets_.size() - 1); }
  const std::vector<uint64_t>& offsets() const { return offsets_; }
  const std::vector<uint32_t>& columns() const { return columns_; }
  const std::vector<float>& values() const { return values_; }

 private:
  friend class SparseProduct;
  struct Entry {
    uint32_t node;  // within the block
    float value;
  };
  std::vector<uint64_t> offsets_;
  std::vector<uint32_t> columns_;
  std::vector<float> values_;
  uint32_t column_count_ = 0;
  // By block of kTileNodes rows: the columns that have entries, and where the entries of each begin.
  std::vector<uint64_t> key_begin_;    // [blocks + 1] into keys_
  std::vector<uint32_t> keys_;         // columns, ascending in a block
  std::vector<uint64_t> entry_begin_;  // [keys + 1] into entries_
  std::vector<Entry> entries_;
};

// The products with one block at a time; one for each thread.
class SparseProduct {
 public:
  explicit SparseProduct(const SparseRows& rows) : rows_(rows), place_(rows.column_count_, kNone) {}
  void Load(uint32_t block);
  // out[k] = row . row of the k-th node of the block, k < kTileNodes
  void Row(uint32_t row, float* out) const;

 private:
  static constexpr uint32_t kNone = ~0u;
  const SparseRows& rows_;
  std::vector<uint32_t> place_;  // [columns] of the key within the block that is loaded
  uint64_t first_key_ = 0, end_key_ = 0;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PROFILES_SPARSE_ROWS_H_
