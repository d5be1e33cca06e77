// The output of LinkLDP (Algorithm 1), in a header without the mechanism. An aggregator includes this header, and never
// the mechanism.
#ifndef BLINK_COMMON_PRIVACY_PRIVATE_REPORT_H_
#define BLINK_COMMON_PRIVACY_PRIVATE_REPORT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/privacy/bit_row.h"

namespace blink {

// What one node sends. It is epsilon-link-LDP for one entry of one list. While it is being made it is secret.
struct PrivateReport {
  // kBothEnds: [n], bit `self` is 0. kOneEnd: a bit for each own pair, in the order of own_pairs.h. Empty when s = 1,
  // and for kGroupDegrees.
  BitRow bits;
  std::optional<int64_t> noisy_degree;  // absent when s = 0
  std::vector<int64_t> group_degrees;   // kGroupDegrees: [groups], noisy, and nothing else; otherwise empty
  friend bool operator==(const PrivateReport&, const PrivateReport&) = default;
};

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_PRIVATE_REPORT_H_
