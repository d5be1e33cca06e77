// Matrix Market (math.nist.gov/MatrixMarket/formats.html): the SuiteSparse collection and scipy.io.mmwrite.
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "tools/dataset/import/arrays.h"
#include "tools/dataset/import/formats.h"
#include "tools/dataset/import/lines.h"

namespace blink {
namespace {

constexpr char kForm[] = "expected \"%%MatrixMarket matrix coordinate|array real|integer|pattern symmetry\"";

struct Entries {
  std::vector<int64_t> shape, rows, columns;
  std::vector<float> values;
};

class MatrixReader {
 public:
  MatrixReader(absl::string_view bytes, const std::string& name) : lines_(bytes, name), name_(name) {}

  absl::StatusOr<Entries> Read() {
    BLINK_RETURN_IF_ERROR(ReadHeader());
    BLINK_RETURN_IF_ERROR(ReadSizes());
    BLINK_RETURN_IF_ERROR(array_ ? ReadArray() : ReadCoordinates());
    if (NextRow()) {
      return lines_.Error(absl::StrCat("more entries than the ", count_, " that line ", size_line_, " tells"));
    }
    return std::move(entries_);
  }

 private:
  bool NextRow() {
    while (lines_.Next()) {
      const absl::string_view line = absl::StripAsciiWhitespace(lines_.line());
      if (line.empty() || line[0] == '%') continue;
      fields_ = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
      return true;
    }
    return false;
  }

  absl::Status ReadHeader() {
    if (!lines_.Next()) return lines_.Error(kForm);
    const std::string lower = absl::AsciiStrToLower(lines_.line());
    const std::vector<std::string> words = absl::StrSplit(lower, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.size() != 5 || words[1] != "matrix") return lines_.Error(kForm);
    array_ = words[2] == "array";
    pattern_ = words[3] == "pattern";
    if ((!array_ && words[2] != "coordinate") || (array_ && pattern_)) return lines_.Error(kForm);
    if (words[3] == "complex") return lines_.Error("complex numbers are neither links nor features");
    if (!pattern_ && words[3] != "real" && words[3] != "integer" && words[3] != "double") return lines_.Error(kForm);
    symmetric_ = words[4] == "symmetric" || words[4] == "hermitian";
    skew_ = words[4] == "skew-symmetric";
    if (!symmetric_ && !skew_ && words[4] != "general") return lines_.Error(kForm);
    return absl::OkStatus();
  }

  absl::StatusOr<int64_t> Integer(size_t field, int64_t least, int64_t most) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(fields_[field], &value) || value < least || value > most) {
      return lines_.Error(
          absl::StrCat("\"", fields_[field].substr(0, 40), "\" is no integer from ", least, " to ", most));
    }
    return value;
  }

  absl::Status ReadSizes() {
    if (!NextRow()) return lines_.Error("the line of the sizes is missing; the file is cut off");
    size_line_ = lines_.number();
    if (fields_.size() != (array_ ? 2u : 3u))
      return lines_.Error(array_ ? "expected the numbers of rows and columns"
                                 : "expected the numbers of rows, columns and entries");
    BLINK_ASSIGN_OR_RETURN(const int64_t rows, Integer(0, 0, kNodesMax));
    BLINK_ASSIGN_OR_RETURN(const int64_t cols, Integer(1, 0, kImportedColumnsMax));
    entries_.shape = {rows, cols};
    if ((symmetric_ || skew_) && rows != cols) return lines_.Error("a symmetric matrix must be square");
    count_ = rows * cols;
    if (!array_) {
      BLINK_ASSIGN_OR_RETURN(count_, Integer(2, 0, kImportedLinksMax));
    }
    return absl::OkStatus();
  }

