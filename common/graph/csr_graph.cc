#include "common/graph/csr_graph.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace blink {

absl::StatusOr<CsrGraph> CsrGraph::FromLinks(uint32_t node_count, std::vector<std::pair<NodeIndex, NodeIndex>> links) {
  for (auto& [a, b] : links) {
    if (a >= node_count || b >= node_count) {
      return absl::InvalidArgumentError(
          absl::StrCat("the link ", a, "-", b, " has an end that is not below the number of nodes, ", node_count));
    }
    if (a == b)
      return absl::InvalidArgumentError(absl::StrCat("node ", a, " is linked to itself: remove the self-loop"));
    if (a > b) std::swap(a, b);
  }
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  CsrGraph graph;
  graph.offsets_.assign(static_cast<size_t>(node_count) + 1, 0);
  for (const auto& [a, b] : links) {
    ++graph.offsets_[a + 1];
    ++graph.offsets_[b + 1];
  }
  for (uint32_t i = 0; i < node_count; ++i) graph.offsets_[i + 1] += graph.offsets_[i];
  graph.neighbours_.resize(2 * links.size());
  std::vector<uint64_t> next(graph.offsets_.begin(), graph.offsets_.end() - 1);
  // In the order of (a, b): the smaller neighbours of a node come first if they are written before the larger ones.
  for (const auto& [a, b] : links) graph.neighbours_[next[b]++] = a;
  for (const auto& [a, b] : links) graph.neighbours_[next[a]++] = b;
  return graph;
}

absl::StatusOr<CsrGraph> CsrGraph::FromRows(std::vector<uint64_t> offsets, std::vector<NodeIndex> neighbours) {
  if (offsets.empty() || offsets[0] != 0 || offsets.back() != neighbours.size()) {
    return absl::InvalidArgumentError("the offsets of a graph's rows must lead from 0 to the number of neighbours");
  }
  const auto n = static_cast<uint32_t>(offsets.size() - 1);
  for (uint32_t i = 0; i < n; ++i) {
    if (offsets[i + 1] < offsets[i] || offsets[i + 1] > neighbours.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the row of node ", i, " ends before it begins"));
    }
    for (uint64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      if (neighbours[k] >= n || neighbours[k] == i || (k > offsets[i] && neighbours[k] <= neighbours[k - 1])) {
        return absl::InvalidArgumentError(
            absl::StrCat("the neighbours of node ", i, " must ascend, be below ", n, " and not be the node itself"));
      }
    }
  }
  CsrGraph graph;
  graph.offsets_ = std::move(offsets);
  graph.neighbours_ = std::move(neighbours);
  return graph;
}

bool CsrGraph::HasLink(NodeIndex i, NodeIndex j) const {
  const auto neighbours = NeighboursOf(i);
  return std::binary_search(neighbours.begin(), neighbours.end(), j);
}

}  // namespace blink
