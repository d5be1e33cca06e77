// Who takes part: the file roster.json, which `blink provision` writes and the aggregator reads.
//
//   {"format":1,"deployment":"demo","roster_version":2,"node_count":2710,"retired":[[7,7],[100,135]]}
//
// Node ids are 0 .. node_count - 1 and are never used again: n never shrinks, and who is retired stays retired. A later
// roster has a higher version (CheckFollows).
#ifndef BLINK_COMMON_WIRE_ROSTER_H_
#define BLINK_COMMON_WIRE_ROSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace blink {

struct NodeRange {  // both ends included
  uint64_t first = 0;
  uint64_t last = 0;
  friend bool operator==(const NodeRange&, const NodeRange&) = default;
};

// Whether `node` is in one of the ascending, disjoint `ranges`. O(log of their number).
bool InRanges(const std::vector<NodeRange>& ranges, uint64_t node);
// The same set of nodes, ascending, disjoint, and in as few ranges as possible.
std::vector<NodeRange> MergeRanges(std::vector<NodeRange> ranges);
uint64_t CountNodes(const std::vector<NodeRange>& disjoint);

class Roster {
 public:
  // `retired` in any order, overlaps allowed. INVALID_ARGUMENT: node_count out of its range, a retired node that is not
  // below it, version 0, a malformed deployment, or fewer than three active nodes.
  static absl::StatusOr<Roster> Create(std::string deployment, uint64_t version, uint32_t node_count,
                                       std::vector<NodeRange> retired);
  // INVALID_ARGUMENT also for an unknown or missing key. The retired ranges must ascend and not touch: one spelling for
  // each roster.
  static absl::StatusOr<Roster> FromJson(const std::string& text);
  std::string ToJson() const;

  // May this roster take the place of `before`? The same one may. FAILED_PRECONDITION: another deployment, an older
  // version, the same version with other content, fewer nodes, or a retired node that is active again.
  absl::Status CheckFollows(const Roster& before) const;

  const std::string& deployment() const { return deployment_; }
  uint64_t version() const { return version_; }
  uint32_t node_count() const { return node_count_; }
  uint32_t active_count() const { return node_count_ - static_cast<uint32_t>(CountNodes(retired_)); }
  const std::vector<NodeRange>& retired() const { return retired_; }
  bool IsRetired(uint64_t node) const { return InRanges(retired_, node); }
  friend bool operator==(const Roster&, const Roster&) = default;

 private:
  std::string deployment_;
  uint64_t version_ = 0;
  uint32_t node_count_ = 0;
  std::vector<NodeRange> retired_;
};

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_ROSTER_H_
