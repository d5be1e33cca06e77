#include "mechanisms/symrr.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "mechanisms/rr.h"

namespace blink {

absl::StatusOr<SymRrNode> SymRrNode::Create(uint64_t epsilon_micro, uint32_t node_count) {
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                         PrivacyParameters::Create(epsilon_micro, /*degree_share_ppm=*/0, node_count));
  return SymRrNode(parameters);
}

absl::StatusOr<BitRow> SymRrNode::Report(NodeIndex self, absl::Span<const NodeIndex> neighbours,
                                         RandomSource& random) const {
  BLINK_ASSIGN_OR_RETURN(const PrivateReport report,
                         ReportOwnPairs(parameters_, PairRule::kLarger, self, neighbours, random));
  BitRow bits(self);
  std::copy_n(report.bits.words().begin(), bits.words().size(), bits.mutable_words().begin());
  return bits;
}

absl::Status SymRrAggregator::Add(NodeIndex node, const BitRow& bits) {
  if (bits.size() != node) {
    return absl::InvalidArgumentError(absl::StrCat("the report of node ", node, " has ", bits.size(),
                                                   " bits instead of one for each of the ", node, " nodes before it"));
  }
  return rows_.Add(node, OnesOf(bits));
}

}  // namespace blink
