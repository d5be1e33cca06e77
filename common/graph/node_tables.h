// What people have about the nodes of a graph: labels, splits and features, by the nodes' ids. Texts are read in any
// form that TextTable reads.
#ifndef BLINK_COMMON_GRAPH_NODE_TABLES_H_
#define BLINK_COMMON_GRAPH_NODE_TABLES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/graph/node_attributes.h"
#include "common/graph/text_table.h"

namespace blink {

// The ids of the rows of a table, with the lines that they are on.
struct RowIds {
  TableReport table;
  std::vector<std::string> ids;
  std::vector<uint64_t> lines;
  absl::Status Error(size_t row, absl::string_view what) const;
};

struct LabelTable {
  RowIds rows;
  std::vector<int32_t> labels;           // by the row, 0 .. classes - 1, or -1: unknown
  std::vector<std::string> class_names;  // empty where the labels were 0 .. classes - 1
};
// An integer or a name is a class; classes are numbered in their order. A label is unknown where the field is empty,
// -1, NaN, NA, null, none, unknown, unlabelled or "?". Returns INVALID_ARGUMENT for a label below -1 or above 9999, a
// fraction, more than 10,000 classes, and a table without a row.
absl::StatusOr<LabelTable> ReadLabelTable(const std::string& path, const TableOptions& options);

struct SplitTable {
  RowIds rows;
  std::vector<Split> parts;  // by the row
};
// One column of parts (train, training; val, valid, validation, dev; test; none), or masks: columns train_mask,
// val_mask and test_mask of true and false. Returns INVALID_ARGUMENT for another value, and for a node of two masks.
absl::StatusOr<SplitTable> ReadSplitTable(const std::string& path, const TableOptions& options);

struct FeatureTable {
  RowIds rows;  // without ids where the file has none
  FeatureMatrix matrix;
};
// A NumPy array, a SciPy matrix, or text: numbers, after a column of ids if `has_ids`. Returns INVALID_ARGUMENT for a
// value that is no finite number, naming its row and column.
absl::StatusOr<FeatureTable> ReadFeatureTable(const std::string& path, const TableOptions& options, bool has_ids);
// The same for an input that is open.
absl::StatusOr<FeatureTable> ReadFeatureTable(std::unique_ptr<Input> input, const TableOptions& options, bool has_ids);

// One id a line: of the rows of a file that has none.
absl::StatusOr<RowIds> ReadIdTable(const std::string& path, const TableOptions& options);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_NODE_TABLES_H_
