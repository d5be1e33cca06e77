// Whom a certificate names. The identity is a URI, and the certificate carries it as its subject alternative name
// (SAN):
//
//   blink://<deployment>/node/<id>         one node
//   blink://<deployment>/nodes/<a>-<b>     a gateway with the nodes a to b
//   blink://<deployment>/operator/<name>   an operator who may do everything
//   blink://<deployment>/creator/<name>    an operator who creates rounds, and ends those alone
//   blink://<deployment>/reader/<name>     an operator who only looks
//   blink://<deployment>/aggregator
#ifndef BLINK_COMMON_PKI_IDENTITY_H_
#define BLINK_COMMON_PKI_IDENTITY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

// What an operator may do; each may also do what those before it may.
enum class Role { kRead, kCreate, kAdminister };

const char* RoleName(Role role);  // "read", "create", "administer"

struct Identity {
  enum class Kind { kNodes, kOperator, kAggregator };
  Kind kind = Kind::kNodes;
  std::string deployment;
  uint64_t first_node = 0;  // kNodes: the range, both ends included; equal for a single node
  uint64_t last_node = 0;
  std::string name;               // kOperator
  Role role = Role::kAdminister;  // kOperator

  bool Covers(uint64_t node) const { return kind == Kind::kNodes && first_node <= node && node <= last_node; }
  std::string ToUri() const;
  std::string Path() const;  // what comes after the deployment: "operator/ann"
  // kAggregator: its name for clients that can check a DNS name only, <deployment>.blink.internal. It is in no DNS. ""
  // for a deployment that is no DNS label: of 64 characters, or with a '-' at an end.
  std::string DnsName() const;
  // Returns INVALID_ARGUMENT that names what is wrong. Each identity has exactly one valid spelling: no leading zeros,
  // and a < b in a range.
  static absl::StatusOr<Identity> FromUri(absl::string_view uri);
  friend bool operator==(const Identity&, const Identity&) = default;
};

}  // namespace blink

#endif  // BLINK_COMMON_PKI_IDENTITY_H_
