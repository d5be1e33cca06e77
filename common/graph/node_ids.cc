#include "common/graph/node_ids.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/graph/table_fields.h"

namespace blink {

NodeIndex* NodeIds::Slot(int64_t id) {
  if (id < 0 || id >= kDenseMax) return &sparse_.try_emplace(id, kNoNode).first->second;
  const auto at = static_cast<size_t>(id);
  if (at >= dense_.size()) dense_.resize(std::max(at + 1, std::min<size_t>(2 * dense_.size(), kDenseMax)), kNoNode);
  return &dense_[at];
}

NodeIndex NodeIds::AddInteger(int64_t id) {
  NodeIndex* slot = Slot(id);
  if (*slot == kNoNode) {
    *slot = static_cast<NodeIndex>(integers_.size());
    integers_.push_back(id);
  }
  return *slot;
}

NodeIndex NodeIds::AddName(absl::string_view id) {
  const auto [entry, inserted] = by_name_.try_emplace(id, static_cast<NodeIndex>(names_.size()));
  if (inserted) names_.emplace_back(id);
  return entry->second;
}

absl::StatusOr<NodeIndex> NodeIds::Add(absl::string_view id) {
  if (!are_integers_) return AddName(id);
  int64_t value = 0;
  if (ParseIntegerId(id, &value)) return AddInteger(value);
  return absl::InvalidArgumentError(
      absl::StrCat("the id \"", id,
                   "\" is no integer, while the ids of the links are; mend it, or say that the ids are "
                   "names (--names)"));
}

std::optional<NodeIndex> NodeIds::Find(absl::string_view id) const {
  if (!are_integers_) {
    const auto found = by_name_.find(id);
    return found == by_name_.end() ? std::nullopt : std::optional<NodeIndex>(found->second);
  }
  int64_t value = 0;
  if (!ParseIntegerId(id, &value)) return std::nullopt;
  if (value < 0 || value >= kDenseMax) {
    const auto found = sparse_.find(value);
    return found == sparse_.end() ? std::nullopt : std::optional<NodeIndex>(found->second);
  }
  if (static_cast<size_t>(value) >= dense_.size() || dense_[value] == kNoNode) return std::nullopt;
  return dense_[value];
}

std::string NodeIds::TextOf(NodeIndex node) const {
  return are_integers_ ? absl::StrCat(integers_[node]) : names_[node];
}

std::vector<NodeIndex> NodeIds::Sort() {
  std::vector<NodeIndex> order(size());
  std::iota(order.begin(), order.end(), 0);
  if (!are_integers_) return order;
  std::sort(order.begin(), order.end(), [&](NodeIndex a, NodeIndex b) { return integers_[a] < integers_[b]; });
  std::vector<NodeIndex> rank(size());
  std::vector<int64_t> sorted(size());
  for (NodeIndex r = 0; r < order.size(); ++r) {
    rank[order[r]] = r;
    sorted[r] = integers_[order[r]];
    *Slot(sorted[r]) = r;
  }
  integers_ = std::move(sorted);
  return rank;
}

bool NodeIds::AreNumbers() const {
  for (NodeIndex i = 0; i < size(); ++i) {
    if (are_integers_ ? integers_[i] != i : names_[i] != absl::StrCat(i)) return false;
  }
  return true;
}

}  // namespace blink
