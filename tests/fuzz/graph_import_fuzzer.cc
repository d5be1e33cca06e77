// Graphs as people have them. What is accepted is a graph whose parts fit each other.
//
// Input: format (u8), then the file: 0 a pickle, 1 .npz, 2 Matrix Market, 3 GraphML, 4 GML, 5 .mat, 6 features as JSON,
// 7 features as Matrix Market. A pickle is also read as an array and as a matrix.
#include <cmath>

#include "tests/fuzz/fuzzing.h"
#include "tools/dataset/import/formats.h"
#include "tools/dataset/import/pickle_arrays.h"

namespace blink {
namespace {

template <typename T>
bool Accepted(const absl::StatusOr<T>& read) {
  if (!read.ok()) FUZZ_CHECK(absl::IsInvalidArgument(read.status()) && !read.status().message().empty());
  return read.ok();
}

void CheckMatrix(const FeatureMatrix& matrix) {
  if (matrix.sparse) {
    FUZZ_CHECK(matrix.row_offsets.size() == uint64_t{matrix.rows} + 1 && matrix.row_offsets.front() == 0);
    FUZZ_CHECK(matrix.row_offsets.back() == static_cast<int64_t>(matrix.values.size()));
    FUZZ_CHECK(matrix.columns.size() == matrix.values.size());
    for (uint32_t i = 0; i < matrix.rows; ++i) {
      for (int64_t k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
        FUZZ_CHECK(matrix.columns[k] >= 0 && static_cast<uint32_t>(matrix.columns[k]) < matrix.cols);
        FUZZ_CHECK(k == matrix.row_offsets[i] || matrix.columns[k - 1] < matrix.columns[k]);
      }
    }
  } else {
    FUZZ_CHECK(matrix.values.size() == uint64_t{matrix.rows} * matrix.cols);
  }
  for (const float value : matrix.values) FUZZ_CHECK(std::isfinite(value));
}

void CheckGraph(const absl::StatusOr<ImportedGraph>& read) {
  if (!Accepted(read)) return;
  const size_t n = read->edges.ids.size();
  for (const auto& [a, b] : read->edges.links) FUZZ_CHECK(a < n && b < n && a != b);
  FUZZ_CHECK(read->edges.links.size() + read->edges.self_loops_dropped == read->edges.table.lines);
  FUZZ_CHECK(read->labels.labels.size() == read->labels.rows.ids.size());
  for (const int32_t label : read->labels.labels) {
    FUZZ_CHECK(label >= -1 && label < 10'000);
    FUZZ_CHECK(read->labels.class_names.empty() || label < static_cast<int32_t>(read->labels.class_names.size()));
  }
  for (const RowIds* rows : {&read->labels.rows, &read->split.rows, &read->features.rows}) {
    FUZZ_CHECK(rows->ids.empty() || rows->ids.size() == n);
    for (const std::string& id : rows->ids) FUZZ_CHECK(read->edges.ids.Find(id).has_value());
  }
  FUZZ_CHECK(read->split.parts.size() == read->split.rows.ids.size());
  if (read->features.matrix.cols > 0) CheckMatrix(read->features.matrix);
}

void CheckPickle(absl::string_view bytes) {
  CheckGraph(ReadPickledGraph(bytes, "file"));
  const absl::StatusOr<Pickle> pickle = Pickle::Parse(bytes, "file");
  if (!Accepted(pickle)) return;
  if (const auto array = ArrayOf(pickle->root(), "file"); Accepted(array))
    FUZZ_CHECK(array->data.size() == array->items * array->item_bytes);
  if (const auto matrix = MatrixOf(pickle->root(), "file"); Accepted(matrix)) CheckMatrix(*matrix);
  Accepted(NamesIn(*pickle, "file"));
}

}  // namespace
}  // namespace blink

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace blink;
  fuzzing::Input input(data, size);
  const auto format = input.Get<uint8_t>() % 8;
  const absl::string_view bytes = input.rest();
  const ImportOptions options;
  const std::string name = "file";
  if (format == 0) CheckPickle(bytes);
  if (format == 1) CheckGraph(ReadNpzGraph(bytes, name));
  if (format == 2) CheckGraph(ReadMatrixMarketGraph(bytes, name));
  if (format == 3) CheckGraph(ReadGraphMl(bytes, name, options));
  if (format == 4) CheckGraph(ReadGml(bytes, name, options));
  if (format == 5) CheckGraph(ReadMatlabGraph(bytes, name, options));
  if (format < 6) return 0;
  const auto features = format == 6 ? ReadJsonFeatures(bytes, name) : ReadMatrixMarketFeatures(bytes, name);
  if (Accepted(features)) CheckMatrix(features->matrix);
  return 0;
}
