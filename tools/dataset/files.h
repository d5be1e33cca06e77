// The work of `blink dataset`: describes a data set, converts an edge list, cuts a graph into start-up kits.
#ifndef BLINK_TOOLS_DATASET_FILES_H_
#define BLINK_TOOLS_DATASET_FILES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/graph/dataset.h"

namespace blink {

struct DatasetSummary {
  std::string name;
  uint32_t nodes = 0, features = 0, classes = 0;
  uint64_t links = 0;
  uint32_t degree_min = 0, degree_median = 0, degree_max = 0, isolated = 0;
  double degree_mean = 0;
  double homophily = 0;  // of the links with two known labels, the share with equal ones; NaN without such links
  uint32_t train = 0, validation = 0, test = 0, unlabelled = 0;
  double feature_density = 0;  // share of the entries that are not 0
};
DatasetSummary SummariseDataset(const Dataset& dataset);

struct ConvertOptions {
  std::string input;   // an edge list in any form that ReadEdgeList takes
  std::string output;  // the folder to make; must not hold an edges.csv yet
  // Optional companions. `labels` and `split` are rows "node,label" and "node,split" of original ids, with or without a
  // header. A node that has a label but no link becomes a node without links. The rows of `features` are in the order
  // of the new ids (nodes.csv, where ids were mapped).
  std::string labels, split, features;
  std::optional<uint64_t> random_split;  // draws a split by this seed (DrawSplit); needs `labels`, not `split`
  bool names = false;                    // ids are names, even where some look like numbers
};
// Returns INVALID_ARGUMENT, naming the flag, when a split is to be drawn without labels or beside another split. Reads
// no file.
absl::Status CheckSplitOptions(const ConvertOptions& options);

// Writes edges.csv, nodes.csv ("node,id"), and the companions. Returns what CheckSplitOptions
// returns, and INVALID_ARGUMENT when
// - a companion is malformed,
// - the split names a node that neither the edge list nor the labels have,
// - the labels miss a node.
absl::StatusOr<EdgeListReport> ConvertEdgeList(const ConvertOptions& options, CsrGraph* graph);

struct ShardReport {
  uint32_t kits = 0;
  uint32_t nodes = 0;  // hosted by the kits together
};
// Writes lists.csv (0600) into each kit of `out`/kits, and the attributes into `out`/aggregator/attributes. Checks
// everything before it writes the first file: returns INVALID_ARGUMENT when a kit was made for another number of nodes,
// or when two kits host the same node.
absl::StatusOr<ShardReport> ShardDataset(const Dataset& dataset, const std::string& out);

}  // namespace blink

#endif  // BLINK_TOOLS_DATASET_FILES_H_
