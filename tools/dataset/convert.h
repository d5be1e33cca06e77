// `blink dataset convert`: a graph as people have it becomes a data-set folder.
#ifndef BLINK_TOOLS_DATASET_CONVERT_H_
#define BLINK_TOOLS_DATASET_CONVERT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/graph/dataset.h"
#include "common/graph/edge_list.h"
#include "tools/dataset/import/imported_graph.h"

namespace blink {

// What row k of features without ids belongs to: the k-th smallest id, or node k of nodes.csv.
enum class RowOrder { kUnknown, kIdsSorted, kAsIs };

struct ConvertOptions {
  // The links (common/graph/edge_list.h), or a file or a folder with a whole graph (import/import.h). "-" is standard
  // input, here and below.
  std::string input;
  std::string output;  // the folder to make; must not exist, or be empty
  // Optional companions (common/graph/node_tables.h), by original ids. A node that has a label or features, but no
  // link, becomes a node without links. They replace what the input holds itself.
  std::string labels, split, features;
  std::string feature_ids;  // of the rows of `features`, one a line
  std::vector<std::string> columns, label_columns, split_columns, feature_columns,
      feature_id_column;  // as TableOptions has them
  std::string comment = "auto";
  bool names = false;  // ids are names, even where some look like numbers
  EdgeListOptions::FirstRow first_row = EdgeListOptions::FirstRow::kByWhatFollows;
  std::optional<uint32_t> nodes;         // how many there are, with those that no file names
  std::optional<uint64_t> random_split;  // draws a split by this seed (DrawSplit); needs labels, not `split`
  RowOrder row_order = RowOrder::kUnknown;
  ImportOptions attributes;  // of an input that holds a whole graph
};

// INVALID_ARGUMENT, naming the flag, for options that contradict each other. Reads no file.
absl::Status CheckConvertOptions(const ConvertOptions& options);

struct ConvertReport {
  std::string format;  // what the input is, where it holds a whole graph: "GraphML"
  uint64_t lines = 0;  // of the edge list; links as the input has them, where it is something else
  uint64_t duplicates_dropped = 0, self_loops_dropped = 0;
  bool renumbered = false;            // ids were not 0 .. n-1
  std::vector<std::string> notes;     // what was skipped, added or left out, one sentence each
  std::vector<std::string> warnings;  // what may be a mistake
};
struct Converted {
  Dataset dataset;
  ConvertReport report;
};

// Reads all inputs, each once, and checks them. Returns INVALID_ARGUMENT, naming the file and the line of the user,
// where they are malformed, do not fit each other, or could be understood in two ways.
absl::StatusOr<Converted> ReadGraph(const ConvertOptions& options);

// Writes the folder `output`, which appears when it is complete. Nothing is left behind after a refusal.
absl::StatusOr<Converted> ConvertToDataset(const ConvertOptions& options);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_CONVERT_H_
