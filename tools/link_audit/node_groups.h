// Of whose links an audit speaks: all nodes, those with few links, and those with many.
#ifndef BLINK_TOOLS_LINK_AUDIT_NODE_GROUPS_H_
#define BLINK_TOOLS_LINK_AUDIT_NODE_GROUPS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/graph/csr_graph.h"

namespace blink {

// The pairs of a group are those of its nodes with all others. Every link of a hub's neighbour with one link belongs to
// both outer groups.
struct NodeGroup {
  std::string name;
  uint32_t degree_min = 0, degree_max = 0;
  std::vector<NodeIndex> nodes;  // ascending
  uint64_t links = 0;            // links of its nodes; one between two of them counts twice, but not of all nodes
  uint64_t pairs = 0;            // likewise

  double density() const { return static_cast<double>(links) / static_cast<double>(pairs); }
};

enum GroupIndex : size_t { kEveryNode, kLowDegree, kHighDegree, kGroups };

// "all"; "low degree": the tenth of the nodes with a link that have the fewest, and all that have as few; "high
// degree": the tenth with the most, likewise. The graph has a link, and three nodes or more.
std::array<NodeGroup, kGroups> MakeNodeGroups(const CsrGraph& graph);

// At most `count` of the nodes, each with the same probability, ascending. All where there are no more.
std::vector<NodeIndex> SampleNodes(absl::Span<const NodeIndex> nodes, size_t count, uint64_t seed);

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_NODE_GROUPS_H_
