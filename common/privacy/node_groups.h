// Groups of nodes, about which Mechanism::kGroupDegrees asks. Every node is of exactly one group, and a group may be
// empty.
#ifndef BLINK_COMMON_PRIVACY_NODE_GROUPS_H_
#define BLINK_COMMON_PRIVACY_NODE_GROUPS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

namespace blink {

struct NodeGroups {
  std::vector<uint32_t> group_of;  // [n], below `count`
  uint32_t count = 0;

  bool IsPartitionOf(uint32_t node_count) const {
    return group_of.size() == node_count &&
           std::all_of(group_of.begin(), group_of.end(), [this](uint32_t group) { return group < count; });
  }
};

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_NODE_GROUPS_H_
