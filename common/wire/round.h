// Rounds as the programs know them, and their conversion from and to the wire. Every field of a peer is checked here,
// once. After that, an object that exists is valid.
#ifndef BLINK_COMMON_WIRE_ROUND_H_
#define BLINK_COMMON_WIRE_ROUND_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "blink/v1/common.pb.h"
#include "blink/v1/node.pb.h"
#include "blink/v1/operator.pb.h"
#include "common/base/digest.h"
#include "common/privacy/parameters.h"

namespace blink {

// Both return INVALID_ARGUMENT for other texts. A deployment is [a-z0-9-]{1,64}, a round id 32 lower-case hexadecimal
// digits.
absl::Status ValidateDeployment(const std::string& deployment);
absl::Status ValidateRoundId(const std::string& round_id);

absl::StatusOr<PrivacyParameters> ParametersFromProto(const v1::PrivacyParameters& proto);
v1::PrivacyParameters ParametersToProto(const PrivacyParameters& parameters);

// A node's view of a round (NodeRound).
struct RoundView {
  std::string round_id;
  PrivacyParameters parameters;
  uint64_t roster_version = 0;
  v1::RoundState state = v1::ROUND_STATE_UNSPECIFIED;
  absl::Time deadline;
  std::optional<Digest> held_digest;
};
absl::StatusOr<RoundView> RoundViewFromProto(const v1::NodeRound& proto);
v1::NodeRound RoundViewToProto(const RoundView& view);

// When a peer wants to be called again: after a time between min and max. Read from the wire, both are clamped to
// [0, kRetryWindowMsMax], and max is at least min.
struct RetryWindow {
  absl::Duration min;
  absl::Duration max;
};
RetryWindow RetryWindowFromProto(const v1::RetryWindow& proto);
v1::RetryWindow RetryWindowToProto(const RetryWindow& window);

bool IsTerminal(v1::RoundState state);
const char* RoundStateName(v1::RoundState state);     // "open", "sealed", ...
const char* ImplausibleName(v1::Implausible policy);  // "keep", "flag" or "drop"; "flag" when it is unset

}  // namespace blink

#endif  // BLINK_COMMON_WIRE_ROUND_H_
