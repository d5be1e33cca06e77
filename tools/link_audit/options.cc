#include "tools/link_audit/options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/training_flags.h"
#include "common/wire/degree_share.h"
#include "common/wire/training_spec.h"

namespace blink {
namespace {

absl::Status CheckBudgets(const LinkAuditOptions& options) {
  const std::vector<uint64_t>& budgets = options.epsilon_micro;
  if (budgets.empty() || budgets.size() > kAuditedBudgetsMax) {
    return absl::InvalidArgumentError(absl::StrCat("--epsilon has ", budgets.size(), " budgets: give 1 .. ",
                                                   kAuditedBudgetsMax, " of them, such as --epsilon 1,2,4,8"));
  }
  for (size_t k = 0; k < budgets.size(); ++k) {
    if (std::find(budgets.begin(), budgets.begin() + static_cast<int64_t>(k), budgets[k]) != budgets.begin() + k) {
      return absl::InvalidArgumentError(
          absl::StrCat("--epsilon names ", FormatMicro(budgets[k]), " more than once: name each budget once"));
    }
    if (budgets[k] < 1 || budgets[k] > kEpsilonMicroMax) {
      return absl::InvalidArgumentError(absl::StrCat("--epsilon is ", FormatMicro(budgets[k]), ": it must be in (0, ",
                                                     FormatMicro(kEpsilonMicroMax), "]"));
    }
  }
  if (options.degree_share_ppm.value_or(0) > kPartsPerMillion) {
    return absl::InvalidArgumentError(
        absl::StrCat("--degree-share is ", FormatMicro(*options.degree_share_ppm), ": it must be in [0, 1]"));
  }
  return absl::OkStatus();
}

absl::Status CheckTraining(const LinkAuditOptions& options) {
  const v1::TrainingSpec& training = options.training;
  if (training.candidates() > 0) {
    return absl::InvalidArgumentError(
        "--tune searches for a model, and an audit attacks one that is named: leave it out, and set --model, "
        "--learning-rate and so on");
  }
  BLINK_RETURN_IF_ERROR(NamingTheFlag(TrainingOf(options).status()));
  switch (training.model()) {
    case v1::MODEL_UNSPECIFIED:
    case v1::MODEL_GCN:
    case v1::MODEL_GRAPHSAGE:
    case v1::MODEL_GAT:
      break;
    case v1::MODEL_MLP:
      return absl::InvalidArgumentError(
          "--model mlp sees no link: it is audited beside every other model, as features-only. Choose gcn, graphsage "
          "or gat");
    default:
      return absl::InvalidArgumentError(
          "--model must be one whose predictions the links reach through layers: gcn, graphsage or gat");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateLinkAuditOptions(const LinkAuditOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckBudgets(options));
  BLINK_RETURN_IF_ERROR(CheckTraining(options));
  if (options.trials < 1 || options.trials > kAuditTrialsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--trials is ", options.trials, ": it must be in 1 .. ", kAuditTrialsMax));
  }
  if (options.influence_nodes < 1 || options.influence_nodes > kInfluenceNodesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--influence-nodes is ", options.influence_nodes, ": it must be in 1 .. 100,000"));
  }
  for (const uint64_t budget : options.epsilon_micro) {
    BLINK_RETURN_IF_ERROR(ParametersOf(options, budget, kNodesMin).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::TrainingSpec> TrainingOf(const LinkAuditOptions& options) {
  v1::TrainingSpec spec = options.training;
  spec.set_candidates(0);
  if (spec.model() == v1::MODEL_UNSPECIFIED) spec.set_model(v1::MODEL_GCN);
  spec.set_seed(options.seed);
  return NormalizeTrainingSpec(std::move(spec));
}

absl::StatusOr<PrivacyParameters> ParametersOf(const LinkAuditOptions& options, uint64_t epsilon_micro,
                                               uint32_t nodes) {
  const Prior prior = FromProto(options.training.prior()).value_or(Prior::kBeta);
  const uint64_t share = options.degree_share_ppm.value_or(DefaultDegreeSharePpm(epsilon_micro, prior));
  return PrivacyParameters::Create(epsilon_micro, static_cast<uint32_t>(share), nodes);
}

}  // namespace blink
