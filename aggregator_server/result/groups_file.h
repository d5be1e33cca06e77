// groups.csv of a result: which group each node is of. A round that follows asks about these groups.
#ifndef BLINK_AGGREGATOR_SERVER_RESULT_GROUPS_FILE_H_
#define BLINK_AGGREGATOR_SERVER_RESULT_GROUPS_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/privacy/node_groups.h"

namespace blink {

// node,group: a line for each node, in their order.
absl::Status WriteGroupsCsv(const NodeGroups& groups, const std::string& folder);

// Of the result in `folder`, which has `node_count` nodes. DATA_LOSS: the file or metrics.json is missing or damaged,
// or it is no such file. There are as many groups as the largest number says, so each below kGroupsMax.
absl::StatusOr<NodeGroups> ReadGroupsCsv(const std::string& folder, uint32_t node_count);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_RESULT_GROUPS_FILE_H_
