// A node's kit in memory, for tests and simulations. None of its lists is private.
#ifndef BLINK_TESTS_TESTING_NODE_KITS_H_
#define BLINK_TESTS_TESTING_NODE_KITS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/privacy/bit_row.h"
#include "node_client/journal.h"
#include "node_client/kit.h"
#include "node_client/policy_file.h"

namespace blink {

// A kit for nodes first..last of node_count, each linked to the two next ones and, for a different list, to
// extra_links more.
inline Kit MakeKit(NodeIndex first, NodeIndex last, uint32_t extra_links = 0, uint32_t node_count = 34) {
  Kit kit;
  kit.config.deployment = "demo";
  kit.config.first_node = first;
  kit.config.last_node = last;
  kit.config.node_count = node_count;
  kit.config.roster_version = 1;
  kit.config.aggregator = "127.0.0.1:1";
  kit.config.insecure = true;
  kit.policy = NodePolicy{8'000'000, 64'000'000, 86'400, 3, 0, {"demo"}};
  kit.lists.first = first;
  kit.lists.offsets = {0};
  for (NodeIndex node = first; node <= last; ++node) {
    std::vector<NodeIndex> list;
    for (uint32_t k = 1; k <= 2 + extra_links; ++k) list.push_back((node + k) % node_count);
    std::sort(list.begin(), list.end());
    kit.lists.neighbours.insert(kit.lists.neighbours.end(), list.begin(), list.end());
    kit.lists.offsets.push_back(kit.lists.neighbours.size());
  }
  return kit;
}

inline JournalIdentity IdentityOf(const Kit& kit) {
  return {kit.config.deployment, kit.config.first_node, kit.config.last_node, kit.config.node_count,
          kit.config.roster_version};
}

}  // namespace blink

#endif  // BLINK_TESTS_TESTING_NODE_KITS_H_
