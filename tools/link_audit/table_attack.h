// An attack whose scores were computed before, for the pairs of some nodes.
//
//   TableAttack influence("influence", n, nodes, values);      values [nodes, n], row by row
#ifndef BLINK_TOOLS_LINK_AUDIT_TABLE_ATTACK_H_
#define BLINK_TOOLS_LINK_AUDIT_TABLE_ATTACK_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tools/link_audit/attack.h"

namespace blink {

class TableAttack : public LinkAttack {
 public:
  // `nodes`: distinct. Pairs of other nodes score 0.
  TableAttack(std::string name, uint32_t node_count, absl::Span<const NodeIndex> nodes, std::vector<float> values)
      : name_(std::move(name)), row_of_node_(node_count, kNoRow), values_(std::move(values)) {
    for (size_t row = 0; row < nodes.size(); ++row) row_of_node_[nodes[row]] = row;
  }
  std::string name() const override { return name_; }
  void ScoreRow(NodeIndex node, absl::Span<float> out) const override {
    const size_t row = row_of_node_[node];
    if (row == kNoRow) {
      std::fill(out.begin(), out.end(), 0.0f);
    } else {
      std::copy_n(values_.begin() + static_cast<int64_t>(row * out.size()), out.size(), out.begin());
    }
  }

 private:
  static constexpr size_t kNoRow = ~size_t{0};

  const std::string name_;
  std::vector<size_t> row_of_node_;  // [n]
  const std::vector<float> values_;  // [rows, n]
};

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_TABLE_ATTACK_H_
