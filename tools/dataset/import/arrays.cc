#include "tools/dataset/import/arrays.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "tools/dataset/import/imported_graph.h"
#include "tools/dataset/import/utf8.h"

namespace blink {
namespace {

bool IsWhole(char kind) { return kind == 'i' || kind == 'u' || kind == 'b'; }

// NumPy pads texts with zeros; 'U' has four bytes a character.
std::string TextAt(const NpyArray& array, uint64_t index) {
  const absl::string_view item = array.data.substr(index * array.item_bytes, array.item_bytes);
  if (array.kind == 'S') return std::string(item.substr(0, item.find_last_not_of('\0') + 1));
  std::string text;
  for (size_t k = 0; k + 4 <= item.size(); k += 4) {
    char bytes[4];
    std::memcpy(bytes, item.data() + k, 4);
    if (array.big_endian) std::reverse(std::begin(bytes), std::end(bytes));
    uint32_t code;
    std::memcpy(&code, bytes, 4);
    if (code == 0) break;
    AppendUtf8(code, text);
  }
  return text;
}

double DoubleAt(const NpyArray& array, uint64_t index) {
  char bytes[8];
  std::memcpy(bytes, array.data.data() + index * 8, 8);
  if (array.big_endian) std::reverse(std::begin(bytes), std::end(bytes));
  double value;
  std::memcpy(&value, bytes, 8);
  return value;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> IntegersOf(const NpyArray& array, const std::string& name) {
  if (!IsWhole(array.kind) && array.kind != 'f') return WrongFile(name, "holds texts where integers are expected");
  std::vector<int64_t> integers(array.items);
  if (IsWhole(array.kind) && array.item_bytes > 1) {
    for (uint64_t k = 0; k < array.items; ++k) {
      BLINK_ASSIGN_OR_RETURN(integers[k], IntegerAt(array, k, name));
    }
    return integers;
  }
  const bool is_double = array.kind == 'f' && array.item_bytes == 8;
  std::vector<float> values;
  if (!is_double) {
    BLINK_ASSIGN_OR_RETURN(values, FloatsOf(array, name));
  }
  for (uint64_t k = 0; k < array.items; ++k) {
    const double value = is_double ? DoubleAt(array, k) : values[k];
    if (!std::isnan(value) && (value != std::floor(value) || std::abs(value) > 9e15))
      return WrongFile(name, absl::StrCat("item ", k, " (from 0) is ", value, ", which is no integer"));
    integers[k] = std::isnan(value) ? -1 : static_cast<int64_t>(value);
  }
  return integers;
}

absl::StatusOr<std::vector<std::string>> TextsOf(const NpyArray& array, const std::string& name) {
  std::vector<std::string> texts;
  if (array.kind == 'S' || array.kind == 'U') {
    for (uint64_t k = 0; k < array.items; ++k) texts.push_back(TextAt(array, k));
    return texts;
  }
  BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> integers, IntegersOf(array, name));
  for (const int64_t integer : integers) texts.push_back(absl::StrCat(integer));
  return texts;
}

absl::StatusOr<std::vector<int64_t>> LabelNumbersOf(const NpyArray& array, const std::string& name) {
  BLINK_ASSIGN_OR_RETURN(std::vector<int64_t> values, IntegersOf(array, name));
  if (array.shape.size() == 1) return values;
  if (array.shape.size() != 2) return WrongFile(name, "labels have one dimension, or two as a one-hot matrix");
  const uint64_t rows = array.shape[0], cols = array.shape[1];
  if (cols == 1) return values;
  std::vector<int64_t> labels(rows, 0);
  for (uint64_t i = 0; i < rows; ++i) {
    bool found = false;
    for (uint64_t c = 0; c < cols; ++c) {
      const int64_t value = values[array.by_columns ? c * rows + i : i * cols + c];
      if (value == 0) continue;
      if (value != 1 || found)
        return WrongFile(name, absl::StrCat("row ", i,
                                            " (from 0) has several labels, or a value that is not 0 or 1; "
                                            "blink takes one class a node: leave the labels out or choose one"));
      found = true;
      labels[i] = static_cast<int64_t>(c);
    }
  }
  return labels;
}

absl::StatusOr<RowsOfEntries> SparseRowsOf(const std::vector<int64_t>& shape, std::vector<int64_t> offsets,
                                           std::vector<int64_t> indices, std::vector<float> values, bool by_columns,
                                           const std::string& name) {
  if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0) return WrongFile(name, "the shape is not two sizes");
  const auto outer = static_cast<uint64_t>(shape[by_columns ? 1 : 0]);
  const int64_t inner = shape[by_columns ? 0 : 1];
  if (offsets.empty() || offsets.size() - 1 != outer)
    return WrongFile(name, "indptr must hold one offset more than there are rows (columns in CSC form)");
  if (indices.size() != values.size()) return WrongFile(name, "indices and data differ in length");
  if (offsets.front() != 0 || offsets.back() != static_cast<int64_t>(values.size()) ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    return WrongFile(name, "indptr does not ascend from 0 to the number of entries");
  for (size_t k = 0; k < indices.size(); ++k) {
    if (indices[k] < 0 || indices[k] >= inner)
      return WrongFile(name, absl::StrCat("indices[", k, "] is ", indices[k], ", which is beyond the shape"));
  }
  if (!by_columns) {
    return RowsOfEntries{static_cast<uint64_t>(shape[0]), static_cast<uint64_t>(shape[1]), std::move(offsets),
                         std::move(indices), std::move(values)};
  }
  std::vector<int64_t> columns(values.size());
  for (uint64_t c = 0; c < outer; ++c)
    std::fill(columns.begin() + offsets[c], columns.begin() + offsets[c + 1], static_cast<int64_t>(c));
  return SparseRowsOfEntries(shape, indices, columns, values, name);
}

absl::StatusOr<RowsOfEntries> SparseRowsOfEntries(const std::vector<int64_t>& shape, const std::vector<int64_t>& rows,
                                                  const std::vector<int64_t>& columns, const std::vector<float>& values,
                                                  const std::string& name) {
  if (shape.size() != 2 || shape[0] < 0 || shape[1] < 0) return WrongFile(name, "the shape is not two sizes");
  if (rows.size() != values.size() || columns.size() != values.size())
    return WrongFile(name, "rows, columns and values of the entries differ in length");
  if (static_cast<uint64_t>(shape[0]) > std::max<uint64_t>(kNodesMax, 1))
    return WrongFile(name, absl::StrCat(shape[0], " rows are above the limit of ", kNodesMax));
  RowsOfEntries result{static_cast<uint64_t>(shape[0]), static_cast<uint64_t>(shape[1])};
  result.offsets.assign(result.rows + 1, 0);
  for (size_t k = 0; k < rows.size(); ++k) {
    if (rows[k] < 0 || rows[k] >= shape[0] || columns[k] < 0 || columns[k] >= shape[1])
      return WrongFile(name, absl::StrCat("entry ", k, " (from 0) is beyond the shape"));
    ++result.offsets[rows[k] + 1];
  }
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  std::vector<int64_t> next(result.offsets.begin(), result.offsets.end() - 1);
  result.columns.resize(values.size());
  result.values.resize(values.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    const int64_t at = next[rows[k]]++;
    result.columns[at] = columns[k];
    result.values[at] = values[k];
  }
  return result;
}

absl::Status CheckFinite(const FeatureMatrix& features, const std::string& name) {
  for (size_t k = 0; k < features.values.size(); ++k) {
    if (std::isfinite(features.values[k])) continue;
    const auto at = static_cast<int64_t>(k);
    const auto& offsets = features.row_offsets;
    const int64_t row = features.sparse ? std::upper_bound(offsets.begin(), offsets.end(), at) - offsets.begin() - 1
                                        : at / features.cols;
    const int64_t column = features.sparse ? features.columns[k] : at % features.cols;
    return WrongFile(name, absl::StrCat("the feature in row ", row, ", column ", column,
                                        " (both from 0) is NaN, infinite or too large for float32; replace it, for "
                                        "example by numpy.nan_to_num"));
  }
  return absl::OkStatus();
}

absl::StatusOr<FeatureMatrix> FeaturesOf(RowsOfEntries rows, const std::string& name) {
  BLINK_RETURN_IF_ERROR(CheckNodeCount(rows.rows, name));
  if (rows.cols > kImportedColumnsMax)
    return WrongFile(name, absl::StrCat(rows.cols, " features are above the limit of ", kImportedColumnsMax));
  FeatureMatrix features{
      .rows = static_cast<uint32_t>(rows.rows), .cols = static_cast<uint32_t>(rows.cols), .sparse = true};
  features.row_offsets.assign(1, 0);
  std::vector<std::pair<int64_t, float>> row;
  for (uint64_t i = 0; i < rows.rows; ++i) {
    row.clear();
    for (int64_t k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) row.emplace_back(rows.columns[k], rows.values[k]);
    std::stable_sort(row.begin(), row.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    const int64_t begin = features.row_offsets.back();
    for (const auto& [column, value] : row) {
      if (static_cast<int64_t>(features.columns.size()) > begin && features.columns.back() == column) {
        features.values.back() += value;
      } else {
        features.columns.push_back(static_cast<int32_t>(column));
        features.values.push_back(value);
      }
    }
    features.row_offsets.push_back(static_cast<int64_t>(features.columns.size()));
  }
  BLINK_RETURN_IF_ERROR(CheckFinite(features, name));
  return features;
}

absl::StatusOr<FeatureMatrix> FeaturesOf(const NpyArray& array, const std::string& name) {
  if (array.shape.size() != 2) return WrongFile(name, "features must have two dimensions, nodes and features");
  BLINK_RETURN_IF_ERROR(CheckNodeCount(array.shape[0], name));
  if (array.shape[1] > kImportedColumnsMax)
    return WrongFile(name, absl::StrCat(array.shape[1], " features are above the limit of ", kImportedColumnsMax));
  FeatureMatrix features{.rows = static_cast<uint32_t>(array.shape[0]), .cols = static_cast<uint32_t>(array.shape[1])};
  BLINK_ASSIGN_OR_RETURN(features.values, FloatsOf(array, name));
  if (array.by_columns) {
    std::vector<float> turned(features.values.size());
    for (uint64_t r = 0; r < features.rows; ++r) {
      for (uint64_t c = 0; c < features.cols; ++c)
        turned[r * features.cols + c] = features.values[c * features.rows + r];
    }
    features.values = std::move(turned);
  }
  BLINK_RETURN_IF_ERROR(CheckFinite(features, name));
  return features;
}

absl::StatusOr<FeatureMatrix> Stacked(FeatureMatrix top, const FeatureMatrix& bottom, const std::string& name) {
  if (top.cols != bottom.cols) {
    return WrongFile(name, absl::StrCat("the matrices of features have ", top.cols, " and ", bottom.cols,
                                        " columns: are they of the same data set?"));
  }
  const int64_t shift = top.row_offsets.back();
  for (uint32_t i = 1; i <= bottom.rows; ++i) top.row_offsets.push_back(bottom.row_offsets[i] + shift);
  top.columns.insert(top.columns.end(), bottom.columns.begin(), bottom.columns.end());
  top.values.insert(top.values.end(), bottom.values.begin(), bottom.values.end());
  top.rows += bottom.rows;
  return top;
}

FeatureMatrix ToSparse(const FeatureMatrix& dense) {
  if (dense.sparse) return dense;
  FeatureMatrix sparse{.rows = dense.rows, .cols = dense.cols, .sparse = true};
  sparse.row_offsets.assign(1, 0);
  for (uint32_t i = 0; i < dense.rows; ++i) {
    for (uint32_t c = 0; c < dense.cols; ++c) {
      const float value = dense.values[size_t{i} * dense.cols + c];
      if (value == 0) continue;
      sparse.columns.push_back(static_cast<int32_t>(c));
      sparse.values.push_back(value);
    }
    sparse.row_offsets.push_back(static_cast<int64_t>(sparse.columns.size()));
  }
  return sparse;
}

}  // namespace blink
