// OUT/enrolment.json: the authority's own list of who may have which certificate. Whatever a certificate says comes from here.
//
//   {"format":1,"deployment":"demo","node_count":2708,"roster_version":1,"aggregator":"host:7443","insecure":false,"policy":{...},
//    "enrolled":[{"name":"nodes-0-135","uri":"blink://demo/nodes/0-135","dns":[],"ip":[],"serials":["..."]}, ...]}
#ifndef BLINK_TOOLS_ENROLMENT_H_
#define BLINK_TOOLS_ENROLMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/rpc/identity.h"

namespace blink {

// The policy that is suggested to a node; the members of its policy.json.
struct KitPolicy {
  uint64_t epsilon_micro_per_round_max = 8'000'000;
  uint64_t epsilon_micro_lifetime_max = 64'000'000;
  int64_t epoch_seconds_min = 86'400;
  uint32_t node_count_min = 3;
  int64_t send_spread_seconds = 0;
};

struct Enrolled {
  std::string name;  // [a-z0-9-]{1,64}; the name of the kit's folder
  Identity identity;
  std::vector<std::string> dns_names;     // aggregator
  std::vector<std::string> ip_addresses;  // aggregator
  std::vector<std::string> serials;       // of every certificate issued to it, hexadecimal
};

class Enrolment {
 public:
  // INVALID_ARGUMENT naming the value and its range.
  static absl::StatusOr<Enrolment> Create(std::string deployment, uint32_t node_count, uint64_t roster_version);
  static absl::StatusOr<Enrolment> FromJson(const std::string& text);
  std::string ToJson() const;

  // INVALID_ARGUMENT when the name is taken or malformed, the identity of another deployment, already enrolled, or shares a node with one that is.
  absl::Status Add(Enrolled entry);
  // INVALID_ARGUMENT when nobody of that name is enrolled.
  absl::StatusOr<Enrolled*> Find(absl::string_view name);

  const std::string& deployment() const { return deployment_; }
  uint32_t node_count() const { return node_count_; }
  uint64_t roster_version() const { return roster_version_; }
  const std::vector<Enrolled>& entries() const { return entries_; }

  std::string aggregator;  // HOST:PORT that the kits are told; may be empty
  bool insecure = false;
  KitPolicy policy;

 private:
  std::string deployment_;
  uint32_t node_count_ = 0;
  uint64_t roster_version_ = 0;
  std::vector<Enrolled> entries_;  // nodes by their first node, then the others
};

// "node-3" or "nodes-0-135".
std::string NameOfNodes(uint64_t first, uint64_t last);

}  // namespace blink

#endif  // BLINK_TOOLS_ENROLMENT_H_
