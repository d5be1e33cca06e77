#include "node_client/policy_file.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"
#include "common/wire/strict_json.h"

namespace blink {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kPolicyBytesMax = 64 << 10;
constexpr uint64_t kSecondsMax = 100ull * 365 * 86400;

absl::StatusOr<std::vector<std::string>> Deployments(const JsonMembers& members) {
  BLINK_ASSIGN_OR_RETURN(const Json* array, members.Array("deployments"));
  std::vector<std::string> deployments;
  for (const Json& item : *array) {
    if (!item.is_string()) return members.Error("\"deployments\" must hold names of deployments");
    if (const absl::Status valid = ValidateDeployment(item.get<std::string>()); !valid.ok()) {
      return members.Error(absl::StrCat("\"deployments\": ", valid.message()));
    }
    deployments.push_back(item.get<std::string>());
  }
  if (deployments.empty()) return members.Error("\"deployments\" is empty, so that no deployment is allowed; name one");
  return deployments;
}

absl::StatusOr<std::vector<Mechanism>> Mechanisms(const JsonMembers& members) {
  BLINK_ASSIGN_OR_RETURN(const Json* array, members.Array("mechanisms"));
  std::vector<Mechanism> mechanisms;
  for (const Json& item : *array) {
    const auto mechanism = item.is_string() ? MechanismNamed(item.get<std::string>()) : std::nullopt;
    if (!mechanism) {
      return members.Error("\"mechanisms\" must hold names of mechanisms: both-ends, one-end, group-degrees");
    }
    mechanisms.push_back(*mechanism);
  }
  if (mechanisms.empty()) return members.Error("\"mechanisms\" is empty, so that no round is allowed; name one");
  return mechanisms;
}

}  // namespace

std::string EpsilonText(uint64_t epsilon_micro) {
  std::string text = absl::StrFormat("%d.%06d", epsilon_micro / 1'000'000, epsilon_micro % 1'000'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string DefaultPolicyPath(const std::string& kit_folder) { return kit_folder + "/policy.json"; }

absl::StatusOr<NodePolicy> ParsePolicy(const std::string& text, const std::string& path) {
  BLINK_ASSIGN_OR_RETURN(const Json json, ParseStrictJson(text, path));
  const JsonMembers members(json, path, "", &text);
  BLINK_RETURN_IF_ERROR(members.CheckFormat(1));
  BLINK_RETURN_IF_ERROR(
      members.RefuseUnknown({"format", "deployments", "epsilon_micro_per_round_max", "epsilon_micro_lifetime_max",
                             "epoch_seconds_min", "node_count_min", "send_spread_seconds", "mechanisms"}));
  NodePolicy policy;
  BLINK_ASSIGN_OR_RETURN(policy.deployments, Deployments(members));
  BLINK_ASSIGN_OR_RETURN(policy.epsilon_micro_per_round_max,
                         members.Integer("epsilon_micro_per_round_max", 0, kEpsilonMicroMax));
  BLINK_ASSIGN_OR_RETURN(policy.epsilon_micro_lifetime_max,
                         members.Integer("epsilon_micro_lifetime_max", 0, kEpsilonMicroLifetimeMax));
  BLINK_ASSIGN_OR_RETURN(policy.epoch_seconds_min, members.Integer("epoch_seconds_min", 0, kSecondsMax));
  BLINK_ASSIGN_OR_RETURN(policy.node_count_min, members.Integer("node_count_min", kNodesMin, kNodesMax));
  BLINK_ASSIGN_OR_RETURN(policy.send_spread_seconds, members.Integer("send_spread_seconds", 0, kSecondsMax));
  if (members.Has("mechanisms")) {
    BLINK_ASSIGN_OR_RETURN(policy.mechanisms, Mechanisms(members));
  }
  return policy;
}

absl::StatusOr<NodePolicy> LoadPolicy(const std::string& path) {
  const auto text = ReadFile(path, kPolicyBytesMax);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(text.status().message(),
                                            ": without a policy nothing is reported. Write one "
                                            "(deploy/policy.json is a sample) or name it with --policy"));
  }
  if (!text.ok()) return text.status();
  return ParsePolicy(*text, path);
}

absl::Status CheckDeployment(const NodePolicy& policy, const std::string& deployment) {
  if (std::find(policy.deployments.begin(), policy.deployments.end(), deployment) != policy.deployments.end()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat("the kit is for the deployment ", deployment,
                                                    ", the policy allows ", absl::StrJoin(policy.deployments, ", "),
                                                    " (deployments)"));
}

}  // namespace blink
