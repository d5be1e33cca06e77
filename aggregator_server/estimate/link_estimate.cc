#include "aggregator_server/estimate/link_estimate.h"

#include "absl/strings/str_cat.h"

namespace blink {

absl::Status CheckEstimable(const ReportSet& reports, const CsrGraph* truth) {
  if (reports.report_count() == 0)
    return absl::FailedPreconditionError("no node has reported: there is nothing to estimate from");
  if (!reports.is_complete()) {
    return absl::InvalidArgumentError("the set of reports is not complete: call ReportSet::Complete before estimating");
  }
  if (reports.parameters().mechanism() == Mechanism::kOneEnd && !reports.mirrored()) {
    return absl::InvalidArgumentError(
        "one end alone reports each pair, and the reports are as they came: call ReportSet::Mirror before estimating");
  }
  if (truth != nullptr && truth->node_count() != reports.node_count()) {
    return absl::InvalidArgumentError(absl::StrCat("the true graph has ", truth->node_count(),
                                                   " nodes, the reports are of ", reports.node_count(),
                                                   ": compare with the data set that was reported"));
  }
  return absl::OkStatus();
}

uint64_t CountTruePositives(const CsrGraph& links, const CsrGraph& truth) {
  uint64_t found = 0;
  for (NodeIndex i = 0; i < truth.node_count(); ++i) {
    for (const NodeIndex j : truth.NeighboursOf(i)) found += i < j && links.HasLink(i, j);
  }
  return found;
}

}  // namespace blink
