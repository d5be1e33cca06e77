#include "mechanisms/list_check.h"

namespace blink {

absl::Status CheckList(NodeIndex self, absl::Span<const NodeIndex> neighbours, uint32_t node_count) {
  if (self >= node_count) {
    return absl::InvalidArgumentError("the node's own index is not below the number of nodes");
  }
  BitRow seen(node_count);
  seen.Set(self);
  for (const NodeIndex j : neighbours) {
    if (j >= node_count || seen.Test(j)) {
      return absl::InvalidArgumentError(
          "an adjacency list must hold distinct nodes below the number of nodes, without the node itself; validate "
          "lists when they are loaded");
    }
    seen.Set(j);
  }
  return absl::OkStatus();
}

}  // namespace blink
