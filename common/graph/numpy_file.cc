#include "common/graph/numpy_file.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/graph/zip_archive.h"

namespace blink {
namespace {

constexpr uint32_t kFeatureColumnsMax = 100'000'000;

absl::StatusOr<FeatureMatrix> EmptyMatrix(uint64_t rows, uint64_t cols, const std::string& name) {
  if (rows > kNodesMax)
    return MalformedArray(name, absl::StrCat(rows, " rows are above the limit of ", kNodesMax, " nodes"));
  if (cols == 0)
    return absl::InvalidArgumentError(absl::StrCat(name, " has no column: give features, or leave the file out"));
  if (cols > kFeatureColumnsMax)
    return MalformedArray(name, absl::StrCat(cols, " columns are above the limit of ", kFeatureColumnsMax));
  return FeatureMatrix{.rows = static_cast<uint32_t>(rows), .cols = static_cast<uint32_t>(cols)};
}

// A row's columns ascend; SciPy does not promise it.
absl::Status SortRow(FeatureMatrix& features, uint32_t row, const std::string& path) {
  const int64_t begin = features.row_offsets[row], end = features.row_offsets[row + 1];
  auto columns = features.columns.begin();
  if (!std::is_sorted(columns + begin, columns + end)) {
    std::vector<std::pair<int32_t, float>> entries;
    for (int64_t k = begin; k < end; ++k) entries.emplace_back(features.columns[k], features.values[k]);
    std::sort(entries.begin(), entries.end());
    for (int64_t k = begin; k < end; ++k) std::tie(features.columns[k], features.values[k]) = entries[k - begin];
  }
  if (std::adjacent_find(columns + begin, columns + end) != columns + end) {
    return MalformedArray(path,
                          absl::StrCat("row ", row, " holds a column twice (call sum_duplicates() before saving)"));
  }
  return absl::OkStatus();
}

// The `count` + 1 offsets of compressed rows or columns into `entries` entries.
absl::StatusOr<std::vector<int64_t>> OffsetsOf(const NpyArray& indptr, uint64_t count, uint64_t entries,
                                               const std::string& name) {
  if (indptr.items != count + 1)
    return MalformedArray(name, "indptr must hold one offset more than there are rows, or columns in CSC form");
  std::vector<int64_t> offsets(indptr.items);
  for (uint64_t i = 0; i < indptr.items; ++i) {
    BLINK_ASSIGN_OR_RETURN(offsets[i], IntegerAt(indptr, i, name));
    const int64_t before = i == 0 ? 0 : offsets[i - 1];
    if (offsets[i] < before || offsets[i] > static_cast<int64_t>(entries) || (i == 0 && offsets[i] != 0)) {
      return MalformedArray(name, absl::StrCat("indptr[", i, "] is out of order"));
    }
  }
  if (offsets.back() != static_cast<int64_t>(entries))
    return MalformedArray(name, "indptr does not end at the last entry");
  return offsets;
}

absl::StatusOr<std::vector<int32_t>> IndicesOf(const NpyArray& indices, const char* array, uint64_t entries,
                                               uint64_t bound, const std::string& name) {
  if (indices.items != entries) return MalformedArray(name, absl::StrCat(array, " and data differ in length"));
  std::vector<int32_t> result(indices.items);
  for (uint64_t k = 0; k < indices.items; ++k) {
    BLINK_ASSIGN_OR_RETURN(const int64_t index, IntegerAt(indices, k, name));
    if (index < 0 || index >= static_cast<int64_t>(bound))
      return MalformedArray(name, absl::StrCat(array, "[", k, "] is beyond the shape"));
    result[k] = static_cast<int32_t>(index);
  }
  return result;
}

// Entries at (rows[k], columns[k]), by rows.
void FillByRows(const std::vector<int32_t>& rows, const std::vector<int32_t>& columns, const std::vector<float>& values,
                FeatureMatrix& features) {
  features.row_offsets.assign(size_t{features.rows} + 1, 0);
  for (const int32_t row : rows) ++features.row_offsets[row + 1];
  std::partial_sum(features.row_offsets.begin(), features.row_offsets.end(), features.row_offsets.begin());
  std::vector<int64_t> next(features.row_offsets.begin(), features.row_offsets.end() - 1);
  features.columns.resize(values.size());
  features.values.resize(values.size());
  for (size_t k = 0; k < values.size(); ++k) {
    const int64_t at = next[rows[k]]++;
    features.columns[at] = columns[k];
    features.values[at] = values[k];
  }
}

// Adds up entries of the same place, as SciPy does.
void SumDuplicates(FeatureMatrix& features) {
  int64_t kept = 0, begin = 0;
  for (uint32_t i = 0; i < features.rows; ++i) {
    const int64_t end = features.row_offsets[i + 1], first = kept;
    std::vector<std::pair<int32_t, float>> row;
    for (int64_t k = begin; k < end; ++k) row.emplace_back(features.columns[k], features.values[k]);
    std::stable_sort(row.begin(), row.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    for (const auto& [column, value] : row) {
      if (kept > first && features.columns[kept - 1] == column) {
        features.values[kept - 1] += value;
      } else {
        features.columns[kept] = column;
        features.values[kept++] = value;
      }
    }
    begin = end;
    features.row_offsets[i + 1] = kept;
  }
  features.columns.resize(kept);
  features.values.resize(kept);
}

absl::Status CheckFinite(const FeatureMatrix& features, const std::string& name) {
  const auto bad =
      std::find_if(features.values.begin(), features.values.end(), [](float x) { return !std::isfinite(x); });
  if (bad == features.values.end()) return absl::OkStatus();
  const int64_t at = bad - features.values.begin();
  int64_t row = features.cols > 0 ? at / features.cols : 0, column = features.cols > 0 ? at % features.cols : 0;
  if (features.sparse) {
    row = std::upper_bound(features.row_offsets.begin(), features.row_offsets.end(), at) -
          features.row_offsets.begin() - 1;
    column = features.columns[at];
  }
  return absl::InvalidArgumentError(absl::StrCat(name, ": row ", row, ", column ", column, " (both from 0) is ",
                                                 std::isnan(*bad) ? "NaN" : "infinite or too large for float32",
                                                 "; replace such values, for example by numpy.nan_to_num"));
}

// What somebody may have meant who gives an archive that save_npz did not write.
absl::Status CheckIsOfSaveNpz(const NpzArchive& archive, const std::string& archive_name) {
  const std::vector<std::string>& members = archive.members();
  if (archive.Has("format")) return absl::OkStatus();
  const std::string listed = absl::StrJoin(members, ", ").substr(0, 200);
  const absl::string_view name = members.size() == 1 ? absl::StripSuffix(members[0], ".npy") : "NAME";
  std::string remedy = absl::StrCat("python3 -c \"import numpy; numpy.save('features.npy', numpy.load('", archive_name,
                                    "')['", name, "'])\"", members.size() == 1 ? "" : " with the name of the features");
  if (archive.Has("attr_data")) {
    remedy = absl::StrCat("python3 -c \"import numpy, scipy.sparse as s; z = numpy.load('", archive_name,
                          "'); s.save_npz('features.npz', s.csr_matrix((z['attr_data'], z['attr_indices'], "
                          "z['attr_indptr']), z['attr_shape']))\"");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      archive_name, " is an archive that scipy.sparse.save_npz did not write (it holds ", listed, "); ", remedy));
}

absl::Status FillSparse(NpzArchive& archive, const std::string& form, const std::string& name,
                        FeatureMatrix& features) {
  BLINK_ASSIGN_OR_RETURN(const NpyArray data, archive.Get("data"));
  BLINK_ASSIGN_OR_RETURN(std::vector<float> values, FloatsOf(data, name));
  archive.Forget("data");
  if (form == "coo") {
    BLINK_ASSIGN_OR_RETURN(const NpyArray row, archive.Get("row"));
    BLINK_ASSIGN_OR_RETURN(const NpyArray col, archive.Get("col"));
    BLINK_ASSIGN_OR_RETURN(const std::vector<int32_t> rows, IndicesOf(row, "row", values.size(), features.rows, name));
    BLINK_ASSIGN_OR_RETURN(const std::vector<int32_t> cols, IndicesOf(col, "col", values.size(), features.cols, name));
    FillByRows(rows, cols, values, features);
    SumDuplicates(features);
    return absl::OkStatus();
  }
  BLINK_ASSIGN_OR_RETURN(const NpyArray indptr, archive.Get("indptr"));
  BLINK_ASSIGN_OR_RETURN(const NpyArray indices, archive.Get("indices"));
  const bool by_columns = form == "csc";
  BLINK_ASSIGN_OR_RETURN(std::vector<int64_t> offsets,
                         OffsetsOf(indptr, by_columns ? features.cols : features.rows, values.size(), name));
  archive.Forget("indptr");
  BLINK_ASSIGN_OR_RETURN(std::vector<int32_t> inner, IndicesOf(indices, "indices", values.size(),
                                                               by_columns ? features.rows : features.cols, name));
  archive.Forget("indices");
  if (by_columns) {
    std::vector<int32_t> columns(values.size());
    for (uint32_t c = 0; c < features.cols; ++c)
      std::fill(columns.begin() + offsets[c], columns.begin() + offsets[c + 1], c);
    FillByRows(inner, columns, values, features);
  } else {
    features.row_offsets = std::move(offsets);
    features.columns = std::move(inner);
    features.values = std::move(values);
  }
  for (uint32_t i = 0; i < features.rows; ++i) BLINK_RETURN_IF_ERROR(SortRow(features, i, name));
  return absl::OkStatus();
}

// Row by row what lies column by column.
std::vector<float> Transposed(const std::vector<float>& values, uint64_t rows, uint64_t cols) {
  std::vector<float> result(values.size());
  for (uint64_t c = 0; c < cols; ++c) {
    for (uint64_t r = 0; r < rows; ++r) result[r * cols + c] = values[c * rows + r];
  }
  return result;
}

}  // namespace

absl::StatusOr<FeatureMatrix> ReadDenseNpy(const std::string& path) {
  BLINK_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kFeatureFileBytesMax));
  return ParseDenseNpy(bytes, path);
}

