#include "mechanisms/rr.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/privacy/privatizer.h"

namespace blink {

std::vector<NodeIndex> OnesOf(const BitRow& bits) {
  std::vector<NodeIndex> ones;
  bits.ForEachOne([&](NodeIndex j) { ones.push_back(j); });
  return ones;
}

absl::StatusOr<RrNode> RrNode::Create(uint64_t epsilon_micro, uint32_t node_count) {
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                         PrivacyParameters::Create(epsilon_micro, /*degree_share_ppm=*/0, node_count));
  return RrNode(parameters);
}

absl::StatusOr<BitRow> RrNode::Report(NodeIndex self, absl::Span<const NodeIndex> neighbours,
                                      RandomSource& random) const {
  BLINK_ASSIGN_OR_RETURN(ReportNoise noise, DrawNoise(parameters_, self, random));
  BLINK_ASSIGN_OR_RETURN(PrivateReport report, ApplyNoise(parameters_, self, std::move(noise), neighbours));
  return std::move(report.bits);
}

absl::Status RrAggregator::Add(NodeIndex node, const BitRow& bits) {
  if (bits.size() != rows_.node_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the report of node ", node, " has ", bits.size(), " bits instead of ", rows_.node_count()));
  }
  return rows_.Add(node, OnesOf(bits));
}

}  // namespace blink
