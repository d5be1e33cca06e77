// What a node's list must be, for the mechanisms that do not go through common/privacy/privatizer.h.
#ifndef BLINK_MECHANISMS_LIST_CHECK_H_
#define BLINK_MECHANISMS_LIST_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/privacy/bit_row.h"

namespace blink {

// INVALID_ARGUMENT unless `self` and `neighbours` are distinct nodes below n. The message names no neighbour: lists are
// private, also in an error.
absl::Status CheckList(NodeIndex self, absl::Span<const NodeIndex> neighbours, uint32_t node_count);

}  // namespace blink

#endif  // BLINK_MECHANISMS_LIST_CHECK_H_