absl::StatusOr<FeatureMatrix> ParseDenseNpy(absl::string_view bytes, const std::string& name) {
  BLINK_ASSIGN_OR_RETURN(const NpyArray array, ParseNpy(bytes, name));
  if (array.shape.size() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has ", array.shape.size(), array.shape.size() == 1 ? " dimension" : " dimensions",
        ", but features have two, nodes and features: write it again with numpy.save(path, x.reshape(len(x), -1))"));
  }
  BLINK_ASSIGN_OR_RETURN(FeatureMatrix features, EmptyMatrix(array.shape[0], array.shape[1], name));
  BLINK_ASSIGN_OR_RETURN(features.values, FloatsOf(array, name));
  if (array.by_columns) features.values = Transposed(features.values, features.rows, features.cols);
  BLINK_RETURN_IF_ERROR(CheckFinite(features, name));
  return features;
}

absl::Status WriteDenseNpy(const FeatureMatrix& features, const std::string& path) {
  return WriteFileAtomically(path, NpyBytes("<f4", {features.rows, features.cols}, features.values.data(),
                                            features.values.size() * sizeof(float)));
}

absl::StatusOr<FeatureMatrix> ReadSparseNpz(const std::string& path) {
  BLINK_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kFeatureFileBytesMax));
  return ParseSparseNpz(bytes, path);
}

