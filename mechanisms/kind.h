// The names of the mechanisms and what a link costs under each.
#ifndef BLINK_MECHANISMS_KIND_H_
#define BLINK_MECHANISMS_KIND_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "common/privacy/parameters.h"

namespace blink {

enum class MechanismKind {
  kBlink,
  kRr,
  kSymRr,
  kLdpGcn,
  kDpRr,
  kLdpGen,
  kSolitude,
  kOneEnd,
  kNone,         // the true links: no privacy
  kMlp,          // no links
  kFeaturesOnly  // the strongest model without links
};

struct MechanismFacts {
  MechanismKind kind;
  const char* name;
  bool draws_noise;      // needs an epsilon
  bool reports_once;     // each pair is reported by one of its ends, so that a link costs epsilon and not 2 epsilon
  bool estimates_links;  // there are priors and variants; otherwise its links are used as they are
};
inline constexpr std::array<MechanismFacts, 11> kMechanisms = {{
    {MechanismKind::kBlink, "blink", true, false, true},
    {MechanismKind::kRr, "rr", true, false, false},
    {MechanismKind::kSymRr, "symrr", true, true, false},
    {MechanismKind::kLdpGcn, "ldpgcn", true, false, false},
    {MechanismKind::kDpRr, "dprr", true, false, false},
    {MechanismKind::kLdpGen, "ldpgen", true, false, false},
    {MechanismKind::kSolitude, "solitude", true, false, false},
    {MechanismKind::kOneEnd, "one-end", true, true, true},
    {MechanismKind::kNone, "none", false, false, false},
    {MechanismKind::kMlp, "mlp", false, false, false},
    {MechanismKind::kFeaturesOnly, "features-only", false, false, false},
}};
const MechanismFacts& FactsOf(MechanismKind kind);
std::optional<MechanismKind> MechanismOfName(absl::string_view name);

// What the reports of a mechanism cost, as differential privacy counts it: of one entry of one list, and of an
// undirected link, which stands in two lists.
struct MechanismCost {
  double epsilon_per_entry = 0, epsilon_per_link = 0;
};

// The degree share that a mechanism fixes: 0.1 of dprr, 0 of those that send no degree. Absent: the caller's choice.
std::optional<uint32_t> FixedDegreeSharePpm(MechanismKind kind);

// `parameters` have the mechanism's degree share. Flips are rounded upwards, so that the cost may be a little less than
// epsilon (common/privacy/README.md). Requires a mechanism that draws noise.
MechanismCost CostOf(MechanismKind kind, const PrivacyParameters& parameters);

}  // namespace blink

#endif  // BLINK_MECHANISMS_KIND_H_
