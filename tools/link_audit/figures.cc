#include "tools/link_audit/figures.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/cli/decimal.h"

namespace blink {

std::optional<Spread> SpreadOf(const std::vector<std::optional<double>>& values) {
  if (values.empty()) return std::nullopt;
  Spread spread;
  for (const std::optional<double>& value : values) {
    if (!value.has_value() || !std::isfinite(*value)) return std::nullopt;
    spread.trials.push_back(*value);
    spread.mean += *value;
  }
  const auto count = static_cast<double>(values.size());
  spread.mean /= count;
  if (values.size() < 2) return spread;
  double squares = 0;
  for (const double value : spread.trials) squares += (value - spread.mean) * (value - spread.mean);
  spread.standard_error = std::sqrt(squares / (count - 1) / count);
  return spread;
}

std::optional<Spread> FigureOf(const LinkAudit& audit, size_t victim, size_t attack, size_t group, size_t measure) {
  std::vector<std::optional<double>> values;
  for (const AuditTrial& trial : audit.trials) {
    values.push_back(trial.victims[victim].attacks[attack].groups[group].*kMeasures[measure].value);
  }
  return SpreadOf(values);
}

std::optional<BestSimilarity> BestSimilarityOf(const LinkAudit& audit, size_t victim, size_t group, size_t measure) {
  std::optional<BestSimilarity> best;
  if (audit.trials.empty()) return best;
  const std::vector<AttackResult>& attacks = audit.trials[0].victims[victim].attacks;
  for (size_t k = 0; k < attacks.size(); ++k) {
    if (attacks[k].kind != AttackKind::kSimilarity) continue;
    std::optional<Spread> figure = FigureOf(audit, victim, k, group, measure);
    if (!figure || (best && figure->mean <= best->figure.mean)) continue;
    best = {attacks[k].name, *std::move(figure)};
  }
  return best;
}

double ChanceOf(const NodeGroup& group, const NodeGroup& every_node, size_t measure) {
  const auto value = kMeasures[measure].value;
  if (value == &LinkMeasures::auc) return 0.5;
  if (value == &LinkMeasures::precision) return group.density();
  if (value == &LinkMeasures::recall) return every_node.density();  // the share of all pairs that is taken
  return kFalsePositiveRate;
}

std::string NameOfVictim(const Victim& victim) {
  if (victim.kind == VictimKind::kFeaturesOnly) return "features only";
  if (victim.kind == VictimKind::kTrueLinks) return "true links";
  return absl::StrCat("epsilon ", FormatMicro(victim.epsilon_micro));
}

}  // namespace blink
