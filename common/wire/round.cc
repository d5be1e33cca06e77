#include "common/wire/round.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/limits.h"
#include "common/base/name.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr int64_t kTimeMsMax = 253'402'300'799'000;  // the last second of the year 9999
constexpr size_t kRoundIdCharacters = 32;

bool IsLowerCaseHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

absl::Status ValidateState(v1::RoundState state) {
  if (v1::RoundState_IsValid(state) && state != v1::ROUND_STATE_UNSPECIFIED) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("state is ", static_cast<int>(state), ", which this version does not know"));
}

absl::StatusOr<PrivacyParameters> ParametersOfGroups(const v1::PrivacyParameters& proto) {
  if (proto.degree_share_ppm() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("degree_share_ppm is ", proto.degree_share_ppm(),
                                                   ", but must be 0 where the mechanism is group-degrees"));
  }
  if (proto.group_count() < 1 || proto.group_count() > kGroupsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("group_count is ", proto.group_count(), ", but must be 1 .. ", kGroupsMax));
  }
  const absl::StatusOr<Digest> digest = DigestFromBytes(proto.groups_sha256());
  if (!digest.ok()) return absl::InvalidArgumentError(absl::StrCat("groups_sha256: ", digest.status().message()));
  return PrivacyParameters::CreateForGroups(proto.epsilon_micro(), proto.node_count(), {proto.group_count(), *digest});
}

}  // namespace

absl::Status ValidateDeployment(const std::string& deployment) {
  if (IsName(deployment)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("deployment must be ", kNameRule));
}

absl::Status ValidateRoundId(const std::string& round_id) {
  if (round_id.size() != kRoundIdCharacters || !std::all_of(round_id.begin(), round_id.end(), IsLowerCaseHex)) {
    return absl::InvalidArgumentError("round_id must be 32 lower-case hexadecimal digits");
  }
  return absl::OkStatus();
}

absl::StatusOr<PrivacyParameters> ParametersFromProto(const v1::PrivacyParameters& proto) {
  const std::optional<Mechanism> mechanism = MechanismNumbered(proto.mechanism());
  if (!mechanism) {
    return absl::InvalidArgumentError(absl::StrCat(
        "mechanism is ", proto.mechanism(), ", but only 1 (both-ends), 2 (one-end) and 3 (group-degrees) are known"));
  }
  if (*mechanism == Mechanism::kGroupDegrees) return ParametersOfGroups(proto);
  if (proto.group_count() != 0 || !proto.groups_sha256().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the mechanism ", MechanismName(*mechanism),
                                                   " asks about no groups: leave out group_count and groups_sha256"));
  }
  return PrivacyParameters::Create(proto.epsilon_micro(), proto.degree_share_ppm(), proto.node_count(), *mechanism);
}

v1::PrivacyParameters ParametersToProto(const PrivacyParameters& parameters) {
  v1::PrivacyParameters proto;
  proto.set_epsilon_micro(parameters.epsilon_micro());
  proto.set_degree_share_ppm(parameters.degree_share_ppm());
  proto.set_node_count(parameters.node_count());
  proto.set_mechanism(static_cast<uint32_t>(parameters.mechanism()));
  if (parameters.sends_group_degrees()) {
    proto.set_group_count(parameters.question().count);
    proto.set_groups_sha256(DigestToBytes(parameters.question().map_sha256));
  }
  return proto;
}

absl::StatusOr<RoundView> RoundViewFromProto(const v1::NodeRound& proto) {
  BLINK_RETURN_IF_ERROR(ValidateRoundId(proto.round_id()));
  BLINK_ASSIGN_OR_RETURN(const PrivacyParameters parameters, ParametersFromProto(proto.parameters()));
  BLINK_RETURN_IF_ERROR(ValidateState(proto.state()));
  if (proto.deadline_ms() < 0 || proto.deadline_ms() > kTimeMsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("deadline_ms is ", proto.deadline_ms(), ", but must be 0 .. ", kTimeMsMax));
  }
  RoundView view{.round_id = proto.round_id(),
                 .parameters = parameters,
                 .roster_version = proto.roster_version(),
                 .state = proto.state(),
                 .deadline = absl::FromUnixMillis(proto.deadline_ms())};
  if (!proto.held_digest().empty()) {
    absl::StatusOr<Digest> digest = DigestFromBytes(proto.held_digest());
    if (!digest.ok()) return absl::InvalidArgumentError(absl::StrCat("held_digest: ", digest.status().message()));
    view.held_digest = *digest;
  }
  return view;
}

v1::NodeRound RoundViewToProto(const RoundView& view) {
  v1::NodeRound proto;
  proto.set_round_id(view.round_id);
  *proto.mutable_parameters() = ParametersToProto(view.parameters);
  proto.set_roster_version(view.roster_version);
  proto.set_state(view.state);
  proto.set_deadline_ms(absl::ToUnixMillis(view.deadline));
  if (view.held_digest.has_value()) proto.set_held_digest(DigestToBytes(*view.held_digest));
  return proto;
}

RetryWindow RetryWindowFromProto(const v1::RetryWindow& proto) {
  const uint32_t min_ms = std::min(proto.min_ms(), kRetryWindowMsMax);
  const uint32_t max_ms = std::clamp(proto.max_ms(), min_ms, kRetryWindowMsMax);
  return {.min = absl::Milliseconds(min_ms), .max = absl::Milliseconds(max_ms)};
}

v1::RetryWindow RetryWindowToProto(const RetryWindow& window) {
  const absl::Duration longest = absl::Milliseconds(kRetryWindowMsMax);
  const absl::Duration min = std::clamp(window.min, absl::ZeroDuration(), longest);
  const absl::Duration max = std::clamp(window.max, min, longest);
  v1::RetryWindow proto;
  proto.set_min_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(min)));
  proto.set_max_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(max)));
  return proto;
}

bool IsTerminal(v1::RoundState state) {
  return state == v1::ROUND_STATE_READY || state == v1::ROUND_STATE_FAILED || state == v1::ROUND_STATE_CANCELLED;
}

const char* ImplausibleName(v1::Implausible policy) {
  return policy == v1::IMPLAUSIBLE_KEEP ? "keep" : policy == v1::IMPLAUSIBLE_DROP ? "drop" : "flag";
}

const char* RoundStateName(v1::RoundState state) {
  switch (state) {
    case v1::ROUND_STATE_OPEN:
      return "open";
    case v1::ROUND_STATE_SEALED:
      return "sealed";
    case v1::ROUND_STATE_ESTIMATING:
      return "estimating";
    case v1::ROUND_STATE_TRAINING:
      return "training";
    case v1::ROUND_STATE_READY:
      return "ready";
    case v1::ROUND_STATE_FAILED:
      return "failed";
    case v1::ROUND_STATE_CANCELLED:
      return "cancelled";
    default:
      return "unspecified";
  }
}

}  // namespace blink