  // The entry in line `lines_`: at a place of the matrix, both from 0.
  absl::Status Add(int64_t row, int64_t column, size_t value_field) {
    float value = 1;
    if (!pattern_ && (!absl::SimpleAtof(fields_[value_field], &value) || !std::isfinite(value)))
      return lines_.Error(absl::StrCat("\"", fields_[value_field].substr(0, 40), "\" is no finite number"));
    if (value == 0) return absl::OkStatus();
    Put(row, column, value);
    if ((symmetric_ || skew_) && row != column) Put(column, row, skew_ ? -value : value);
    return absl::OkStatus();
  }
  void Put(int64_t row, int64_t column, float value) {
    entries_.rows.push_back(row);
    entries_.columns.push_back(column);
    entries_.values.push_back(value);
  }

  absl::Status CutOff(int64_t found) {
    return WrongFile(name_, absl::StrCat("holds ", found, " entries, but line ", size_line_, " tells ", count_,
                                         ": the file is cut off, or the line is wrong"));
  }

  absl::Status ReadCoordinates() {
    for (int64_t k = 0; k < count_; ++k) {
      if (!NextRow()) return CutOff(k);
      if (fields_.size() != (pattern_ ? 2u : 3u))
        return lines_.Error(pattern_ ? "expected a row and a column" : "expected a row, a column and a value");
      BLINK_ASSIGN_OR_RETURN(const int64_t row, Integer(0, 1, entries_.shape[0]));
      BLINK_ASSIGN_OR_RETURN(const int64_t column, Integer(1, 1, entries_.shape[1]));
      BLINK_RETURN_IF_ERROR(Add(row - 1, column - 1, 2));
    }
    return absl::OkStatus();
  }

  // Column by column; of a symmetric matrix what is below the diagonal.
  absl::Status ReadArray() {
    int64_t found = 0;
    for (int64_t column = 0; column < entries_.shape[1]; ++column) {
      for (int64_t row = skew_ ? column + 1 : symmetric_ ? column : 0; row < entries_.shape[0]; ++row, ++found) {
        if (!NextRow()) return CutOff(found);
        if (fields_.size() != 1) return lines_.Error("expected one value");
        BLINK_RETURN_IF_ERROR(Add(row, column, 0));
      }
    }
    return absl::OkStatus();
  }

  Lines lines_;
  const std::string& name_;
  bool array_ = false, pattern_ = false, symmetric_ = false, skew_ = false;
  int64_t count_ = 0;
  uint64_t size_line_ = 0;
  std::vector<absl::string_view> fields_;
  Entries entries_;
};

}  // namespace

absl::StatusOr<ImportedGraph> ReadMatrixMarketGraph(absl::string_view bytes, const std::string& name) {
  BLINK_ASSIGN_OR_RETURN(const Entries entries, MatrixReader(bytes, name).Read());
  if (entries.shape[0] != entries.shape[1]) {
    return WrongFile(name, absl::StrCat("the matrix has ", entries.shape[0], " rows and ", entries.shape[1],
                                        " columns, so it is no graph; give it to --features if it holds features"));
  }
  ImportedGraph graph;
  graph.format = "a Matrix Market matrix";
  graph.edges.ids = NumberedNodes(static_cast<uint32_t>(entries.shape[0]));
  graph.edges.table.name = name;
  for (size_t k = 0; k < entries.rows.size(); ++k) {
    BLINK_RETURN_IF_ERROR(AddLink(static_cast<NodeIndex>(entries.rows[k]), static_cast<NodeIndex>(entries.columns[k]),
                                  graph.edges, name));
  }
  return graph;
}

absl::StatusOr<FeatureTable> ReadMatrixMarketFeatures(absl::string_view bytes, const std::string& name) {
  BLINK_ASSIGN_OR_RETURN(const Entries entries, MatrixReader(bytes, name).Read());
  FeatureTable table;
  table.rows.table.name = name;
  BLINK_ASSIGN_OR_RETURN(RowsOfEntries rows,
                         SparseRowsOfEntries(entries.shape, entries.rows, entries.columns, entries.values, name));
  BLINK_ASSIGN_OR_RETURN(table.matrix, FeaturesOf(std::move(rows), name));
  return table;
}

}  // namespace blink
