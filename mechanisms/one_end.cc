#include "mechanisms/one_end.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "mechanisms/own_pairs.h"

namespace blink {

absl::StatusOr<PrivateReport> OneEndNode::Report(NodeIndex self, absl::Span<const NodeIndex> neighbours,
                                                 RandomSource& random) const {
  return ReportOwnPairs(parameters_, PairRule::kParity, self, neighbours, random);
}

absl::Status OneEndAggregator::Add(NodeIndex node, PrivateReport report) {
  const uint32_t n = reports_.node_count();
  if (node < n && report.bits.size() == n) {
    const BitRow own = OwnPairs(PairRule::kParity, node, n);
    for (size_t w = 0; w < own.words().size(); ++w) {
      if ((report.bits.words()[w] & ~own.words()[w]) != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("the report of node ", node, " has a one about a pair that its other end reports"));
      }
    }
  }
  if (report.noisy_degree) {
    constexpr int64_t kHalf = std::numeric_limits<int64_t>::max() / 2;
    report.noisy_degree = 2 * std::clamp(*report.noisy_degree, -kHalf, kHalf);
  }
  return reports_.Add(node, std::move(report));
}

absl::StatusOr<ReportSet> OneEndAggregator::Reports() && {
  const uint32_t n = reports_.node_count(), missing = n - reports_.report_count();
  if (missing > 0) {
    return absl::FailedPreconditionError(absl::StrCat(missing, " of ", n,
                                                      " nodes have not reported: nobody else speaks of their pairs, so "
                                                      "wait for their reports"));
  }
  reports_.Mirror();
  return std::move(reports_);
}

}  // namespace blink
