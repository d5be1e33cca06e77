// Which pairs a node reports where each pair is reported by one of its two ends alone (Mechanism::kOneEnd).
//
//   i + j even   the end with the smaller number
//   i + j odd    the end with the larger number
//
// The rule is public and fixed, and looks at numbers of nodes alone. With n nodes each has (n - 1) / 2 own pairs; where
// that is no whole number, half a pair more or less. The bits of a report are in the order of the other ends:
//
//   node i    ..., i - 3, i - 1, i + 2, i + 4, ...
#ifndef BLINK_COMMON_PRIVACY_OWN_PAIRS_H_
#define BLINK_COMMON_PRIVACY_OWN_PAIRS_H_

#include <cstdint>

#include "common/privacy/bit_row.h"

namespace blink {

// Whether `self` reports its pair with `other`. Requires self != other. Of (i, j) and (j, i) exactly one is true.
inline bool OwnsPair(NodeIndex self, NodeIndex other) {
  return ((self ^ other) & 1) == 1 ? self > other : self < other;
}

// How many pairs with nodes below `self` are its own, and how many pairs in all. Requires self < node_count.
inline uint32_t OwnPairsBelow(NodeIndex self) { return self / 2 + self % 2; }
inline uint32_t OwnPairCount(NodeIndex self, uint32_t node_count) {
  return OwnPairsBelow(self) + (node_count - 1 - self) / 2;
}

// The place of an own pair among the node's own pairs, 0 .. OwnPairCount - 1. Requires OwnsPair(self, other).
inline uint32_t OwnPairPlace(NodeIndex self, NodeIndex other) {
  return other < self ? other / 2 : OwnPairsBelow(self) + (other - self) / 2 - 1;
}
// The other end of the own pair at `place`.
inline NodeIndex OwnPairAt(NodeIndex self, uint32_t place) {
  const uint32_t below = OwnPairsBelow(self);
  return place < below ? 2 * place + 1 - self % 2 : self + 2 * (place - below + 1);
}

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_OWN_PAIRS_H_
