#include "common/privacy/parameters.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/privacy/flip_numerator.h"
#include "common/privacy/own_pairs.h"

namespace blink {
namespace {

constexpr Mechanism kKnown[] = {Mechanism::kBothEnds, Mechanism::kOneEnd, Mechanism::kGroupDegrees};

absl::Status CheckRanges(uint64_t epsilon_micro, uint32_t degree_share_ppm, uint32_t node_count) {
  if (epsilon_micro < 1 || epsilon_micro > kEpsilonMicroMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("epsilon_micro is ", epsilon_micro, ", but must be 1 .. ", kEpsilonMicroMax));
  }
  if (degree_share_ppm > kPartsPerMillion) {
    return absl::InvalidArgumentError(
        absl::StrCat("degree_share_ppm is ", degree_share_ppm, ", but must be 0 .. ", kPartsPerMillion));
  }
  if (node_count < kNodesMin || node_count > kNodesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("node_count is ", node_count, ", but must be ", kNodesMin, " .. ", kNodesMax));
  }
  return absl::OkStatus();
}

}  // namespace

const char* MechanismName(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::kBothEnds:
      return "both-ends";
    case Mechanism::kOneEnd:
      return "one-end";
    case Mechanism::kGroupDegrees:
      break;
  }
  return "group-degrees";
}

std::optional<Mechanism> MechanismNumbered(uint32_t number) {
  for (const Mechanism known : kKnown) {
    if (number == static_cast<uint32_t>(known)) return known;
  }
  return std::nullopt;
}

std::optional<Mechanism> MechanismNamed(absl::string_view name) {
  for (const Mechanism known : kKnown) {
    if (name == MechanismName(known)) return known;
  }
  return std::nullopt;
}

absl::StatusOr<PrivacyParameters> PrivacyParameters::Create(uint64_t epsilon_micro, uint32_t degree_share_ppm,
                                                            uint32_t node_count, Mechanism mechanism) {
  BLINK_RETURN_IF_ERROR(CheckRanges(epsilon_micro, degree_share_ppm, node_count));
  if (mechanism == Mechanism::kGroupDegrees) {
    return absl::InvalidArgumentError("the mechanism group-degrees needs groups to ask about");
  }
  PrivacyParameters parameters;
  parameters.epsilon_micro_ = epsilon_micro;
  parameters.degree_share_ppm_ = degree_share_ppm;
  parameters.node_count_ = node_count;
  parameters.mechanism_ = mechanism;
  parameters.flip_numerator_ = FlipNumerator(parameters.list_epsilon_numerator());
  return parameters;
}

absl::StatusOr<PrivacyParameters> PrivacyParameters::CreateForGroups(uint64_t epsilon_micro, uint32_t node_count,
                                                                     const GroupQuestion& question) {
  BLINK_RETURN_IF_ERROR(CheckRanges(epsilon_micro, /*degree_share_ppm=*/0, node_count));
  if (question.count < 1 || question.count > node_count) {
    return absl::InvalidArgumentError(
        absl::StrCat("group_count is ", question.count, ", but must be 1 .. ", node_count, ", the number of nodes"));
  }
  PrivacyParameters parameters;
  parameters.epsilon_micro_ = epsilon_micro;
  parameters.node_count_ = node_count;
  parameters.mechanism_ = Mechanism::kGroupDegrees;
  parameters.question_ = question;
  parameters.flip_numerator_ = FlipNumerator(0);
  return parameters;
}

uint32_t PrivacyParameters::row_bits(NodeIndex self) const {
  return mechanism_ == Mechanism::kOneEnd ? OwnPairCount(self, node_count_) : node_count_;
}

uint32_t PrivacyParameters::pairs_of_report(NodeIndex self) const {
  return mechanism_ == Mechanism::kOneEnd ? OwnPairCount(self, node_count_) : node_count_ - 1;
}

double PrivacyParameters::epsilon_list() const { return static_cast<double>(list_epsilon_numerator()) / 1e12; }

double PrivacyParameters::flip_probability() const { return std::ldexp(static_cast<double>(flip_numerator_), -64); }

double PrivacyParameters::bit_log_odds() const {
  if (!sends_bits()) return 0.0;
  // (1 - p') / p' = 1 + (1 - 2p') / p'; the integer 2^64 - 2P is exact, also where p' is almost 1/2.
  const uint64_t excess = uint64_t{0} - 2 * flip_numerator_;
  const long double odds = std::log1p(static_cast<long double>(excess) / static_cast<long double>(flip_numerator_));
  return static_cast<double>(odds);
}

double PrivacyParameters::achieved_epsilon() const {
  if (sends_group_degrees()) return epsilon();
  // At most epsilon by the theorem; the minimum only removes the rounding of the logarithm.
  return std::min(bit_log_odds() + epsilon_degree(), epsilon());
}

}  // namespace blink
