// The policy of the owner of the lists. It binds the node, whatever the aggregator or the kit's authority asks for.
//
// The file is KIT/policy.json, or the one that --policy names. deploy/policy.json is a sample with every key.
//
// The kit says who a node is, and belongs to the authority. The policy limits what the node's reports may cost, and
// belongs to the owner of the lists. `blink provision` puts a suggestion into every kit. All amounts are integers, in
// millionths of epsilon and in seconds.
#ifndef BLINK_NODE_CLIENT_POLICY_FILE_H_
#define BLINK_NODE_CLIENT_POLICY_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/privacy/parameters.h"

namespace blink {

struct NodePolicy {
  uint64_t epsilon_micro_per_round_max = 0;  // largest epsilon of one report, millionths
  uint64_t epsilon_micro_lifetime_max = 0;   // largest sum over all draws of one node, millionths
  int64_t epoch_seconds_min = 0;             // shortest time between two snapshots of the lists
  uint32_t node_count_min = 0;               // smallest roster to report on
  int64_t send_spread_seconds = 0;           // the first sending of a round is spread uniformly over this time
  std::vector<std::string> deployments;      // the only ones to report to
  // The only ones to draw by. A policy that names none was written before there was another than kBothEnds.
  std::vector<Mechanism> mechanisms = {Mechanism::kBothEnds};
  friend bool operator==(const NodePolicy&, const NodePolicy&) = default;
};

inline constexpr uint64_t kEpsilonMicroLifetimeMax = uint64_t{1} << 53;  // JSON carries it exactly

// Writes millionths as a decimal number, exactly: "6", "0.5", "5.999999".
std::string EpsilonText(uint64_t epsilon_micro);

// KIT/policy.json.
std::string DefaultPolicyPath(const std::string& kit_folder);

// Returns NOT_FOUND, with the remedy, when the file is missing. Returns INVALID_ARGUMENT, naming the key and its range,
// when it is malformed, lacks a key, or has an unknown key or a key twice.
absl::StatusOr<NodePolicy> LoadPolicy(const std::string& path);

// Reads `text` as policy.json. `path` is for messages.
absl::StatusOr<NodePolicy> ParsePolicy(const std::string& text, const std::string& path);

// Returns FAILED_PRECONDITION, naming the deployment and the policy's, unless the policy allows the deployment.
absl::Status CheckDeployment(const NodePolicy& policy, const std::string& deployment);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_POLICY_FILE_H_
