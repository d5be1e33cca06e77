#include "aggregator_server/groups/block_chung_lu.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/groups/reported_rows.h"
#include "aggregator_server/groups/uniform.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

class Sampler {
 public:
  Sampler(absl::Span<const float> weights, absl::Span<const uint32_t> group_of, uint32_t groups,
          std::mt19937_64& random)
      : weights_(weights),
        group_of_(group_of),
        groups_(groups),
        members_(groups),
        sums_(groups, 0),
        sums_of_group_(size_t{groups} * groups, 0),
        random_(random) {
    for (NodeIndex u = 0; u < group_of.size(); ++u) {
      members_[group_of[u]].push_back(u);
      for (uint32_t j = 0; j < groups; ++j) {
        sums_[j] += WeightOf(u, j);
        sums_of_group_[size_t{group_of[u]} * groups + j] += WeightOf(u, j);
      }
    }
  }

  std::vector<NodeIndex> NamedBy(NodeIndex u) {
    std::vector<NodeIndex> named;
    for (uint32_t j = 0; j < groups_; ++j) {
      const double both = sums_[j] + sums_of_group_[size_t{group_of_[u]} * groups_ + j];
      if (members_[j].empty() || WeightOf(u, j) == 0 || both == 0) continue;
      const double share = sums_[j] / static_cast<double>(members_[j].size()) / both;
      NameSome(u, members_[j], std::min(1.0, WeightOf(u, j) * share), named);
    }
    return named;
  }

 private:
  double WeightOf(NodeIndex u, uint32_t j) const { return weights_[size_t{u} * groups_ + j]; }

  // Each member with probability p: the number of misses before the next hit is geometric.
  void NameSome(NodeIndex u, const std::vector<NodeIndex>& members, double p, std::vector<NodeIndex>& named) {
    for (size_t at = 0; at < members.size(); ++at) {
      if (p < 1) {
        const double misses = std::floor(std::log1p(-Uniform(random_)) / std::log1p(-p));
        if (misses >= static_cast<double>(members.size() - at)) return;
        at += static_cast<size_t>(misses);
      }
      if (members[at] != u) named.push_back(members[at]);
    }
  }

  const absl::Span<const float> weights_;
  const absl::Span<const uint32_t> group_of_;
  const uint32_t groups_;
  std::vector<std::vector<NodeIndex>> members_;  // [groups]
  std::vector<double> sums_;                     // [groups] S_j
  std::vector<double> sums_of_group_;            // [groups, groups] T_ij
  std::mt19937_64& random_;
};

}  // namespace

absl::StatusOr<LinkWeights> DrawBlockChungLu(absl::Span<const float> weights, absl::Span<const uint32_t> group_of,
                                             uint32_t groups, std::mt19937_64& random) {
  const auto n = static_cast<uint32_t>(group_of.size());
  if (weights.size() != size_t{n} * groups) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", weights.size(), " weights instead of ", n, " nodes times ", groups, " groups"));
  }
  for (const uint32_t group : group_of) {
    if (group >= groups) return absl::InvalidArgumentError(absl::StrCat("group ", group, " is not below ", groups));
  }
  for (const float weight : weights) {
    if (!(weight >= 0) || !std::isfinite(weight)) {
      return absl::InvalidArgumentError(absl::StrCat("a weight is ", weight, ": it must be finite and at least 0"));
    }
  }
  Sampler sampler(weights, group_of, groups, random);
  ReportedRows rows(n);
  for (NodeIndex u = 0; u < n; ++u) BLINK_RETURN_IF_ERROR(rows.Add(u, sampler.NamedBy(u)));
  return std::move(rows).Directed();
}

}  // namespace blink
