#include "common/wire/groups_codec.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"

namespace blink {

std::string EncodeGroups(const NodeGroups& groups) {
  std::string coded;
  coded.reserve(GroupsBytes(static_cast<uint32_t>(groups.group_of.size())));
  for (const uint32_t group : groups.group_of) {
    coded.push_back(static_cast<char>(group));
    coded.push_back(static_cast<char>(group >> 8));
  }
  return coded;
}

absl::StatusOr<NodeGroups> DecodeGroups(absl::string_view coded, uint32_t node_count, uint32_t group_count) {
  if (coded.size() != GroupsBytes(node_count)) {
    return absl::InvalidArgumentError(absl::StrCat("the groups have ", coded.size(), " bytes, but ", node_count,
                                                   " nodes have ", GroupsBytes(node_count)));
  }
  NodeGroups groups{.count = group_count};
  groups.group_of.reserve(node_count);
  for (size_t at = 0; at < coded.size(); at += 2) {
    const uint32_t group = static_cast<uint8_t>(coded[at]) | uint32_t{static_cast<uint8_t>(coded[at + 1])} << 8;
    if (group >= group_count) {
      return absl::InvalidArgumentError(absl::StrCat("the groups do not partition the nodes: node ", at / 2,
                                                     " is of group ", group, " of ", group_count,
                                                     ", which are numbered from 0"));
    }
    groups.group_of.push_back(group);
  }
  return groups;
}

GroupQuestion QuestionAbout(const NodeGroups& groups) {
  Sha256 sha;
  sha.Update("blink groups 1\n").UpdateUint64(groups.group_of.size()).UpdateUint64(groups.count);
  return {groups.count, sha.Update(EncodeGroups(groups)).Finish()};
}

}  // namespace blink
