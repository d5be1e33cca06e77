#include "aggregator_server/result/groups_file.h"

#include <algorithm>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/wire/artifact_digests.h"

namespace blink {
namespace {

constexpr char kFile[] = "groups.csv";
constexpr absl::string_view kHeader = "node,group";
constexpr uint64_t kLineBytesMax = 16;

// The group of line `node`, which says "node,group"; no group: it says something else.
bool ParseLine(absl::string_view line, uint32_t node, uint32_t& group) {
  const std::pair<absl::string_view, absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(',', 1));
  uint32_t named = 0;
  return absl::SimpleAtoi(fields.first, &named) && named == node && absl::SimpleAtoi(fields.second, &group) &&
         group < kGroupsMax;
}

}  // namespace

absl::Status WriteGroupsCsv(const NodeGroups& groups, const std::string& folder) {
  std::string csv = absl::StrCat(kHeader, "\n");
  for (size_t node = 0; node < groups.group_of.size(); ++node) {
    absl::StrAppend(&csv, node, ",", groups.group_of[node], "\n");
  }
  return WriteFileAtomically(absl::StrCat(folder, "/", kFile), csv);
}

absl::StatusOr<NodeGroups> ReadGroupsCsv(const std::string& folder, uint32_t node_count) {
  const std::string path = absl::StrCat(folder, "/", kFile);
  BLINK_ASSIGN_OR_RETURN(ArtifactCheck check, ArtifactCheck::Begin(folder, kFile));
  if (!check.is_recorded()) {
    return absl::DataLossError(absl::StrCat("metrics.json beside ", path, " does not record it: it is damaged"));
  }
  const absl::StatusOr<std::string> read = ReadFile(path, kLineBytesMax * (uint64_t{node_count} + 1));
  if (absl::IsOutOfRange(read.status())) return absl::DataLossError(absl::StrCat(kFile, " is damaged: it is too long"));
  BLINK_RETURN_IF_ERROR(read.status());
  const std::string& text = *read;
  check.Update(text);
  BLINK_RETURN_IF_ERROR(check.Finish());
  NodeGroups groups;
  groups.group_of.reserve(node_count);
  bool is_header = true;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    uint32_t group = 0;
    const auto node = static_cast<uint32_t>(groups.group_of.size());
    if (is_header ? line != kHeader : !ParseLine(line, node, group)) {
      return absl::DataLossError(absl::StrCat(path, " is no list of groups: after ", node, " nodes it says \"",
                                              line.substr(0, kLineBytesMax), "\""));
    }
    if (!is_header) groups.group_of.push_back(group);
    is_header = false;
  }
  if (groups.group_of.size() != node_count) {
    return absl::DataLossError(
        absl::StrCat(path, " has the groups of ", groups.group_of.size(), " nodes, not of ", node_count));
  }
  groups.count = 1 + *std::max_element(groups.group_of.begin(), groups.group_of.end());
  return groups;
}

}  // namespace blink
