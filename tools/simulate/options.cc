#include "tools/simulate/options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "aggregator_server/result/result_place.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"
#include "common/cli/decimal.h"
#include "common/cli/training_flags.h"
#include "common/wire/degree_share.h"
#include "common/wire/training_spec.h"
#include "tools/simulate/mechanism_flags.h"

namespace blink {

bool DrawsOrReadsReports(const SimulateOptions& options) {
  if (options.graph == SimulatedGraph::kTrue || !options.links.empty()) return false;
  if (options.mechanism != MechanismKind::kBlink) return FactsOf(options.mechanism).draws_noise;
  return options.training.model() != v1::MODEL_MLP || options.training.prior() == v1::PRIOR_ATTRIBUTED ||
         options.epsilon_micro || options.degree_share_ppm || options.insecure_seeded_noise ||
         !options.reports.empty() || !options.output.empty();
}

bool EstimatesLinks(const SimulateOptions& options) {
  return DrawsOrReadsReports(options) && FactsOf(options.mechanism).estimates_links;
}

absl::StatusOr<PrivacyParameters> ParametersOf(const SimulateOptions& options, uint32_t nodes) {
  const uint64_t epsilon_micro = *options.epsilon_micro;
  const Prior prior = FromProto(options.training.prior()).value_or(Prior::kBeta);
  const uint64_t default_ppm = DefaultDegreeSharePpm(epsilon_micro, prior);
  const uint64_t share_ppm =
      options.degree_share_ppm.value_or(FixedDegreeSharePpm(options.mechanism).value_or(default_ppm));
  if (epsilon_micro < 1 || epsilon_micro > kEpsilonMicroMax) {
    return absl::InvalidArgumentError(absl::StrCat("--epsilon is ", FormatMicro(epsilon_micro), ": it must be in (0, ",
                                                   FormatMicro(kEpsilonMicroMax), "]"));
  }
  if (share_ppm > kPartsPerMillion) {
    return absl::InvalidArgumentError(
        absl::StrCat("--degree-share is ", FormatMicro(share_ppm), ": it must be in [0, 1]"));
  }
  const bool one_end = options.mechanism == MechanismKind::kOneEnd;
  return PrivacyParameters::Create(epsilon_micro, static_cast<uint32_t>(share_ppm), nodes,
                                   one_end ? Mechanism::kOneEnd : Mechanism::kBothEnds);
}

absl::StatusOr<Ingredients> LeaveOutIngredients(const std::vector<std::string>& without) {
  Ingredients left;
  for (const std::string& name : without) {
    const auto known = std::find_if(kIngredientNames.begin(), kIngredientNames.end(), [&](const IngredientName& entry) {
      return absl::EqualsIgnoreCase(entry.name, name);
    });
    if (known == kIngredientNames.end()) {
      const auto append = [](std::string* out, const IngredientName& entry) { out->append(entry.name); };
      return absl::InvalidArgumentError(absl::StrCat("--without names '", name, "', which is none of ",
                                                     absl::StrJoin(kIngredientNames, ", ", append)));
    }
    left.*known->ingredient = false;
  }
  return left;
}

absl::Status CheckPrior(const SimulateOptions& options, v1::Prior prior) {
  BLINK_ASSIGN_OR_RETURN(const Ingredients left, LeaveOutIngredients(options.without));
  if (options.network_rounds && (*options.network_rounds < 0 || *options.network_rounds > kNetworkRoundsMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--network-rounds is ", *options.network_rounds, ": it must be in 0 .. ", kNetworkRoundsMax));
  }
  if (options.network_rounds && !left.network) {
    return absl::InvalidArgumentError(
        "--without network leaves out what --network-rounds counts: leave out one of them");
  }
  const char* flag = !options.without.empty() ? "--without" : options.network_rounds ? "--network-rounds" : nullptr;
  if (flag == nullptr || prior == v1::PRIOR_ATTRIBUTED) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      flag, " is about the attributed prior, and the prior is beta: give --prior attributed, or leave out ", flag));
}

namespace {

absl::Status ValidateGivenLinks(const SimulateOptions& options) {
  if (options.links.empty()) return absl::OkStatus();
  const std::pair<bool, const char*> others[] = {
      {options.mechanism != MechanismKind::kBlink, "--mechanism"},
      {options.graph == SimulatedGraph::kTrue, "--graph true"},
      {options.epsilon_micro.has_value(), "--epsilon"},
      {options.degree_share_ppm.has_value(), "--degree-share"},
      {!options.reports.empty(), "--reports"},
      {!options.save_reports.empty(), "--save-reports"},
      {options.insecure_seeded_noise, "--insecure-seeded-noise"},
      {options.missing > 0, "--missing"},
      {options.implausible.has_value(), "--implausible"},
      {!options.without.empty(), "--without"},
      {options.network_rounds.has_value(), "--network-rounds"},
      {options.bounds, "--bounds"},
      {!options.output.empty(), "--output"},
      {options.training.variant() != v1::VARIANT_UNSPECIFIED, "--variant"},
      {options.training.model() == v1::MODEL_NONE, "--model none"},
  };
  for (const auto& [given, flag] : others) {
    if (!given) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "--links trains on the links of a file as they are, and draws and estimates nothing: leave out ", flag));
  }
  return absl::OkStatus();
}

