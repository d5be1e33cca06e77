#include "tools/simulate/mechanism_flags.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

std::string Named(const SimulateOptions& options) {
  return absl::StrCat("--mechanism ", FactsOf(options.mechanism).name);
}

absl::Status Refuse(const SimulateOptions& options, const char* flag, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(Named(options), " ", why, ": leave out ", flag));
}

// What belongs to rounds. Reports of blink and of one-end are those of a round.
absl::Status CheckRoundFlags(const SimulateOptions& options) {
  if (options.graph == SimulatedGraph::kTrue) {
    return Refuse(options, "--graph true", "says where the links come from (--mechanism none has the true ones)");
  }
  const bool of_round = FactsOf(options.mechanism).estimates_links;
  if (of_round && !options.reports.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--reports replays stored reports, which say by which mechanism they were drawn: leave out ", Named(options)));
  }
  if (of_round) return absl::OkStatus();
  if (!options.reports.empty()) return Refuse(options, "--reports", "cannot replay the reports of a round");
  if (!options.output.empty()) return Refuse(options, "--output", "makes no result of a round");
  if (!options.checkpoint.empty()) return Refuse(options, "--checkpoint", "keeps no reports to go on with");
  if (options.missing > 0) return Refuse(options, "--missing", "needs a report of every node");
  if (options.implausible) return Refuse(options, "--implausible", "has no second witness of a link to test it by");
  return absl::OkStatus();
}

absl::Status CheckEstimateFlags(const SimulateOptions& options) {
  const MechanismFacts& facts = FactsOf(options.mechanism);
  if (facts.estimates_links) return absl::OkStatus();
  if (options.degree_share_ppm) {
    return Refuse(options, "--degree-share",
                  facts.kind == MechanismKind::kDpRr ? "spends a tenth of the budget on the degree"
                  : facts.draws_noise                ? "does not split its budget by a degree share"
                                                     : "draws no noise");
  }
  if (options.training.variant() != v1::VARIANT_UNSPECIFIED) {
    return Refuse(options, "--variant", "uses its links as they are and estimates no probability");
  }
  if (options.training.prior() != v1::PRIOR_UNSPECIFIED) {
    return Refuse(options, "--prior", "uses its links as they are and has no prior");
  }
  return absl::OkStatus();
}

// Each number's name there is the end of its flag's.
absl::Status CheckSolitude(const LearnedLinksOptions& options) {
  const absl::Status status = ValidateLearnedLinks(options);
  return status.ok() ? status : absl::InvalidArgumentError(absl::StrCat("--solitude-", status.message()));
}

absl::Status CheckModelFlags(const SimulateOptions& options) {
  const v1::Model model = options.training.model();
  const bool chosen = model != v1::MODEL_UNSPECIFIED;
  switch (options.mechanism) {
    case MechanismKind::kMlp:
      return chosen && model != v1::MODEL_MLP ? Refuse(options, "--model", "is a model itself") : absl::OkStatus();
    case MechanismKind::kFeaturesOnly:
      if (chosen) return Refuse(options, "--model", "tries every model that sees no link");
      return options.training.candidates() > 0
                 ? Refuse(options, "--tune", "tries every model that sees no link already")
                 : absl::OkStatus();
    case MechanismKind::kSolitude:
      if (options.training.candidates() > 0) {
        return Refuse(options, "--tune", "learns its links together with one model, and cannot search over models");
      }
      if (model == v1::MODEL_MLP || model == v1::MODEL_NONE) {
        return Refuse(options, "--model", "learns its links with gcn, graphsage or gat");
      }
      return absl::OkStatus();
    case MechanismKind::kNone:
      return absl::OkStatus();
    default:
      if (model == v1::MODEL_MLP) {
        return absl::InvalidArgumentError(absl::StrCat(
            Named(options), " makes links, and --model mlp sees none: choose --mechanism mlp, or another model"));
      }
      return absl::OkStatus();
  }
}

}  // namespace

absl::Status ValidateMechanismOptions(const SimulateOptions& options) {
  BLINK_RETURN_IF_ERROR(CheckSolitude(options.solitude));
  if (options.mechanism != MechanismKind::kSolitude && options.solitude != LearnedLinksOptions{}) {
    return Refuse(options, "--solitude-rate, --solitude-closeness and --solitude-sparsity", "does not learn its links");
  }
  if (options.mechanism == MechanismKind::kBlink) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(CheckRoundFlags(options));
  BLINK_RETURN_IF_ERROR(CheckEstimateFlags(options));
  BLINK_RETURN_IF_ERROR(CheckModelFlags(options));
  if (FactsOf(options.mechanism).draws_noise) return absl::OkStatus();
  if (options.epsilon_micro) return Refuse(options, "--epsilon", "draws no noise");
  if (options.insecure_seeded_noise) return Refuse(options, "--insecure-seeded-noise", "draws no noise");
  return options.bounds ? Refuse(options, "--bounds", "is such a bound itself") : absl::OkStatus();
}

SimulateOptions ResolveMechanism(SimulateOptions options) {
  if (options.mechanism == MechanismKind::kNone) options.graph = SimulatedGraph::kTrue;
  if (options.mechanism == MechanismKind::kMlp) options.training.set_model(v1::MODEL_MLP);
  return options;
}

}  // namespace blink
