// The groups that a round of Mechanism::kGroupDegrees asks about, as bytes: for each node in order the number of its
// group, 2 bytes, little endian. So there is exactly one encoding, and of n nodes it has 2 n bytes.
#ifndef BLINK_COMMON_WIRE_GROUPS_CODEC_H_
#define BLINK_COMMON_WIRE_GROUPS_CODEC_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/limits.h"
#include "common/privacy/node_groups.h"
#include "common/privacy/parameters.h"

namespace blink {

static_assert(kGroupsMax <= 65'536, "the number of a group must fit into 2 bytes");

inline constexpr uint64_t GroupsBytes(uint32_t node_count) { return 2 * uint64_t{node_count}; }

// Requires that each group is below kGroupsMax.
std::string EncodeGroups(const NodeGroups& groups);

// INVALID_ARGUMENT unless `coded` has a group below `group_count` for each of the nodes, and nothing else: they are a
// partition of the nodes.
absl::StatusOr<NodeGroups> DecodeGroups(absl::string_view coded, uint32_t node_count, uint32_t group_count);

// What names the groups in the parameters of a round. The digest is SHA-256 of "blink groups 1\n", the numbers of nodes
// and groups (u64 each, little endian) and the bytes above.
GroupQuestion QuestionAbout(const NodeGroups& groups);

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_GROUPS_CODEC_H_
