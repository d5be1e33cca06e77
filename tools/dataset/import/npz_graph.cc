// Graphs as archives of NumPy arrays. The layouts, by the arrays that they hold:
//
//   adj_data adj_indices adj_indptr adj_shape, attr_* or attr_matrix, labels   gnn-benchmark, graph2gauss, Nettack
//   adj_matrix.data .., attr_matrix.data .., labels                            SparseGraph
//   edges, node_features, node_labels, train_masks ..                          heterophilous-graphs
//   edges or edge_index, features or x, target or y, train_mask ..             PyG's raw files, and our own export
//   format data indices indptr shape                                           scipy.sparse.save_npz: links alone
#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/list_text.h"
#include "common/base/status_macros.h"
#include "common/graph/zip_archive.h"
#include "tools/dataset/import/arrays.h"
#include "tools/dataset/import/formats.h"
#include "tools/dataset/import/pickle_arrays.h"

namespace blink {
namespace {

class NpzReader {
 public:
  NpzReader(NpzArchive archive, const std::string& name) : archive_(std::move(archive)), name_(name) {
    graph_.edges.table.name = name;
  }

  absl::StatusOr<ImportedGraph> Read() {
    for (const char* prefix : {"adj_", "adj_matrix.", "adj_matrix_", "adj."}) {
      if (archive_.Has(absl::StrCat(prefix, "indptr"))) return ReadCompressed(prefix);
    }
    for (const char* links : {"edge_index", "edges"}) {
      if (archive_.Has(links)) return ReadLinks(links);
    }
    if (archive_.Has("format")) return ReadMatrix();
    return WrongFile(name_, absl::StrCat("the archive holds ", ListText(archive_.members(), 200),
                                         ", which is no graph that blink knows. With NumPy: numpy.savez('graph.npz', "
                                         "edge_index=E, x=X, y=Y), where E "
                                         "has the shape [2, links], X one row and Y one label for each node"));
  }

 private:
  // The first of the arrays that is there; "" without one.
  std::string FirstOf(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (archive_.Has(name)) return name;
    }
    return "";
  }
  std::string Member(const std::string& array) const { return absl::StrCat(name_, " (", array, ".npy)"); }

  absl::StatusOr<std::vector<int64_t>> Integers(const std::string& array) {
    BLINK_ASSIGN_OR_RETURN(const NpyArray read, archive_.Get(array));
    return IntegersOf(read, Member(array));
  }

  absl::StatusOr<RowsOfEntries> Compressed(const std::string& prefix, bool by_columns) {
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, Integers(prefix + "shape"));
    BLINK_ASSIGN_OR_RETURN(std::vector<int64_t> offsets, Integers(prefix + "indptr"));
    BLINK_ASSIGN_OR_RETURN(std::vector<int64_t> indices, Integers(prefix + "indices"));
    BLINK_ASSIGN_OR_RETURN(const NpyArray data, archive_.Get(prefix + "data"));
    BLINK_ASSIGN_OR_RETURN(std::vector<float> values, FloatsOf(data, Member(prefix + "data")));
    return SparseRowsOf(shape, std::move(offsets), std::move(indices), std::move(values), by_columns,
                        absl::StrCat(name_, " (", prefix, "*)"));
  }

  absl::Status TakeNodes(uint64_t count) {
    BLINK_RETURN_IF_ERROR(CheckNodeCount(count, name_));
    graph_.edges.ids = NumberedNodes(static_cast<uint32_t>(count));
    return absl::OkStatus();
  }
  RowIds AllRows(const std::string& array) const { return RowsOfAllNodes(graph_.edges.ids, Member(array)); }

