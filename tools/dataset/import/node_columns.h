// Attributes of the nodes by their names, as GraphML, GML and tables have them: which is the label, which are the split
// and the features.
#ifndef BLINK_TOOLS_DATASET_IMPORT_NODE_COLUMNS_H_
#define BLINK_TOOLS_DATASET_IMPORT_NODE_COLUMNS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tools/dataset/import/imported_graph.h"

namespace blink {

struct NodeColumn {
  std::string name;
  std::vector<std::string> values;  // [n]; "" where a node has none
};

// Columns that are found by their names as nodes come one after the other.
class NodeColumns {
 public:
  // Sets the attribute of the node `node`. The last value counts.
  void Set(absl::string_view name, size_t node, std::string value);
  // [n] values each. Returns INVALID_ARGUMENT, naming the file, above 10,000,000 values, or one for each byte of a
  // larger file, and 100,000,000 in all: a short file can name many attributes that hardly any node has.
  absl::StatusOr<std::vector<NodeColumn>> Finish(size_t node_count, uint64_t file_bytes, const std::string& file);

 private:
  struct Column {
    std::string name;
    std::vector<std::pair<size_t, std::string>> values;  // (node, value) as they came
  };
  std::vector<Column> columns_;
  absl::flat_hash_map<std::string, size_t> index_;
};

struct ColumnRules {
  std::vector<absl::string_view> label_names;  // what may be the label, the best first, in lower case
  uint32_t features_min = 0;                   // how many columns of features there are at least
};
// Fills labels, split and features of `graph`, whose nodes are known, and notes which column was taken for what. A
// column of features ("features", "feat", "x", "attr") holds lists of numbers, "0.5, 1" or sparse "3:1 17:0.5". Returns
// INVALID_ARGUMENT, naming the column and the node, for a value that does not fit.
absl::Status TakeColumns(std::vector<NodeColumn> columns, const ColumnRules& rules, const ImportOptions& options,
                         const std::string& file, ImportedGraph& graph);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_IMPORT_NODE_COLUMNS_H_
