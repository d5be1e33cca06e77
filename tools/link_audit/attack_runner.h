// Runs attacks and measures them, on several threads.
#ifndef BLINK_TOOLS_LINK_AUDIT_ATTACK_RUNNER_H_
#define BLINK_TOOLS_LINK_AUDIT_ATTACK_RUNNER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/graph/csr_graph.h"
#include "tools/link_audit/attack.h"
#include "tools/link_audit/findings.h"
#include "tools/link_audit/node_groups.h"

namespace blink {

// The nodes of each group whose pairs are looked at. Each node of a group has the same probability to be among them, so
// that means over their pairs are those of the group.
struct GroupRows {
  std::array<std::vector<NodeIndex>, kGroups> rows;
  bool every_pair = false;  // of all nodes each pair is looked at once

  // Ascending, each once.
  std::vector<NodeIndex> AllRows() const;
};

// As many pairs are looked at in each group where there are more nodes: 2^24, 4,096 nodes of 4,096.
inline constexpr uint64_t kPairsOfGroupMax = uint64_t{1} << 24;
// So many nodes of each group; absent: all of them.
std::optional<uint32_t> NodesToSample(uint32_t nodes);

GroupRows ChooseRows(const std::array<NodeGroup, kGroups>& groups, std::optional<uint32_t> sampled_nodes,
                     uint64_t seed);

struct PlannedAttack {
  AttackKind kind = AttackKind::kPosterior;
  std::unique_ptr<LinkAttack> attack;
  const GroupRows* rows = nullptr;
};

// The results in the order of `attacks`. The graph that an attacker draws, for precision and recall, has the density of
// the pairs of all nodes that are looked at. Memory: 4 bytes a pair and thread.
std::vector<AttackResult> RunAttacks(const std::vector<PlannedAttack>& attacks, const CsrGraph& truth, int threads);

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_ATTACK_RUNNER_H_
