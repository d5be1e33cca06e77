// The figures of an audit of links: means over the trials, with their errors.
#ifndef BLINK_TOOLS_LINK_AUDIT_FIGURES_H_
#define BLINK_TOOLS_LINK_AUDIT_FIGURES_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/link_audit/findings.h"

namespace blink {

struct MeasureField {
  const char* name;  // in JSON
  std::optional<double> LinkMeasures::*value;
};
inline constexpr std::array<MeasureField, 4> kMeasures = {{{"auc", &LinkMeasures::auc},
                                                           {"precision", &LinkMeasures::precision},
                                                           {"recall", &LinkMeasures::recall},
                                                           {"tpr_at_fpr", &LinkMeasures::true_positive_rate}}};

struct Spread {
  double mean = 0;
  std::optional<double> standard_error;  // of the mean; absent for one trial
  std::vector<double> trials;
};
// Absent where no trial is, or one lacks the figure.
std::optional<Spread> SpreadOf(const std::vector<std::optional<double>>& values);

// Of attack `attack` of victim `victim`, both as they are numbered in the trials.
std::optional<Spread> FigureOf(const LinkAudit& audit, size_t victim, size_t attack, size_t group, size_t measure);

// The distance whose mean is the largest. An attacker without the truth cannot know which that is, so it is more than
// one can reach: the safe side for who defends.
struct BestSimilarity {
  std::string distance;
  Spread figure;
};
std::optional<BestSimilarity> BestSimilarityOf(const LinkAudit& audit, size_t victim, size_t group, size_t measure);

// What a guess without any knowledge reaches, of `measure`.
double ChanceOf(const NodeGroup& group, const NodeGroup& every_node, size_t measure);

// "features only", "true links", "epsilon 2".
std::string NameOfVictim(const Victim& victim);

}  // namespace blink

#endif  // BLINK_TOOLS_LINK_AUDIT_FIGURES_H_