  absl::Status TakeAdjacency(const RowsOfEntries& adjacency) {
    if (adjacency.rows != adjacency.cols)
      return WrongFile(name_, absl::StrCat("the matrix of links has ", adjacency.rows, " rows and ", adjacency.cols,
                                           " columns: it must be square"));
    for (uint64_t i = 0; i < adjacency.rows; ++i) {
      for (int64_t k = adjacency.offsets[i]; k < adjacency.offsets[i + 1]; ++k) {
        if (adjacency.values[k] == 0) continue;
        BLINK_RETURN_IF_ERROR(
            AddLink(static_cast<NodeIndex>(i), static_cast<NodeIndex>(adjacency.columns[k]), graph_.edges, name_));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ImportedGraph> ReadMatrix() {
    graph_.format = "a matrix of scipy.sparse.save_npz";
    BLINK_ASSIGN_OR_RETURN(const NpyArray format, archive_.Get("format"));
    const absl::string_view form = format.data.substr(0, 3);
    RowsOfEntries rows;
    if (form == "coo") {
      BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, Integers("shape"));
      BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> row, Integers("row"));
      BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> col, Integers("col"));
      BLINK_ASSIGN_OR_RETURN(const NpyArray data, archive_.Get("data"));
      BLINK_ASSIGN_OR_RETURN(const std::vector<float> values, FloatsOf(data, Member("data")));
      BLINK_ASSIGN_OR_RETURN(rows, SparseRowsOfEntries(shape, row, col, values, name_));
    } else if (form == "csr" || form == "csc") {
      BLINK_ASSIGN_OR_RETURN(rows, Compressed("", form == "csc"));
    } else {
      return WrongFile(name_, "the matrix is not in CSR, CSC or COO form (call tocsr() before saving)");
    }
    BLINK_RETURN_IF_ERROR(TakeNodes(rows.rows));
    BLINK_RETURN_IF_ERROR(TakeAdjacency(rows));
    return std::move(graph_);
  }

  absl::StatusOr<ImportedGraph> ReadCompressed(const std::string& prefix) {
    graph_.format = "an archive of gnn-benchmark or SparseGraph";
    BLINK_ASSIGN_OR_RETURN(const RowsOfEntries adjacency, Compressed(prefix, false));
    BLINK_RETURN_IF_ERROR(TakeNodes(adjacency.rows));
    BLINK_RETURN_IF_ERROR(TakeNames());
    BLINK_RETURN_IF_ERROR(TakeAdjacency(adjacency));
    for (const char* attributes : {"attr_", "attr_matrix.", "attr_matrix_", "attr."}) {
      if (!archive_.Has(absl::StrCat(attributes, "indptr"))) continue;
      BLINK_ASSIGN_OR_RETURN(RowsOfEntries rows, Compressed(attributes, false));
      const std::string arrays = absl::StrCat(name_, " (", attributes, "*)");
      BLINK_ASSIGN_OR_RETURN(graph_.features.matrix, FeaturesOf(std::move(rows), arrays));
      graph_.features.rows.table.name = arrays;
    }
    BLINK_RETURN_IF_ERROR(TakeDense(FirstOf({"attr_matrix", "features", "x"})));
    BLINK_RETURN_IF_ERROR(TakeLabels(FirstOf({"labels", "y", "z"})));
    BLINK_RETURN_IF_ERROR(TakeSplit());
    return Finish();
  }

