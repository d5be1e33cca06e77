// The round that another one follows: it asked about random groups, and its answers made the groups that the other one
// asks about.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_FOLLOWED_ROUND_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_FOLLOWED_ROUND_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "blink/v1/operator.pb.h"
#include "common/privacy/node_groups.h"

namespace blink {

struct FollowedRound {
  v1::Round round;
  NodeGroups groups;  // that its answers made
};

// `node_count`: of the roster now. FAILED_PRECONDITION, with the remedy: the round asked about no groups, follows
// another one itself, is not READY, or was about another number of nodes. DATA_LOSS: its groups are missing or damaged.
absl::StatusOr<FollowedRound> ReadFollowedRound(v1::Round round, const std::string& result_folder, uint32_t node_count);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_FOLLOWED_ROUND_H_
