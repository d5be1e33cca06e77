#include "node_client/policy.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace blink {

absl::Status CheckTerms(const KitConfig& kit, const RoundView& round) {
  const PrivacyParameters& asked = round.parameters;
  if (asked.node_count() != kit.node_count) {
    return absl::FailedPreconditionError(
        absl::StrCat("the round is for ", asked.node_count(), " nodes, the kit for ", kit.node_count));
  }
  if (asked.node_count() < kit.policy.node_count_min) {
    return absl::FailedPreconditionError(absl::StrCat("the round has ", asked.node_count(), " nodes, the policy requires ",
                                                      kit.policy.node_count_min, " (policy.node_count_min)"));
  }
  if (round.roster_version != kit.roster_version) {
    return absl::FailedPreconditionError(absl::StrCat("the round is for roster version ", round.roster_version,
                                                      ", the kit for version ", kit.roster_version));
  }
  if (asked.epsilon_micro() > kit.policy.epsilon_micro_per_round_max) {
    return absl::FailedPreconditionError(absl::StrFormat(  // all six decimals: 5.999999 is not 6
        "the round asks for epsilon %.8g, the policy allows %.8g (policy.epsilon_micro_per_round_max)", asked.epsilon(),
        static_cast<double>(kit.policy.epsilon_micro_per_round_max) * 1e-6));
  }
  return absl::OkStatus();
}

absl::StatusOr<DrawDecision> DecideDraw(const NodePolicy& policy, const Ledger& ledger, const RoundView& round,
                                        absl::Time now) {
  if (const auto bound = ledger.RoundBinding(round.round_id)) {
    if (bound->parameters != round.parameters) {
      return absl::FailedPreconditionError("the round was answered before with other parameters; a round cannot change them");
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
  if (ledger.RoundsOfEpoch(decision.epoch) >= kRoundsPerEpochMax) {
    return absl::FailedPreconditionError(absl::StrCat("this epoch has answered ", kRoundsPerEpochMax,
                                                      " rounds already; further ones are answered in the next epoch"));
  }
  const auto spent = ledger.SpentMicroMaxWithoutDraw(decision.epoch, round.parameters);
  decision.complete = !spent.has_value();
  if (spent.has_value() && *spent + round.parameters.epsilon_micro() > policy.epsilon_micro_lifetime_max) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the round asks for epsilon ", round.parameters.epsilon(), ", but ", static_cast<double>(*spent) * 1e-6, " of ",
        static_cast<double>(policy.epsilon_micro_lifetime_max) * 1e-6,
        " are spent (policy.epsilon_micro_lifetime_max); reports already drawn in this epoch are not affected"));
  }
  return decision;
}

}  // namespace blink
