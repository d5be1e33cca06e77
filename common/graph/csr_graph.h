// An undirected simple graph in compressed sparse rows. Each link is stored in both directions. The neighbours of a
// node ascend, and there are no self-loops.
#ifndef BLINK_COMMON_GRAPH_CSR_GRAPH_H_
#define BLINK_COMMON_GRAPH_CSR_GRAPH_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/privacy/bit_row.h"

namespace blink {

class CsrGraph {
 public:
  CsrGraph() = default;
  // Builds the graph from undirected links, in any order and direction. A link may be given more than once.
  // Returns INVALID_ARGUMENT for a self-loop, or an end that is not below node_count.
  static absl::StatusOr<CsrGraph> FromLinks(uint32_t node_count, std::vector<std::pair<NodeIndex, NodeIndex>> links);
  // Takes finished rows: offsets [n + 1] into neighbours [2 * links]. The caller makes sure that they are symmetric;
  // this is not checked. Returns INVALID_ARGUMENT when a row does not ascend, has a self-loop, or an end that is not
  // below n.
  static absl::StatusOr<CsrGraph> FromRows(std::vector<uint64_t> offsets, std::vector<NodeIndex> neighbours);

  uint32_t node_count() const { return offsets_.empty() ? 0 : static_cast<uint32_t>(offsets_.size() - 1); }
  uint64_t link_count() const { return neighbours_.size() / 2; }  // undirected
  absl::Span<const NodeIndex> NeighboursOf(NodeIndex i) const {
    return absl::MakeConstSpan(neighbours_).subspan(offsets_[i], offsets_[i + 1] - offsets_[i]);
  }
  uint32_t DegreeOf(NodeIndex i) const { return static_cast<uint32_t>(offsets_[i + 1] - offsets_[i]); }
  bool HasLink(NodeIndex i, NodeIndex j) const;
  absl::Span<const uint64_t> offsets() const { return offsets_; }         // [n + 1]
  absl::Span<const NodeIndex> neighbours() const { return neighbours_; }  // [2 * links]

 private:
  std::vector<uint64_t> offsets_;
  std::vector<NodeIndex> neighbours_;
};

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_CSR_GRAPH_H_
