// What the owner of the lists allows, whatever the aggregator asks and whatever the authority that made the kit would
// like.
//
//   KIT/policy.json, or the file that --policy names; a sample with every key: deploy/policy.json
//
// The kit says who a node is and belongs to the authority; this file limits what its reports may cost and belongs to
// the owner of the lists. `blink provision` puts a suggestion into every kit. All amounts are integers: millionths of
// epsilon, seconds.
#ifndef BLINK_NODE_CLIENT_POLICY_FILE_H_
#define BLINK_NODE_CLIENT_POLICY_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace blink {

struct NodePolicy {
  uint64_t epsilon_micro_per_round_max = 0;  // largest epsilon of one report, millionths
  uint64_t epsilon_micro_lifetime_max = 0;   // largest sum over all draws of one node, millionths
  int64_t epoch_seconds_min = 0;             // lists are snapshotted anew no earlier than this
  uint32_t node_count_min = 0;               // never report on a smaller roster
  int64_t send_spread_seconds = 0;           // the first sending of a round is spread uniformly over this time
  std::vector<std::string> deployments;      // never report to another one
  friend bool operator==(const NodePolicy&, const NodePolicy&) = default;
};

inline constexpr uint64_t kEpsilonMicroLifetimeMax = uint64_t{1} << 53;  // what JSON carries exactly

// Millionths as people write them, exactly: "6", "0.5", "5.999999".
std::string EpsilonText(uint64_t epsilon_micro);

// KIT/policy.json.
std::string DefaultPolicyPath(const std::string& kit_folder);

// NOT_FOUND with the remedy when the file is missing; INVALID_ARGUMENT naming the key and its range when it is
// malformed, holds an unknown key or one twice, or lacks one.
absl::StatusOr<NodePolicy> LoadPolicy(const std::string& path);

// `text` as policy.json; `path` only for messages.
absl::StatusOr<NodePolicy> ParsePolicy(const std::string& text, const std::string& path);

// FAILED_PRECONDITION, naming both, unless the policy allows the deployment.
absl::Status CheckDeployment(const NodePolicy& policy, const std::string& deployment);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_POLICY_FILE_H_