absl::Status ValidateSavedReports(const SimulateOptions& options) {
  if (options.save_reports.empty()) return absl::OkStatus();
  if (!FactsOf(options.mechanism).estimates_links) {
    return absl::InvalidArgumentError(
        "--save-reports keeps reports of blink or one-end, as a round does: leave it out, or --mechanism");
  }
  if (!DrawsOrReadsReports(options) || !options.reports.empty()) {
    return absl::InvalidArgumentError(
        "--save-reports keeps the reports that are drawn, and none is: leave it out, or --reports, --graph true or "
        "--model mlp");
  }
  if (options.checkpoint.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--checkpoint keeps the reports already, in ", options.checkpoint,
                                                 "/trial-1 and so on: leave out --save-reports"));
}

}  // namespace

absl::Status ValidateSimulateOptions(const SimulateOptions& given) {
  BLINK_RETURN_IF_ERROR(ValidateMechanismOptions(given));
  const SimulateOptions options = ResolveMechanism(given);
  BLINK_RETURN_IF_ERROR(ValidateGivenLinks(options));
  BLINK_RETURN_IF_ERROR(ValidateSavedReports(options));
  const v1::TrainingSpec& training = options.training;
  if (options.graph == SimulatedGraph::kTrue && (!options.without.empty() || options.network_rounds)) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.without.empty() ? "--network-rounds" : "--without",
        " is about the estimate of the links, and --graph true takes them as they are: leave out one of them"));
  }
  // A replay has the prior of its round, where no flag says otherwise, and that is not known yet.
  const bool knows_prior = options.reports.empty() || training.prior() != v1::PRIOR_UNSPECIFIED;
  BLINK_RETURN_IF_ERROR(CheckPrior(options, knows_prior ? training.prior() : v1::PRIOR_ATTRIBUTED));
  if (knows_prior) BLINK_RETURN_IF_ERROR(NamingTheFlag(NormalizeTrainingSpec(training).status()));
  if (training.model() == v1::MODEL_MLP && (training.node_features() == v1::NODE_FEATURES_DEGREE ||
                                            training.node_features() == v1::NODE_FEATURES_GIVEN_AND_DEGREE)) {
    return absl::InvalidArgumentError(
        "--model mlp sees no link, so the degree cannot be its feature: choose --node-features identity, or given "
        "where the data set has features, or a model that sees links");
  }
  if (!(options.checkpoint_every_s >= 0 && options.checkpoint_every_s <= 86'400)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--checkpoint-every is ", options.checkpoint_every_s, ": it must be in 0 .. 86,400 seconds"));
  }
  if (options.replace_output && options.output.empty()) {
    return absl::InvalidArgumentError(
        "--replace says that --output may replace an earlier result: name it, or leave out --replace");
  }
  if (options.trials && (*options.trials < 1 || *options.trials > 100'000)) {
    return absl::InvalidArgumentError(absl::StrCat("--trials is ", *options.trials, ": it must be in 1 .. 100,000"));
  }
  if (!(options.missing >= 0 && options.missing < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("--missing is ", options.missing,
                                                   ": it must be in [0, 1), the share of the nodes that never report"));
  }
  if (options.missing > 0 && (!options.reports.empty() || !DrawsOrReadsReports(options))) {
    return absl::InvalidArgumentError(
        "--missing leaves nodes out when reports are drawn: it cannot be used with --reports, with --graph true or "
        "with "
        "--model mlp alone");
  }
  if (!options.checkpoint.empty() && !options.output.empty() &&
      ResultPlace::Takes(options.output, options.checkpoint)) {
    return absl::InvalidArgumentError(absl::StrCat("--checkpoint ", options.checkpoint,
                                                   " is, or is in, a folder that the result ", options.output,
                                                   " takes: name a folder apart from --output"));
  }
  if (options.bounds && training.model() == v1::MODEL_NONE) {
    return absl::InvalidArgumentError(
        "--bounds is about accuracies and --model none trains nothing: leave out one of them");
  }
  if (options.bounds && !DrawsOrReadsReports(options)) {
    return absl::InvalidArgumentError(
        "--bounds measures between which bounds a training on reports lies: it cannot be used with --graph true, which "
        "is one of them, or with --model mlp alone");
  }
  if (options.graph == SimulatedGraph::kTrue) {
    if (training.model() == v1::MODEL_NONE) {
      return absl::InvalidArgumentError(
          "--graph true takes the links as they are and --model none trains nothing: leave out one of them");
    }
    if (!options.reports.empty()) {
      return absl::InvalidArgumentError("--graph true trains on the true graph: leave out --reports");
    }
    if (options.insecure_seeded_noise) {
      return absl::InvalidArgumentError("--graph true draws no noise: leave out --insecure-seeded-noise");
    }
    if (!options.output.empty()) {
      return absl::InvalidArgumentError("--output writes the result of a round: it cannot be used with --graph true");
    }
    return absl::OkStatus();
  }
  if (!options.reports.empty()) {
    if (options.epsilon_micro || options.degree_share_ppm || options.insecure_seeded_noise) {
      return absl::InvalidArgumentError(
          "--reports replays stored reports, whose budget and noise are fixed: leave out --epsilon, --degree-share and "
          "--insecure-seeded-noise");
    }
    return absl::OkStatus();
  }
  if (!DrawsOrReadsReports(options)) return absl::OkStatus();
  if (!options.epsilon_micro) {
    return absl::InvalidArgumentError("--epsilon is missing: give the privacy budget of a report, such as --epsilon 6");
  }
  return ParametersOf(options, kNodesMin).status();
}

bool KeepsReports(const SimulateOptions& options) {
  return !options.save_reports.empty() || (!options.checkpoint.empty() && DrawsOrReadsReports(options) &&
                                           options.reports.empty() && !options.insecure_seeded_noise);
}

}  // namespace blink
