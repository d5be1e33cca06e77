// The nodes of a graph, numbered in the order in which their ids are met.
#ifndef BLINK_COMMON_GRAPH_NODE_IDS_H_
#define BLINK_COMMON_GRAPH_NODE_IDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/privacy/bit_row.h"

namespace blink {

class NodeIds {
 public:
  explicit NodeIds(bool are_integers) : are_integers_(are_integers) {}

  bool are_integers() const { return are_integers_; }
  size_t size() const { return are_integers_ ? integers_.size() : names_.size(); }

  // The number of an id. A new id gets the next one. AddInteger is for integers alone, AddName for names.
  NodeIndex AddInteger(int64_t id);
  NodeIndex AddName(absl::string_view id);
  // Either. Returns INVALID_ARGUMENT for a name among integers.
  absl::StatusOr<NodeIndex> Add(absl::string_view id);
  std::optional<NodeIndex> Find(absl::string_view id) const;
  std::string TextOf(NodeIndex node) const;
  const std::vector<int64_t>& integers() const { return integers_; }

  // Numbers integers in their order, and leaves names as they are. Returns the new number of each node.
  std::vector<NodeIndex> Sort();
  // Whether each id is its node's number.
  bool AreNumbers() const;

 private:
  static constexpr NodeIndex kNoNode = UINT32_MAX;
  static constexpr int64_t kDenseMax = 1 << 25;
  NodeIndex* Slot(int64_t id);

  bool are_integers_;
  std::vector<int64_t> integers_;  // [n]
  std::vector<NodeIndex> dense_;   // by the id, of small ones
  absl::flat_hash_map<int64_t, NodeIndex> sparse_;
  std::vector<std::string> names_;  // [n]
  absl::flat_hash_map<std::string, NodeIndex> by_name_;
};

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_NODE_IDS_H_
