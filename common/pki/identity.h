// Who a certificate names. SAN URIs: blink://<deployment>/node/<id>, .../nodes/<a>-<b>, .../operator/<name>,
// .../aggregator.
#ifndef BLINK_COMMON_PKI_IDENTITY_H_
#define BLINK_COMMON_PKI_IDENTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

struct Identity {
  enum class Kind { kNodes, kOperator, kAggregator };
  Kind kind = Kind::kNodes;
  std::string deployment;
  uint64_t first_node = 0;  // kNodes: the inclusive range; a single node has first == last
  uint64_t last_node = 0;
  std::string name;  // kOperator

  bool Covers(uint64_t node) const { return kind == Kind::kNodes && first_node <= node && node <= last_node; }
  std::string ToUri() const;
  // INVALID_ARGUMENT naming what is wrong: exactly one spelling of each identity is valid (no leading zeros, a < b).
  static absl::StatusOr<Identity> FromUri(absl::string_view uri);
  friend bool operator==(const Identity&, const Identity&) = default;
};

}  // namespace blink

#endif  // BLINK_COMMON_PKI_IDENTITY_H_
