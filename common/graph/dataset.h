// Data-set folders: readers, writers, and a generator.
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

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/graph/csr_graph.h"
#include "common/graph/node_attributes.h"

namespace blink {

inline constexpr int32_t kClassesMax = 10'000;
inline constexpr size_t kClassNameBytesMax = 256;  // a result names every class

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

// What the links of a generated data set follow (classless_links.h has the last two).
enum class LinkModel { kDegreeCorrected, kRmat, kChungLu };

// A graph with features and labels. The defaults are a degree-corrected stochastic block model that resembles Cora. The
// links of the other models know nothing of the labels, so their homophily is what chance gives.
struct SyntheticOptions {
  LinkModel model = LinkModel::kDegreeCorrected;
  uint32_t nodes = 2708;
  uint32_t classes = 7;
  double mean_degree = 3.9;
  double homophily = 0.81;                                // kDegreeCorrected: share of links within a class
  std::array<double, 4> rmat = {0.57, 0.19, 0.19, 0.05};  // kRmat: shares of the quadrants; these are Graph500's
  double degree_exponent = 3;                             // kChungLu: P(degree = k) falls as k to the minus this
  uint32_t features = 1433;
  double words_per_node = 18.0;  // mean ones in a feature row
  uint64_t seed = 1;
};
absl::StatusOr<Dataset> GenerateDataset(const SyntheticOptions& options);

// Draws a split by `seed`, the same on every machine. Of the nodes with a label (0 or more), half are for training, a
// quarter for validation, and the rest for the test. Nodes without a label are in no part. Generated data sets are
// split in the same way. Returns INVALID_ARGUMENT with fewer than 4 labels, since a part would be empty.
absl::StatusOr<std::vector<Split>> DrawSplit(const std::vector<int32_t>& labels, uint64_t seed);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_DATASET_H_
