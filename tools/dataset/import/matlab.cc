// Graphs in files of MATLAB: facebook100 (Traud, Mucha and Porter 2012), and any square matrix.
#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/list_text.h"
#include "common/base/status_macros.h"
#include "tools/dataset/import/arrays.h"
#include "tools/dataset/import/formats.h"
#include "tools/dataset/import/mat_file.h"
#include "tools/dataset/import/node_columns.h"

namespace blink {
namespace {

// The columns of local_info. 0 is unknown in each of them.
constexpr const char* kPeople[] = {"student_fac", "gender", "major", "second_major", "dorm", "year", "high_school"};

const MatMatrix* Find(const std::vector<MatMatrix>& matrices, absl::string_view name) {
  const auto found = std::find_if(matrices.begin(), matrices.end(), [&](const auto& m) { return m.name == name; });
  return found == matrices.end() ? nullptr : &*found;
}

absl::StatusOr<const MatMatrix*> FindLinks(const std::vector<MatMatrix>& matrices, const std::string& name) {
  for (const char* known : {"A", "adj", "Adj", "network", "Network"}) {
    const MatMatrix* found = Find(matrices, known);
    if (found != nullptr && found->rows == found->cols) return found;
  }
  const MatMatrix* found = nullptr;
  std::vector<std::string> all;
  for (const MatMatrix& matrix : matrices) {
    all.push_back(absl::StrCat(matrix.name, " (", matrix.rows, " x ", matrix.cols, ")"));
    if (!matrix.sparse || matrix.rows != matrix.cols || matrix.rows == 0) continue;
    if (found != nullptr)
      return WrongFile(name, absl::StrCat("holds several square matrices (", found->name, ", ", matrix.name,
                                          "): call the one with the links A"));
    found = &matrix;
  }
  if (found == nullptr)
    return WrongFile(name, absl::StrCat("holds no square sparse matrix for the links; it holds ",
                                        all.empty() ? "no matrix" : ListText(all, 200)));
  return found;
}

// One column for each known value of each attribute that is not the label.
absl::StatusOr<FeatureMatrix> OneHot(const MatMatrix& people, size_t label, const std::string& name) {
  std::vector<int64_t> rows, columns;
  int64_t width = 0;
  for (size_t c = 0; c < people.cols; ++c) {
    if (c == label) continue;
    std::map<double, int64_t> column_of;
    for (uint64_t i = 0; i < people.rows; ++i) column_of[people.values[c * people.rows + i]] = 0;
    column_of.erase(0);
    for (auto& [value, column] : column_of) column = width++;
    for (uint64_t i = 0; i < people.rows; ++i) {
      const auto found = column_of.find(people.values[c * people.rows + i]);
      if (found == column_of.end()) continue;
      rows.push_back(static_cast<int64_t>(i));
      columns.push_back(found->second);
    }
  }
  BLINK_ASSIGN_OR_RETURN(RowsOfEntries sparse,
                         SparseRowsOfEntries({static_cast<int64_t>(people.rows), width}, rows, columns,
                                             std::vector<float>(rows.size(), 1.0f), name));
  return FeaturesOf(std::move(sparse), name);
}

absl::Status TakePeople(const MatMatrix& people, const ImportOptions& options, const std::string& name,
                        ImportedGraph& graph) {
  const std::string wanted = options.label_attribute.empty() ? "gender" : options.label_attribute;
  const auto* at = std::find(std::begin(kPeople), std::end(kPeople), wanted);
  if (at == std::end(kPeople))
    return WrongFile(name, absl::StrCat("the people have no attribute \"", wanted, "\" (--label-attribute); they have ",
                                        absl::StrJoin(kPeople, ", ")));
  const size_t label = at - std::begin(kPeople);
  for (size_t k = 0; k < people.values.size(); ++k) {
    if (!std::isfinite(people.values[k]))
      return WrongFile(name,
                       absl::StrCat("row ", k % people.rows + 1, " of local_info holds a value that is not finite"));
  }
  std::vector<std::string> labels;
  for (uint64_t i = 0; i < people.rows; ++i) {
    const double value = people.values[label * people.rows + i];
    labels.push_back(value == 0 ? std::string() : absl::StrCat(value));
  }
  BLINK_ASSIGN_OR_RETURN(graph.labels, LabelsOf(labels, RowsOfAllNodes(graph.edges.ids, name), wanted));
  BLINK_ASSIGN_OR_RETURN(graph.features.matrix, OneHot(people, label, name));
  graph.features.rows.table.name = name;
  graph.notes.push_back(absl::StrCat(name, ": the label is ", wanted, " (0 is unknown), the other columns of ",
                                     "local_info are one-hot features; --label-attribute chooses another of ",
                                     absl::StrJoin(kPeople, ", ")));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportedGraph> ReadMatlabGraph(absl::string_view bytes, const std::string& name,
                                              const ImportOptions& options) {
  if (!options.feature_attributes.empty())
    return WrongFile(name, "a file of MATLAB has no choice of features: leave --feature-attributes out");
  BLINK_ASSIGN_OR_RETURN(const std::vector<MatMatrix> matrices, ReadMatFile(bytes, name));
  BLINK_ASSIGN_OR_RETURN(const MatMatrix* links, FindLinks(matrices, name));
  BLINK_RETURN_IF_ERROR(CheckNodeCount(links->rows, name));
  const MatMatrix* people = Find(matrices, "local_info");
  const bool facebook =
      people != nullptr && !people->sparse && people->rows == links->rows && people->cols == std::size(kPeople);
  ImportedGraph graph;
  graph.format = facebook ? "a network of facebook100" : absl::StrCat("the matrix ", links->name, " of a MATLAB file");
  graph.edges.table.name = name;
  graph.edges.ids = NumberedNodes(static_cast<uint32_t>(links->rows));
  for (uint64_t c = 0; c < links->cols; ++c) {
    const int64_t begin = links->sparse ? links->offsets[c] : static_cast<int64_t>(c * links->rows);
    const int64_t end = links->sparse ? links->offsets[c + 1] : static_cast<int64_t>((c + 1) * links->rows);
    for (int64_t k = begin; k < end; ++k) {
      if (links->values[k] == 0) continue;
      const int64_t row = links->sparse ? links->indices[k] : k - begin;
      BLINK_RETURN_IF_ERROR(AddLink(static_cast<NodeIndex>(row), static_cast<NodeIndex>(c), graph.edges, name));
    }
  }
  if (facebook) {
    BLINK_RETURN_IF_ERROR(TakePeople(*people, options, name, graph));
  } else if (!options.label_attribute.empty()) {
    return WrongFile(name, "holds no attributes of nodes for --label-attribute: give --labels FILE");
  }
  return graph;
}

}  // namespace blink
