#include "mechanisms/block_chung_lu.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "mechanisms/uniform.h"

namespace blink {
namespace {

struct Weighed {
  NodeIndex node;
  float weight;
};

class Sampler {
 public:
  Sampler(absl::Span<const float> weights, absl::Span<const uint32_t> group_of, uint32_t groups,
          std::mt19937_64& random)
      : weights_(weights), groups_(groups), members_(groups), sums_(size_t{groups} * groups, 0), random_(random) {
    for (NodeIndex u = 0; u < group_of.size(); ++u) {
      members_[group_of[u]].push_back(u);
      for (uint32_t j = 0; j < groups; ++j) sums_[size_t{group_of[u]} * groups + j] += WeightOf(u, j);
    }
  }

  std::vector<std::pair<NodeIndex, NodeIndex>> Run() {
    for (uint32_t i = 0; i < groups_; ++i) {
      for (uint32_t j = i; j < groups_; ++j) {
        const double m = (sums_[size_t{i} * groups_ + j] + sums_[size_t{j} * groups_ + i]) / 2;
        if (m > 0) Link(i, j, m);
      }
    }
    return std::move(links_);
  }

 private:
  float WeightOf(NodeIndex u, uint32_t j) const { return weights_[size_t{u} * groups_ + j]; }

  // The nodes of group i by their weight towards j, descending; those of weight 0 have no links.
  std::vector<Weighed> Sorted(uint32_t i, uint32_t j) const {
    std::vector<Weighed> sorted;
    for (const NodeIndex u : members_[i]) {
      if (WeightOf(u, j) > 0) sorted.push_back({u, WeightOf(u, j)});
    }
    std::sort(sorted.begin(), sorted.end(), [](const Weighed& a, const Weighed& b) {
      return a.weight > b.weight || (a.weight == b.weight && a.node < b.node);
    });
    return sorted;
  }

  void Link(uint32_t i, uint32_t j, double m) {
    const std::vector<Weighed> from = Sorted(i, j);
    if (i == j) {
      for (size_t a = 0; a + 1 < from.size(); ++a) LinkOne(from[a], from, a + 1, m);
      return;
    }
    const std::vector<Weighed> to = Sorted(j, i);
    for (const Weighed& u : from) LinkOne(u, to, 0, m);
  }

  // The probabilities descend with `to`. With the one of the first candidate, the number of misses before the next hit
  // is geometric; the candidate that is hit then keeps its link with the ratio of its own probability to it.
  void LinkOne(const Weighed& u, const std::vector<Weighed>& to, size_t at, double m) {
    if (at >= to.size()) return;
    double p = BlockChungLuProbability(u.weight, to[at].weight, m);
    while (at < to.size() && p > 0) {
      if (p < 1) {
        const double misses = std::floor(std::log1p(-Uniform(random_)) / std::log1p(-p));
        if (misses >= static_cast<double>(to.size() - at)) return;
        at += static_cast<size_t>(misses);
      }
      const double own = BlockChungLuProbability(u.weight, to[at].weight, m);
      if (Uniform(random_) * p < own) links_.emplace_back(u.node, to[at].node);
      p = own;
      ++at;
    }
  }

  const absl::Span<const float> weights_;
  const uint32_t groups_;
  std::vector<std::vector<NodeIndex>> members_;  // [groups]
  std::vector<double> sums_;                     // [groups, groups] E_ij
  std::mt19937_64& random_;
  std::vector<std::pair<NodeIndex, NodeIndex>> links_;
};

}  // namespace

absl::StatusOr<CsrGraph> DrawBlockChungLu(absl::Span<const float> weights, absl::Span<const uint32_t> group_of,
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
  return CsrGraph::FromLinks(n, Sampler(weights, group_of, groups, random).Run());
}

}  // namespace blink
