// Planetoid's pickles (Yang, Cohen and Salakhutdinov 2016): ind.NAME.x, .tx, .allx, .y, .ty, .ally, .graph and
// .test.index.
//
// allx holds the features of the nodes 0 .. m-1, and ally their one-hot labels; x and y are its first rows, which are
// for training. Row k of tx and ty belongs to the node on line k of test.index. As PyG's read_planetoid_data has it, a
// number that is missing between these nodes (CiteSeer) is a node with features of 0 and the label 0, and the 500 nodes
// after the training nodes are for validation.
#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "tools/dataset/import/arrays.h"
#include "tools/dataset/import/formats.h"
#include "tools/dataset/import/lines.h"
#include "tools/dataset/import/pickle_arrays.h"

namespace blink {
namespace {

constexpr int64_t kValidationNodes = 500;

class PlanetoidReader {
 public:
  explicit PlanetoidReader(const Folder& folder) : folder_(folder) {}

  absl::StatusOr<ImportedGraph> Read() {
    graph_.format = "Planetoid pickles";
    BLINK_RETURN_IF_ERROR(ReadTestIndex());
    BLINK_RETURN_IF_ERROR(ReadFeatures());
    BLINK_RETURN_IF_ERROR(ReadLinks());
    BLINK_RETURN_IF_ERROR(ReadLabelsAndSplit());
    return std::move(graph_);
  }

 private:
  struct Part {
    std::string name, bytes;
  };
  absl::StatusOr<Part> ReadPart(absl::string_view end) const {
    BLINK_ASSIGN_OR_RETURN(const FolderFile* file, folder_.FindByEnd(end));
    if (file == nullptr)
      return WrongFile(folder_.path(), absl::StrCat("a file ind.NAME", end, " is missing; Planetoid has eight files"));
    BLINK_ASSIGN_OR_RETURN(std::string bytes, folder_.Read(*file));
    return Part{folder_.PathOf(*file), std::move(bytes)};
  }
  absl::StatusOr<FeatureMatrix> ReadMatrix(absl::string_view end, std::string& name) const {
    BLINK_ASSIGN_OR_RETURN(const Part part, ReadPart(end));
    name = part.name;
    BLINK_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(part.bytes, part.name));
    return MatrixOf(pickle.root(), part.name);
  }
  absl::StatusOr<std::vector<int64_t>> ReadLabels(absl::string_view end, std::string& name) const {
    BLINK_ASSIGN_OR_RETURN(const Part part, ReadPart(end));
    name = part.name;
    BLINK_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(part.bytes, part.name));
    BLINK_ASSIGN_OR_RETURN(const NpyArray array, ArrayOf(pickle.root(), part.name));
    if (array.shape.empty()) return WrongFile(part.name, "is one value, not one label for each node");
    return LabelNumbersOf(array, part.name);
  }

  absl::Status ReadTestIndex() {
    BLINK_ASSIGN_OR_RETURN(const Part part, ReadPart(".test.index"));
    test_name_ = part.name;
    Lines lines(part.bytes, part.name);
    while (lines.Next()) {
      const absl::string_view line = absl::StripAsciiWhitespace(lines.line());
      if (line.empty()) continue;
      int64_t node = 0;
      if (!absl::SimpleAtoi(line, &node) || node < 0 || node >= kNodesMax)
        return lines.Error(absl::StrCat("\"", line.substr(0, 40), "\" is no node from 0 to ", kNodesMax - 1));
      test_.push_back(node);
    }
    return absl::OkStatus();
  }

  // How many rows a file must have, and has.
  absl::Status CheckRows(const std::string& name, uint64_t rows, uint64_t expected, absl::string_view by) const {
    if (rows == expected) return absl::OkStatus();
    return WrongFile(
        name, absl::StrCat("has ", rows, " rows, but ", by, " has ", expected, ": are they of the same data set?"));
  }

  absl::Status ReadFeatures() {
    std::string all_name, test_name;
    BLINK_ASSIGN_OR_RETURN(FeatureMatrix all, ReadMatrix(".allx", all_name));
    BLINK_ASSIGN_OR_RETURN(const FeatureMatrix test, ReadMatrix(".tx", test_name));
    BLINK_RETURN_IF_ERROR(CheckRows(test_name, test.rows, test_.size(), test_name_));
    known_ = all.rows;
    const int64_t most = test_.empty() ? -1 : *std::max_element(test_.begin(), test_.end());
    nodes_ = std::max<int64_t>(known_, most + 1);
    BLINK_RETURN_IF_ERROR(CheckNodeCount(nodes_, test_name_));
    row_of_.assign(nodes_, -1);
    for (size_t k = 0; k < test_.size(); ++k) {
      if (test_[k] < known_)
        return WrongFile(test_name_, absl::StrCat("line ", k + 1, ": node ", test_[k], " is one of the ", known_,
                                                  " nodes that ", all_name, " holds"));
      if (row_of_[test_[k]] >= 0)
        return WrongFile(test_name_, absl::StrCat("line ", k + 1, ": node ", test_[k], " stands twice"));
      row_of_[test_[k]] = static_cast<int64_t>(k);
    }
    missing_ = std::count(row_of_.begin() + known_, row_of_.end(), -1);
    BLINK_ASSIGN_OR_RETURN(graph_.features.matrix, Stacked(std::move(all), InOrder(test), test_name));
    graph_.features.rows.table.name = all_name;
    graph_.edges.ids = NumberedNodes(static_cast<uint32_t>(nodes_));
    if (missing_ > 0) {
      graph_.notes.push_back(absl::StrCat(test_name_, ": ", missing_,
                                          " nodes between the test nodes are missing; their features are 0 and their "
                                          "label is 0, as in PyG"));
    }
    return absl::OkStatus();
  }