absl::StatusOr<FeatureMatrix> ParseSparseNpz(absl::string_view bytes, const std::string& name) {
  BLINK_ASSIGN_OR_RETURN(NpzArchive archive, NpzArchive::Open(bytes, name));
  BLINK_RETURN_IF_ERROR(CheckIsOfSaveNpz(archive, name));
  BLINK_ASSIGN_OR_RETURN(const NpyArray format, archive.Get("format"));
  const std::string form(format.data.substr(0, 3));
  if (format.kind != 'S' || format.items != 1 || (form != "csr" && form != "csc" && form != "coo")) {
    return MalformedArray(name,
                          "holds a sparse matrix that is not in CSR, CSC or COO form (call tocsr() before saving)");
  }
  BLINK_ASSIGN_OR_RETURN(const NpyArray shape, archive.Get("shape"));
  if (shape.items != 2) return MalformedArray(name, "features must have two dimensions, nodes and features");
  BLINK_ASSIGN_OR_RETURN(const int64_t rows, IntegerAt(shape, 0, name));
  BLINK_ASSIGN_OR_RETURN(const int64_t cols, IntegerAt(shape, 1, name));
  if (rows < 0 || cols < 0) return MalformedArray(name, "has a negative shape");
  BLINK_ASSIGN_OR_RETURN(FeatureMatrix features, EmptyMatrix(rows, cols, name));
  features.sparse = true;
  BLINK_RETURN_IF_ERROR(FillSparse(archive, form, name, features));
  BLINK_RETURN_IF_ERROR(CheckFinite(features, name));
  return features;
}

absl::Status WriteSparseNpz(const FeatureMatrix& features, const std::string& path,
                            const std::vector<std::pair<std::string, std::string>>& more) {
  const int64_t shape[2] = {features.rows, features.cols};
  const uint64_t entries = features.values.size();
  std::vector<std::pair<std::string, std::string>> arrays = {
      {"indices", NpyBytes("<i4", {entries}, features.columns.data(), entries * sizeof(int32_t))},
      {"indptr",
       NpyBytes("<i8", {features.row_offsets.size()}, features.row_offsets.data(), features.row_offsets.size() * 8)},
      {"format", NpyBytes("|S3", {}, "csr", 3)},
      {"shape", NpyBytes("<i8", {2}, shape, sizeof(shape))},
      {"data", NpyBytes("<f4", {entries}, features.values.data(), entries * sizeof(float))},
  };
  arrays.insert(arrays.end(), more.begin(), more.end());
  return WriteNpz(std::move(arrays), path);
}

absl::Status WriteNpz(std::vector<std::pair<std::string, std::string>> arrays, const std::string& path) {
  std::vector<std::pair<std::string, std::string>> members;
  for (auto& [name, bytes] : arrays) members.emplace_back(absl::StrCat(name, ".npy"), std::move(bytes));
  return WriteZip(members, /*compressed=*/true, path);
}

}  // namespace blink
