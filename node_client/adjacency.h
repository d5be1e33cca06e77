// The lists of the nodes that one kit hosts, in compressed sparse rows: 4 bytes a link, 8 bytes a node.
#ifndef BLINK_NODE_CLIENT_ADJACENCY_H_
#define BLINK_NODE_CLIENT_ADJACENCY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/privacy/bit_row.h"

namespace blink {

// The most links and nodes of one kit, added up. Their snapshot must fit into one record of the journal, 1 GiB.
inline constexpr uint64_t kKitEntriesMax = (uint64_t{1} << 28) - 16;

struct AdjacencyLists {
  NodeIndex first = 0;                // the node of row 0
  std::vector<uint64_t> offsets;      // [nodes + 1]
  std::vector<NodeIndex> neighbours;  // ascending in each row, without the node itself

  uint32_t node_count() const { return offsets.empty() ? 0 : static_cast<uint32_t>(offsets.size() - 1); }
  absl::Span<const NodeIndex> Of(NodeIndex node) const {
    const uint64_t begin = offsets[node - first];
    return absl::MakeConstSpan(neighbours).subspan(begin, offsets[node - first + 1] - begin);
  }
  friend bool operator==(const AdjacencyLists&, const AdjacencyLists&) = default;
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_ADJACENCY_H_
