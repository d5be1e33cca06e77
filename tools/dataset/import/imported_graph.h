// What a reader of this folder makes of files: the same parts that `blink dataset convert` gets from text tables.
#ifndef BLINK_TOOLS_DATASET_IMPORT_IMPORTED_GRAPH_H_
#define BLINK_TOOLS_DATASET_IMPORT_IMPORTED_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/graph/edge_list.h"
#include "common/graph/node_tables.h"

namespace blink {

inline constexpr uint64_t kImportedLinksMax = 1'000'000'000;
inline constexpr uint32_t kImportedColumnsMax = 100'000'000;  // of features

struct ImportedGraph {
  std::string format;  // "Planetoid pickles"
  EdgeList edges;      // `ids` holds all nodes, with and without links
  LabelTable labels;   // without rows where nothing is known; so are the next two
  SplitTable split;
  FeatureTable features;  // without ids: row k belongs to node k of `edges.ids`
  std::vector<std::string> notes;
};

struct ImportOptions {
  std::string label_attribute;                  // of the nodes, that holds the labels; empty: found by its name
  std::vector<std::string> feature_attributes;  // of the nodes, that are features; empty: found by their names
};

// INVALID_ARGUMENT "name: what".
absl::Status WrongFile(absl::string_view name, absl::string_view what);

// Returns INVALID_ARGUMENT, naming the file, for more nodes than blink takes.
absl::Status CheckNodeCount(uint64_t count, absl::string_view name);

// The nodes 0 .. n-1.
NodeIds NumberedNodes(uint32_t n);
// Names, or integers where all are. Returns INVALID_ARGUMENT when one is empty, stands twice, holds a control character
// or is not UTF-8.
absl::StatusOr<NodeIds> NodesOf(const std::vector<std::string>& ids, const std::string& name);
// The same, for formats whose nodes have an order: integers that are not 0 .. n-1 are names, which keep it.
absl::StatusOr<NodeIds> NodesInOrder(const std::vector<std::string>& ids, const std::string& name);

// Counts what stands in the file, and drops a self-loop. Returns INVALID_ARGUMENT above kImportedLinksMax links.
absl::Status AddLink(NodeIndex a, NodeIndex b, EdgeList& edges, absl::string_view name);

// Rows of `name` that belong to all nodes, in their order.
RowIds RowsOfAllNodes(const NodeIds& ids, const std::string& name);

// One label for each row, "" where it is unknown (also -1, NaN, null, none, "?"). Classes are numbered in their order;
// they have names unless they are called 0 .. classes-1. Returns INVALID_ARGUMENT for a fraction, a negative label,
// more than 10,000 classes, and a name of more than 256 bytes, with a control character or not in UTF-8. `what` names
// the column.
absl::StatusOr<LabelTable> LabelsOf(const std::vector<std::string>& values, RowIds rows, absl::string_view what);
// The same for integers. A negative one is unknown. With `class_names`, the label k has the name k.
absl::StatusOr<LabelTable> LabelsOf(const std::vector<int64_t>& values, RowIds rows,
                                    std::vector<std::string> class_names, absl::string_view what);

// The split that lists of nodes give. Returns INVALID_ARGUMENT for a node in two of them, or beyond the nodes.
absl::StatusOr<SplitTable> SplitOf(const std::vector<int64_t>& train, const std::vector<int64_t>& validation,
                                   const std::vector<int64_t>& test, RowIds rows);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_IMPORTED_GRAPH_H_
