#include "mechanisms/symrr.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/privacy/privatizer.h"
#include "mechanisms/rr.h"

namespace blink {

absl::StatusOr<SymRrNode> SymRrNode::Create(uint64_t epsilon_micro, uint32_t node_count) {
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                         PrivacyParameters::Create(epsilon_micro, /*degree_share_ppm=*/0, node_count));
  return SymRrNode(parameters);
}

absl::StatusOr<BitRow> SymRrNode::Report(NodeIndex self, absl::Span<const NodeIndex> neighbours,
                                         RandomSource& random) const {
  // The other entries are drawn too, and dropped: they are not of the report.
  BLINK_ASSIGN_OR_RETURN(ReportNoise noise, DrawNoise(parameters_, self, random));
  BLINK_ASSIGN_OR_RETURN(const PrivateReport report, ApplyNoise(parameters_, self, std::move(noise), neighbours));
  BitRow bits(self);
  std::copy_n(report.bits.words().begin(), bits.words().size(), bits.mutable_words().begin());
  bits.ClearTail();
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
