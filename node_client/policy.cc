#include "node_client/policy.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/wire/group_degrees_codec.h"

namespace blink {

absl::Status CheckTerms(const KitConfig& kit, const NodePolicy& policy, const RoundView& round) {
  const PrivacyParameters& asked = round.parameters;
  if (asked.node_count() != kit.node_count) {
    return absl::FailedPreconditionError(
        absl::StrCat("the round is for ", asked.node_count(), " nodes, the kit for ", kit.node_count));
  }
  if (asked.node_count() < policy.node_count_min) {
    return absl::FailedPreconditionError(absl::StrCat("the round has ", asked.node_count(),
                                                      " nodes, the policy requires ", policy.node_count_min,
                                                      " (node_count_min)"));
  }
  if (round.roster_version != kit.roster_version) {
    return absl::FailedPreconditionError(absl::StrCat("the round is for roster version ", round.roster_version,
                                                      ", the kit for version ", kit.roster_version));
  }
  if (asked.epsilon_micro() > policy.epsilon_micro_per_round_max) {
    return absl::FailedPreconditionError(
        absl::StrCat("the round asks for epsilon ", EpsilonText(asked.epsilon_micro()), ", the policy allows ",
                     EpsilonText(policy.epsilon_micro_per_round_max), " (epsilon_micro_per_round_max)"));
  }
  const auto& allowed = policy.mechanisms;
  if (std::find(allowed.begin(), allowed.end(), asked.mechanism()) == allowed.end()) {
    const auto append_name = [](std::string* out, Mechanism mechanism) { out->append(MechanismName(mechanism)); };
    return absl::FailedPreconditionError(absl::StrCat("the round asks for the mechanism ",
                                                      MechanismName(asked.mechanism()), ", the policy allows ",
                                                      absl::StrJoin(allowed, ", ", append_name), " (mechanisms)"));
  }
  return absl::OkStatus();
}

uint32_t RoundsPerEpochMax(uint32_t hosted) {
  return std::clamp<uint64_t>(kRoundBytesPerEpoch / (128 * (uint64_t{hosted} + 2)), 16, kRoundsPerEpochMax);
}

uint32_t ParametersPerEpochMax(uint32_t hosted, uint32_t node_count, uint32_t groups) {
  const uint64_t content_bytes = groups > 0 ? groups * kGroupDegreeBytesMax : node_count / 8;
  const uint64_t report_bytes = content_bytes + 192;  // with its record's other fields
  return std::clamp<uint64_t>(kDrawBytesPerEpoch / (hosted * report_bytes), 8, kRoundsPerEpochMax);
}

absl::StatusOr<DrawDecision> DecideDraw(const NodePolicy& policy, const Ledger& ledger, const RoundView& round,
                                        absl::Time now) {
  if (const auto bound = ledger.RoundBinding(round.round_id)) {
    if (bound->parameters != round.parameters) {
      return absl::FailedPreconditionError(
          "the round was answered before with other parameters; a round cannot change them");
    }
    return DrawDecision{.epoch = bound->epoch, .begins_epoch = false, .complete = true};
  }
  DrawDecision decision;
  const auto epoch = ledger.epoch();
  if (epoch.has_value() && now < epoch->started + absl::Seconds(policy.epoch_seconds_min)) {
    decision.epoch = epoch->index;
  } else {
    decision.epoch = epoch.has_value() ? epoch->index + 1 : 1;
    decision.begins_epoch = true;
  }
  if (const uint32_t most = RoundsPerEpochMax(ledger.hosted()); ledger.RoundsOfEpoch(decision.epoch) >= most) {
    return absl::FailedPreconditionError(
        absl::StrCat("this epoch has answered ", most, " rounds already; further ones are answered in the next epoch"));
  }
  const auto spent = ledger.SpentMicroMaxWithoutDraw(decision.epoch, round.parameters);
  decision.complete = !spent.has_value();
  const uint32_t most =
      ParametersPerEpochMax(ledger.hosted(), round.parameters.node_count(), round.parameters.question().count);
  if (spent.has_value() && ledger.OtherParametersOfEpoch(decision.epoch, round.parameters) >= most) {
    return absl::FailedPreconditionError(absl::StrCat("this epoch has answered ", most,
                                                      " different parameters already; further "
                                                      "ones are answered in the next epoch, these again at once"));
  }
  const uint64_t asked = round.parameters.epsilon_micro(), allowed = policy.epsilon_micro_lifetime_max;
  if (spent.has_value() && (asked > allowed || *spent > allowed - asked)) {  // no sum that could overflow
    return absl::FailedPreconditionError(absl::StrCat(
        "the round asks for epsilon ", EpsilonText(asked), ", but ", EpsilonText(*spent), " of ", EpsilonText(allowed),
        " are spent (epsilon_micro_lifetime_max); reports already drawn in this epoch are not affected"));
  }
  return decision;
}

}  // namespace blink
