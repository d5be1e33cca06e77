// The roster: which nodes take part. `blink provision` writes it to roster.json, and the aggregator reads that file.
//
//   {"format":1,"deployment":"demo","roster_version":2,"node_count":2710,"retired":[[7,7],[100,135]]}
//
// Node ids are 0 .. node_count - 1 and are never used again. So node_count never shrinks, and a retired node stays
// retired. A later roster has a higher version (see CheckFollows).
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

// Whether `node` is in one of `ranges`, which ascend and are disjoint. Takes time of O(log of their number).
bool InRanges(const std::vector<NodeRange>& ranges, uint64_t node);
// Returns the same set of nodes in as few ranges as possible, ascending and disjoint.
std::vector<NodeRange> MergeRanges(std::vector<NodeRange> ranges);
uint64_t CountNodes(const std::vector<NodeRange>& disjoint);

class Roster {
 public:
  // `retired` may be in any order and may overlap. Returns INVALID_ARGUMENT when node_count is out of its range, a
  // retired node is not below it, the version is 0, the deployment is malformed, or fewer than three nodes are active.
  static absl::StatusOr<Roster> Create(std::string deployment, uint64_t version, uint32_t node_count,
                                       std::vector<NodeRange> retired);
  // As Create, and also INVALID_ARGUMENT for an unknown or missing key, or retired ranges that do not ascend or that
  // touch. So each roster has exactly one spelling.
  static absl::StatusOr<Roster> FromJson(const std::string& text);
  std::string ToJson() const;

  // Returns OK when this roster may take the place of `before`; an equal one may. Returns FAILED_PRECONDITION for
  // another deployment, an older version, the same version with other content, fewer nodes, or a retired node that is
  // active again.
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
