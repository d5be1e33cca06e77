// Links as people have them: two ids a line, in either direction or in both, in any form that TextTable reads.
#ifndef BLINK_COMMON_GRAPH_EDGE_LIST_H_
#define BLINK_COMMON_GRAPH_EDGE_LIST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/graph/node_ids.h"
#include "common/graph/text_table.h"

namespace blink {

struct EdgeListOptions {
  TableOptions table;
  // What a first row of integers is: several collections begin a file with the numbers of nodes and of links. kLink
  // also tells that a first row of words is a link, where they are known names of columns but ids of other rows too.
  enum class FirstRow { kByWhatFollows, kLink, kSizes } first_row = FirstRow::kByWhatFollows;
};

struct EdgeList {
  NodeIds ids{false};
  std::vector<std::pair<NodeIndex, NodeIndex>> links;  // of two nodes; a link may be there twice
  TableReport table;
  uint64_t self_loops_dropped = 0;
  std::string sizes;                       // the first row where it holds counts, which is no link then
  std::optional<uint32_t> nodes_by_sizes;  // the number of nodes that it tells
  bool maybe_header = false;  // the first row was read as a link of two names, but its ids are on no other row
};

// Ids are integers if those of the first row are. A later id that is none is refused then, with its line.
absl::StatusOr<EdgeList> ReadEdgeList(const std::string& path, const EdgeListOptions& options = {});
// The same for an input that is open.
absl::StatusOr<EdgeList> ReadEdgeList(std::unique_ptr<Input> input, const EdgeListOptions& options = {});

// Adds the nodes without links, so that the graph has `nodes` ones. Integer ids are 0 .. nodes - 1, or 1 .. nodes.
// Returns INVALID_ARGUMENT for other integers, for names, and when there are more nodes.
absl::Status AddNodesUpTo(uint32_t nodes, NodeIds& ids);

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_EDGE_LIST_H_
