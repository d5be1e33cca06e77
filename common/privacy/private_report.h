// The output of LinkLDP (Algorithm 1), apart from the mechanism that makes it: an aggregator knows this, never the
// mechanism.
#ifndef BLINK_COMMON_PRIVACY_PRIVATE_REPORT_H_
#define BLINK_COMMON_PRIVACY_PRIVATE_REPORT_H_

#include <cstdint>
#include <optional>

#include "common/privacy/bit_row.h"

namespace blink {

// What one node sends: epsilon-link-LDP for one entry of one list. Secret until it is a report.
struct PrivateReport {
  BitRow bits;                          // [n], bit `self` is 0; empty when s = 1
  std::optional<int64_t> noisy_degree;  // absent when s = 0
  friend bool operator==(const PrivateReport&, const PrivateReport&) = default;
};

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_PRIVATE_REPORT_H_
