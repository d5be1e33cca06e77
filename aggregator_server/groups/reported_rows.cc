#include "aggregator_server/groups/reported_rows.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace blink {

absl::Status ReportedRows::Add(NodeIndex reporter, absl::Span<const NodeIndex> named) {
  const uint32_t n = node_count();
  if (reporter >= n) {
    return absl::InvalidArgumentError(absl::StrCat("node ", reporter, " reports, which is not below n = ", n));
  }
  if (reported_.Test(reporter)) {
    return absl::InvalidArgumentError(absl::StrCat("node ", reporter, " has reported twice"));
  }
  for (const NodeIndex j : named) {
    if (j >= n || j == reporter) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", reporter, " names ", j, ": it must name other nodes below n = ", n));
    }
  }
  reported_.Set(reporter);
  for (const NodeIndex j : named) named_by_[j].push_back(reporter);
  return absl::OkStatus();
}

absl::StatusOr<LinkWeights> ReportedRows::Directed() && {
  std::vector<uint64_t> offsets = {0};
  for (auto& row : named_by_) {
    std::sort(row.begin(), row.end());
    offsets.push_back(offsets.back() + row.size());
  }
  std::vector<NodeIndex> reporters;
  reporters.reserve(offsets.back());
  for (auto& row : named_by_) {
    reporters.insert(reporters.end(), row.begin(), row.end());
    row = std::vector<NodeIndex>();
  }
  BLINK_ASSIGN_OR_RETURN(CsrGraph rows, CsrGraph::FromRows(std::move(offsets), std::move(reporters)));
  return LinkWeights::Unweighted(std::move(rows));
}

absl::StatusOr<LinkWeights> ReportedRows::Undirected() && {
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (NodeIndex j = 0; j < named_by_.size(); ++j) {
    for (const NodeIndex i : named_by_[j]) links.emplace_back(i, j);
    named_by_[j] = std::vector<NodeIndex>();
  }
  BLINK_ASSIGN_OR_RETURN(CsrGraph graph, CsrGraph::FromLinks(node_count(), std::move(links)));
  return LinkWeights::Unweighted(std::move(graph));
}

}  // namespace blink
