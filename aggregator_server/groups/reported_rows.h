// Links as single nodes report them. What i says of j and what j says of i are two directed links.
#ifndef BLINK_AGGREGATOR_SERVER_GROUPS_REPORTED_ROWS_H_
#define BLINK_AGGREGATOR_SERVER_GROUPS_REPORTED_ROWS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/links/link_weights.h"
#include "common/privacy/bit_row.h"

namespace blink {

// Memory: 4 bytes a reported link while they arrive, 4 for the result. A training takes as much for its transpose.
class ReportedRows {
 public:
  explicit ReportedRows(uint32_t node_count) : reported_(node_count), named_by_(node_count) {}

  uint32_t node_count() const { return reported_.size(); }
  // The links that `reporter` names, in any order. INVALID_ARGUMENT: it is not below n, has reported before, or names
  // itself or a node that is not below n. Then nothing has changed.
  absl::Status Add(NodeIndex reporter, absl::Span<const NodeIndex> named);

  // Row j of the weights has the nodes that named j, so they are not symmetric: a node gets the features of those that
  // claim a link to it, as an edge list (reporter, named) does in PyG.
  absl::StatusOr<LinkWeights> Directed() &&;
  // A link between two nodes of which one names the other, or both.
  absl::StatusOr<LinkWeights> Undirected() &&;

 private:
  BitRow reported_;
  std::vector<std::vector<NodeIndex>> named_by_;  // [n]
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_GROUPS_REPORTED_ROWS_H_