  // The rows of the nodes after the known ones; nothing where there is none.
  FeatureMatrix InOrder(const FeatureMatrix& test) const {
    FeatureMatrix rows{.rows = static_cast<uint32_t>(nodes_ - known_), .cols = test.cols, .sparse = true};
    rows.row_offsets.assign(1, 0);
    for (int64_t node = known_; node < nodes_; ++node) {
      if (const int64_t row = row_of_[node]; row >= 0) {
        const int64_t begin = test.row_offsets[row], end = test.row_offsets[row + 1];
        rows.columns.insert(rows.columns.end(), test.columns.begin() + begin, test.columns.begin() + end);
        rows.values.insert(rows.values.end(), test.values.begin() + begin, test.values.begin() + end);
      }
      rows.row_offsets.push_back(static_cast<int64_t>(rows.columns.size()));
    }
    return rows;
  }

  absl::Status ReadLinks() {
    BLINK_ASSIGN_OR_RETURN(const Part part, ReadPart(".graph"));
    graph_.edges.table.name = part.name;
    BLINK_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(part.bytes, part.name));
    BLINK_ASSIGN_OR_RETURN(const PickledLists lists, AdjacencyOf(pickle, part.name));
    for (const auto& [a, b] : lists.entries) {
      if (std::min(a, b) < 0 || std::max(a, b) >= nodes_)
        return WrongFile(part.name, absl::StrCat("the link from ", a, " to ", b, " is beyond the ", nodes_, " nodes"));
      BLINK_RETURN_IF_ERROR(AddLink(static_cast<NodeIndex>(a), static_cast<NodeIndex>(b), graph_.edges, part.name));
    }
    return absl::OkStatus();
  }

  absl::Status ReadLabelsAndSplit() {
    std::string all_name, test_name, train_name, x_name;
    BLINK_ASSIGN_OR_RETURN(std::vector<int64_t> labels, ReadLabels(".ally", all_name));
    BLINK_RETURN_IF_ERROR(CheckRows(all_name, labels.size(), known_, graph_.features.rows.table.name));
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> test, ReadLabels(".ty", test_name));
    BLINK_RETURN_IF_ERROR(CheckRows(test_name, test.size(), test_.size(), test_name_));
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> train, ReadLabels(".y", train_name));
    BLINK_ASSIGN_OR_RETURN(const FeatureMatrix x, ReadMatrix(".x", x_name));
    BLINK_RETURN_IF_ERROR(CheckRows(train_name, train.size(), x.rows, x_name));
    if (train.size() > labels.size() || !std::equal(train.begin(), train.end(), labels.begin()))
      return WrongFile(train_name, absl::StrCat("is not the beginning of ", all_name, ": are they of the same set?"));
    labels.resize(nodes_, 0);
    for (size_t k = 0; k < test_.size(); ++k) labels[test_[k]] = test[k];
    BLINK_ASSIGN_OR_RETURN(graph_.labels, LabelsOf(labels, RowsOfAllNodes(graph_.edges.ids, all_name), {}, "label"));
    std::vector<int64_t> for_training(train.size()), for_validation;
    std::iota(for_training.begin(), for_training.end(), 0);
    const auto first = static_cast<int64_t>(train.size());
    for (int64_t node = first; node < std::min(first + kValidationNodes, known_); ++node)
      for_validation.push_back(node);
    BLINK_ASSIGN_OR_RETURN(graph_.split,
                           SplitOf(for_training, for_validation, test_, RowsOfAllNodes(graph_.edges.ids, test_name_)));
    return absl::OkStatus();
  }

  const Folder& folder_;
  std::string test_name_;
  std::vector<int64_t> test_;    // the nodes of tx and ty, in the order of their rows
  std::vector<int64_t> row_of_;  // [nodes]: the row of tx, or -1
  int64_t known_ = 0, nodes_ = 0, missing_ = 0;
  ImportedGraph graph_;
};

}  // namespace

absl::StatusOr<ImportedGraph> ReadPlanetoid(const Folder& folder) { return PlanetoidReader(folder).Read(); }

absl::StatusOr<ImportedGraph> ReadPickledGraph(absl::string_view bytes, const std::string& name) {
  BLINK_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(bytes, name));
  BLINK_ASSIGN_OR_RETURN(const PickledLists lists, AdjacencyOf(pickle, name));
  ImportedGraph graph;
  graph.format = "a pickled dictionary of neighbours";
  graph.edges.table.name = name;
  graph.edges.ids = NodeIds(true);
  for (const int64_t node : lists.nodes) graph.edges.ids.AddInteger(node);
  BLINK_RETURN_IF_ERROR(CheckNodeCount(graph.edges.ids.size(), name));
  for (const auto& [from, to] : lists.entries) {
    const NodeIndex a = graph.edges.ids.AddInteger(from), b = graph.edges.ids.AddInteger(to);
    BLINK_RETURN_IF_ERROR(CheckNodeCount(graph.edges.ids.size(), name));
    BLINK_RETURN_IF_ERROR(AddLink(a, b, graph.edges, name));
  }
  graph.notes.push_back(
      absl::StrCat(name, ": holds links alone; of Planetoid's files give the folder, for features, labels and split"));
  return graph;
}

}  // namespace blink
