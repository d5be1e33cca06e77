// Data-set folders: edges.csv, labels.csv, split.csv, features.npz (scipy.sparse.save_npz) or features.npy,
// classes.txt.
//
// Every malformed file is INVALID_ARGUMENT naming the file, the line (1-based) and the remedy; a missing one is
// NOT_FOUND.
#ifndef BLINK_COMMON_GRAPH_DATASET_H_
#define BLINK_COMMON_GRAPH_DATASET_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/graph/csr_graph.h"
#include "common/graph/node_attributes.h"

namespace blink {

struct Dataset {
  std::string name;  // the folder's name
  CsrGraph graph;
  NodeAttributes attributes;
};

// Reads an attribute folder (all but edges.csv). FAILED_PRECONDITION when the folder holds edges: any file whose name
// starts with "edges" or "edge", or "adj", or a folder "orig" or "lists": an aggregator must not be able to see links.
absl::StatusOr<NodeAttributes> ReadAttributes(const std::string& folder);

absl::StatusOr<Dataset> ReadDataset(const std::string& folder);

// Writes the canonical form. `WriteAttributes` writes everything but edges.csv.
absl::Status WriteAttributes(const NodeAttributes& attributes, const std::string& folder);
absl::Status WriteDataset(const Dataset& dataset, const std::string& folder);

// A degree-corrected stochastic block model with features and labels; the defaults resemble Cora.
struct SyntheticOptions {
  uint32_t nodes = 2708;
  uint32_t classes = 7;
  double mean_degree = 3.9;
  double homophily = 0.81;  // share of links within a class
  uint32_t features = 1433;
  double words_per_node = 18.0;  // mean ones in a feature row
  uint64_t seed = 1;
};
absl::StatusOr<Dataset> GenerateDataset(const SyntheticOptions& options);

// A split drawn by `seed`, the same on every machine: of the nodes with a label (0 or more) half for training, a
// quarter for validation, the rest for the test, as of a generated data set; the others have none. INVALID_ARGUMENT
// with fewer than 4 labels, of which no part could be empty.
absl::StatusOr<std::vector<Split>> RandomSplit(const std::vector<int32_t>& labels, uint64_t seed);

// What `blink dataset convert` reads: one link a line, as CSV, TSV or SNAP (white space), plain or gzip, LF or CRLF,
// with or without header, '#' and '%' comments; ids integer (dense or sparse) or strings. Each link may stand once or
// twice.
struct EdgeListReport {
  uint64_t lines = 0;
  uint64_t self_loops_dropped = 0;
  uint64_t duplicates_dropped = 0;
  uint32_t nodes_added = 0;        // of `further_nodes`, those that stand on no line
  bool maybe_header = false;       // line 1 was taken for a link, but no other line has its two ids
  bool mapped = false;             // ids were not 0 .. n-1
  std::vector<std::string> names;  // [n] when mapped: the original id of each node
};
enum class EdgeListIds {
  kByFirstLine,  // integers if the first line of links has two; any other id is refused then, with its line
  kNames,        // also where some, or the first, look like numbers
};
// `further_nodes`: ids of nodes that may have no link, which an edge list alone cannot name.
absl::StatusOr<std::pair<CsrGraph, EdgeListReport>> ReadEdgeList(const std::string& path,
                                                                 const std::vector<std::string>& further_nodes = {},
                                                                 EdgeListIds ids = EdgeListIds::kByFirstLine);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_DATASET_H_
