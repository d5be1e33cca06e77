// Nodes by what decides the posterior of their pairs beside the ones: class, and whether their report is evidence.
#ifndef BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_NODE_KINDS_H_
#define BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_NODE_KINDS_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/types/span.h"
#include "aggregator_server/estimate/link_prior.h"
#include "aggregator_server/reports/report_set.h"

namespace blink {

class NodeKinds {
 public:
  NodeKinds(const ReportSet& reports, const LinkPrior& prior)
      : of_node_(reports.node_count()),
        first_(2 * static_cast<size_t>(prior.class_count()) + 1, 0),
        nodes_(reports.node_count()) {
    // Without bits (s = 1) a report is no evidence about a pair.
    const bool bits = reports.parameters().sends_bits();
    for (NodeIndex i = 0; i < of_node_.size(); ++i) {
      of_node_[i] = 2 * prior.class_of_node()[i] + (bits && reports.has_evidence(i));
      ++first_[of_node_[i] + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (NodeIndex i = 0; i < of_node_.size(); ++i) nodes_[next[of_node_[i]]++] = i;
  }

  // 2 * class + whether its report counts as evidence.
  uint32_t Of(NodeIndex node) const { return of_node_[node]; }
  absl::Span<const uint32_t> of_node() const { return of_node_; }
  size_t count() const { return first_.size() - 1; }        // 2 K
  absl::Span<const NodeIndex> NodesOf(size_t kind) const {  // ascending
    return absl::MakeConstSpan(nodes_).subspan(first_[kind], first_[kind + 1] - first_[kind]);
  }

 private:
  std::vector<uint32_t> of_node_;  // [n]
  std::vector<uint32_t> first_;    // [2 K + 1] of a kind's nodes in nodes_
  std::vector<NodeIndex> nodes_;   // [n] by kind
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ESTIMATE_BETA_NODE_KINDS_H_