  absl::StatusOr<ImportedGraph> ReadLinks(const std::string& array) {
    graph_.format = absl::StrCat("an archive of NumPy arrays (", array, " ..)");
    BLINK_ASSIGN_OR_RETURN(const NpyArray links, archive_.Get(array));
    const auto& shape = links.shape;
    if (shape.size() != 2 || (shape[0] != 2 && shape[1] != 2))
      return WrongFile(Member(array), "links must have the shape [2, links] or [links, 2]");
    // A list of two links has both shapes. An edge_index lies the one way, and edges the other.
    const bool pairs = shape[1] == 2 && (shape[0] != 2 || array == "edges");
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> ends, IntegersOf(links, Member(array)));
    const std::string features = FirstOf({"node_features", "features", "x"});
    const std::string labels = FirstOf({"node_labels", "labels", "label", "target", "y"});
    BLINK_ASSIGN_OR_RETURN(const uint64_t nodes, CountNodes(ends, features, labels));
    BLINK_RETURN_IF_ERROR(TakeNodes(nodes));
    const uint64_t count = ends.size() / 2;
    const bool together = pairs != links.by_columns;  // the ends of a link
    for (uint64_t k = 0; k < count; ++k) {
      const int64_t a = ends[together ? 2 * k : k], b = ends[together ? 2 * k + 1 : count + k];
      for (const int64_t end : {a, b}) {
        if (end < 0 || end >= static_cast<int64_t>(nodes))
          return WrongFile(Member(array), absl::StrCat("link ", k, " (from 0) has the end ", end, ", but there are ",
                                                       nodes, " nodes, from 0"));
      }
      BLINK_RETURN_IF_ERROR(AddLink(static_cast<NodeIndex>(a), static_cast<NodeIndex>(b), graph_.edges, name_));
    }
    BLINK_RETURN_IF_ERROR(TakeNames());
    BLINK_RETURN_IF_ERROR(TakeDense(features));
    BLINK_RETURN_IF_ERROR(TakeLabels(labels));
    BLINK_RETURN_IF_ERROR(TakeSplit());
    return Finish();
  }

  // By the features, the labels, num_nodes, or the largest end of a link.
  absl::StatusOr<uint64_t> CountNodes(const std::vector<int64_t>& ends, const std::string& features,
                                      const std::string& labels) {
    if (archive_.Has("num_nodes")) {
      BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> count, Integers("num_nodes"));
      if (count.size() != 1 || count[0] < 0) return WrongFile(Member("num_nodes"), "must be one number");
      BLINK_RETURN_IF_ERROR(CheckNodeCount(static_cast<uint64_t>(count[0]), Member("num_nodes")));
      return static_cast<uint64_t>(count[0]);
    }
    for (const std::string& array : {features, labels}) {
      if (array.empty()) continue;
      BLINK_ASSIGN_OR_RETURN(const NpyArray read, archive_.GetAny(array));
      if (!read.shape.empty()) return read.shape[0];
    }
    const auto most = std::max_element(ends.begin(), ends.end());
    return most == ends.end() ? 0 : static_cast<uint64_t>(std::max<int64_t>(*most, -1) + 1);
  }

  absl::Status TakeDense(const std::string& array) {
    if (array.empty() || graph_.features.matrix.cols > 0) return absl::OkStatus();
    BLINK_ASSIGN_OR_RETURN(const NpyArray read, archive_.Get(array));
    BLINK_ASSIGN_OR_RETURN(graph_.features.matrix, FeaturesOf(read, Member(array)));
    graph_.features.rows.table.name = Member(array);
    return absl::OkStatus();
  }

  // Texts, or objects in a pickle: a dictionary {k: name} or a list.
  absl::StatusOr<std::vector<std::string>> Names(const std::string& array) {
    BLINK_ASSIGN_OR_RETURN(const NpyArray read, archive_.GetAny(array));
    if (read.kind != 'O') return TextsOf(read, Member(array));
    BLINK_ASSIGN_OR_RETURN(const Pickle pickle, Pickle::Parse(read.data, Member(array)));
    return NamesIn(pickle, Member(array));
  }

  absl::Status TakeNames() {
    const std::string array = FirstOf({"node_names", "idx_to_node"});
    if (array.empty()) return absl::OkStatus();
    BLINK_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names(array));
    if (names.size() != graph_.edges.ids.size())
      return WrongFile(Member(array), absl::StrCat(names.size(), " names for ", graph_.edges.ids.size(), " nodes"));
    absl::StatusOr<NodeIds> ids = NodesOf(names, Member(array));
    // Integers would be put into their order, and rows belong to the nodes in this one.
    if (ids.ok() && ids->are_integers()) {
      NodeIds texts(false);
      for (const std::string& name : names) texts.AddName(name);
      ids = std::move(texts);
    }
    if (!ids.ok()) {
      graph_.notes.push_back(absl::StrCat(ids.status().message(), "; the nodes keep their numbers instead"));
      return absl::OkStatus();
    }
    graph_.edges.ids = *std::move(ids);
    return absl::OkStatus();
  }

  absl::Status TakeLabels(const std::string& array) {
    if (array.empty()) return absl::OkStatus();
    BLINK_ASSIGN_OR_RETURN(const NpyArray read, archive_.GetAny(array));
    if (!read.shape.empty() && read.shape[0] != graph_.edges.ids.size())
      return WrongFile(Member(array), absl::StrCat(read.shape[0], " labels for ", graph_.edges.ids.size(), " nodes"));
    if (read.shape.empty()) return WrongFile(Member(array), "is one value, not one label for each node");
    if (read.kind == 'U' || read.kind == 'S') {
      BLINK_ASSIGN_OR_RETURN(const std::vector<std::string> texts, TextsOf(read, Member(array)));
      BLINK_ASSIGN_OR_RETURN(graph_.labels, LabelsOf(texts, AllRows(array), "label"));
      return absl::OkStatus();
    }
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> labels, LabelNumbersOf(read, Member(array)));
    std::vector<std::string> class_names;
    if (const std::string names = FirstOf({"class_names", "idx_to_class"}); !names.empty()) {
      BLINK_ASSIGN_OR_RETURN(class_names, Names(names));
    }
    BLINK_ASSIGN_OR_RETURN(graph_.labels, LabelsOf(labels, AllRows(array), std::move(class_names), "label"));
    return absl::OkStatus();
  }

  // The nodes of a mask [n], or of the first of several [n, k] or [k, n].
  absl::StatusOr<std::vector<int64_t>> Masked(const std::string& array) {
    std::vector<int64_t> nodes;
    if (array.empty()) return nodes;
    const uint64_t n = graph_.edges.ids.size();
    BLINK_ASSIGN_OR_RETURN(const NpyArray read, archive_.Get(array));
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> values, IntegersOf(read, Member(array)));
    uint64_t step = 1;
    if (read.shape.size() == 2 && read.shape[1] == n) {
      step = read.by_columns ? read.shape[0] : 1;
    } else if (read.shape.size() == 2 && read.shape[0] == n) {
      step = read.by_columns ? 1 : read.shape[1];
    } else if (read.shape.size() != 1 || read.shape[0] != n) {
      return WrongFile(Member(array), absl::StrCat("is no mask of ", n, " nodes"));
    }
    if (read.shape.size() == 2 && read.items == 0) return nodes;
    if (read.shape.size() == 2) splits_ = std::max(splits_, read.items / n);
    for (uint64_t i = 0; i < n; ++i) {
      if (values[i * step] != 0) nodes.push_back(static_cast<int64_t>(i));
    }
    return nodes;
  }

  absl::Status TakeSplit() {
    const std::string train = FirstOf({"train_mask", "train_masks"});
    const std::string validation = FirstOf({"val_mask", "val_masks", "valid_mask"});
    const std::string test = FirstOf({"test_mask", "test_masks"});
    if (train.empty() && validation.empty() && test.empty()) return absl::OkStatus();
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> in_train, Masked(train));
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> in_validation, Masked(validation));
    BLINK_ASSIGN_OR_RETURN(const std::vector<int64_t> in_test, Masked(test));
    BLINK_ASSIGN_OR_RETURN(graph_.split, SplitOf(in_train, in_validation, in_test, AllRows(train)));
    if (splits_ > 1) {
      graph_.notes.push_back(absl::StrCat(name_, ": the first of ", splits_,
                                          " splits is taken; --split FILE gives "
                                          "another"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ImportedGraph> Finish() {
    const FeatureMatrix& features = graph_.features.matrix;
    if (features.cols > 0 && features.rows != graph_.edges.ids.size())
      return WrongFile(graph_.features.rows.table.name,
                       absl::StrCat(features.rows, " rows of features for ", graph_.edges.ids.size(), " nodes"));
    return std::move(graph_);
  }

  NpzArchive archive_;
  const std::string& name_;
  uint64_t splits_ = 0;
  ImportedGraph graph_;
};

}  // namespace

absl::StatusOr<ImportedGraph> ReadNpzGraph(absl::string_view bytes, const std::string& name) {
  BLINK_ASSIGN_OR_RETURN(NpzArchive archive, NpzArchive::Open(bytes, name));
  return NpzReader(std::move(archive), name).Read();
}

}  // namespace blink
