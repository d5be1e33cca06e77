// Data-set folders, and what fills them: readers, writers, a generator, and the import of edge lists.
//
//   edges.csv                      the links; an attribute folder must not have it
//   labels.csv                     optional where nodes.csv lists the nodes; -1 where a label is unknown
//   nodes.csv                      optional where labels.csv lists the nodes: what the data's owner calls each node
//   split.csv                      optional; a node without a line is in no part
//   features.npz or features.npy   optional, as scipy.sparse.save_npz or numpy.save write them
//   classes.txt                    optional: the names of the classes
//
// Without labels.csv all labels are -1 (NodeAttributes::has_labels).
//
// A malformed file is INVALID_ARGUMENT, and the message names the file, the line (from 1) and the remedy. A missing
// file is NOT_FOUND.
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

// Reads an attribute folder: all but edges.csv. An aggregator must not be able to see links. So the result is
// FAILED_PRECONDITION when a name in the folder looks like links: "edge", "adjac", "neighb" or "links" anywhere in it,
// "adj" at its beginning, or exactly "orig", "lists" or "lists.csv".
absl::StatusOr<NodeAttributes> ReadAttributes(const std::string& folder);

absl::StatusOr<Dataset> ReadDataset(const std::string& folder);

// Both write the canonical form. WriteAttributes writes everything but edges.csv. Of nodes.csv, labels.csv, split.csv
// and classes.txt it leaves out what would say nothing.
absl::Status WriteAttributes(const NodeAttributes& attributes, const std::string& folder);
absl::Status WriteDataset(const Dataset& dataset, const std::string& folder);

// A degree-corrected stochastic block model with features and labels. The defaults resemble Cora.
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

// Draws a split by `seed`, the same on every machine. Of the nodes with a label (0 or more), half are for training, a
// quarter for validation, and the rest for the test. Nodes without a label are in no part. Generated data sets are
// split in the same way. Returns INVALID_ARGUMENT with fewer than 4 labels, since a part would be empty.
absl::StatusOr<std::vector<Split>> DrawSplit(const std::vector<int32_t>& labels, uint64_t seed);

// What ReadEdgeList found in a file.
struct EdgeListReport {
  uint64_t lines = 0;
  uint64_t self_loops_dropped = 0;
  uint64_t duplicates_dropped = 0;
  uint32_t nodes_added = 0;        // how many of `further_nodes` are on no line
  bool maybe_header = false;       // line 1 was read as a link, but its two ids are on no other line
  bool mapped = false;             // ids were not 0 .. n-1
  std::vector<std::string> names;  // [n] when mapped: the original id of each node
};
enum class EdgeListIds {
  kByFirstLine,  // integers if the first link has two integers, and then any other id is refused with its line
  kNames,        // names, also where some of them look like numbers
};
// Reads the edge list that `blink dataset convert` is given: one link on each line, in either direction or in both.
// Columns are separated by commas, tabs or white space (CSV, TSV, SNAP). Lines end with LF or CRLF. A header, comments
// that begin with '#' or '%', and gzip are understood. Ids are integers or strings.
//
// `further_nodes` are ids of nodes that may have no link, since an edge list alone cannot name these.
absl::StatusOr<std::pair<CsrGraph, EdgeListReport>> ReadEdgeList(const std::string& path,
                                                                 const std::vector<std::string>& further_nodes = {},
                                                                 EdgeListIds ids = EdgeListIds::kByFirstLine);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_DATASET_H_
