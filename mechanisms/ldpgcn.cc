#include "mechanisms/ldpgcn.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/estimate/hybrid_cut.h"
#include "common/base/status_macros.h"
#include "mechanisms/fine_laplace.h"
#include "mechanisms/list_check.h"

namespace blink {
namespace {

constexpr int64_t kEntryMax = 500'000 * kUnitsPerLink;  // twice this is below 2^31

}  // namespace

absl::StatusOr<LdpGcnNode> LdpGcnNode::Create(uint64_t epsilon_micro, uint32_t node_count) {
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters,
                         PrivacyParameters::Create(epsilon_micro, /*degree_share_ppm=*/0, node_count));
  return LdpGcnNode(parameters);
}

absl::StatusOr<std::vector<int64_t>> LdpGcnNode::Report(NodeIndex self, absl::Span<const NodeIndex> neighbours,
                                                        RandomSource& random) const {
  const uint32_t n = parameters_.node_count();
  RandomBits bits(random);
  std::vector<int64_t> entries(n);
  for (int64_t& entry : entries) entry = DrawFineLaplace(parameters_.epsilon_micro(), 1, bits);
  if (!bits.ok()) return bits.status();
  BLINK_RETURN_IF_ERROR(CheckList(self, neighbours, n));
  for (const NodeIndex j : neighbours) entries[j] = AddNoise(1, entries[j]);
  entries[self] = 0;
  return entries;
}

LdpGcnAggregator::LdpGcnAggregator(uint32_t node_count, uint64_t tie_seed)
    : node_count_(node_count),
      tie_seed_(tie_seed),
      reported_(node_count),
      sums_(size_t{node_count} * (node_count - 1) / 2, 0) {}

absl::Status LdpGcnAggregator::Add(NodeIndex node, absl::Span<const int64_t> entries) {
  if (node >= node_count_ || entries.size() != node_count_) {
    return absl::InvalidArgumentError(absl::StrCat("the report of node ", node, " has ", entries.size(),
                                                   " entries: expected are ", node_count_, " of a node below ",
                                                   node_count_));
  }
  if (reported_.Test(node)) {
    return absl::InvalidArgumentError(absl::StrCat("node ", node, " has reported twice"));
  }
  reported_.Set(node);
  for (NodeIndex j = 0; j < node_count_; ++j) {
    if (j == node) continue;
    total_ += static_cast<double>(entries[j]);
    sums_[PlaceOf(std::min(node, j), std::max(node, j))] +=
        static_cast<int32_t>(std::clamp(entries[j], -kEntryMax, kEntryMax));
  }
  return absl::OkStatus();
}

// The largest x so that at least `pairs` (>= 1) of the sums are x or more. By bisection: no copy of the sums is sorted.
int64_t LdpGcnAggregator::LargestWithAtLeast(uint64_t pairs) const {
  int64_t low = -2 * kEntryMax, high = 2 * kEntryMax + 1;  // at least `pairs` are >= low, fewer are >= high
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    uint64_t above = 0;
    for (const int32_t sum : sums_) above += sum >= middle ? 1 : 0;
    (above >= pairs ? low : high) = middle;
  }
  return low;
}

absl::StatusOr<LinkWeights> LdpGcnAggregator::Links() && {
  const double wanted = std::round(total_ / kUnitsPerLink / 2);
  const auto count = static_cast<uint64_t>(std::clamp(wanted, 0.0, static_cast<double>(sums_.size())));
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  std::vector<std::pair<uint64_t, std::pair<NodeIndex, NodeIndex>>> at_cut;  // by hash
  if (count > 0) {
    const int64_t cut = LargestWithAtLeast(count);
    size_t place = 0;
    for (NodeIndex j = 1; j < node_count_; ++j) {
      for (NodeIndex i = 0; i < j; ++i, ++place) {
        if (sums_[place] > cut) links.emplace_back(i, j);
        if (sums_[place] == cut) at_cut.emplace_back(TieHash(tie_seed_, i, j), std::pair(i, j));
      }
    }
    std::sort(at_cut.begin(), at_cut.end());
    for (size_t k = 0; links.size() < count; ++k) links.push_back(at_cut[k].second);
  }
  BLINK_ASSIGN_OR_RETURN(CsrGraph graph, CsrGraph::FromLinks(node_count_, std::move(links)));
  return LinkWeights::Unweighted(std::move(graph));
}

}  // namespace blink
