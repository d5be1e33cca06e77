#include "mechanisms/kind.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace blink {

const MechanismFacts& FactsOf(MechanismKind kind) {
  return *std::find_if(kMechanisms.begin(), kMechanisms.end(),
                       [&](const MechanismFacts& facts) { return facts.kind == kind; });
}

std::optional<MechanismKind> MechanismOfName(absl::string_view name) {
  for (const MechanismFacts& facts : kMechanisms) {
    if (absl::EqualsIgnoreCase(facts.name, name)) return facts.kind;
  }
  return std::nullopt;
}

std::optional<uint32_t> FixedDegreeSharePpm(MechanismKind kind) {
  if (FactsOf(kind).estimates_links) return std::nullopt;
  return kind == MechanismKind::kDpRr ? 100'000 : 0;
}

MechanismCost CostOf(MechanismKind kind, const PrivacyParameters& parameters) {
  // Laplace noise of an exact rational scale spends exactly epsilon.
  const bool exact = kind == MechanismKind::kLdpGcn || kind == MechanismKind::kLdpGen;
  const double entry = exact ? parameters.epsilon() : parameters.achieved_epsilon();
  return {.epsilon_per_entry = entry, .epsilon_per_link = FactsOf(kind).reports_once ? entry : 2 * entry};
}

}  // namespace blink
