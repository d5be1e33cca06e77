#include "tools/link_audit/report.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/cli/program_json.h"
#include "tools/link_audit/figures.h"

namespace blink {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kMeaning[] =
    "A measure of these attacks on this graph, and no proof: a low AUC is no guarantee. No epsilon bounds what the "
    "features of a population tell: see features-only, which sees no report.";

const char* KindName(AttackKind kind) {
  switch (kind) {
    case AttackKind::kPosterior:
      return "posterior";
    case AttackKind::kFeatures:
      return "features";
    case AttackKind::kSimilarity:
      return "similarity";
    default:
      return "influence";
  }
}

const char* VictimJsonName(VictimKind kind) {
  if (kind == VictimKind::kFeaturesOnly) return "features-only";
  return kind == VictimKind::kTrueLinks ? "true-links" : "reports";
}

Json OrNull(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json SpreadJson(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"mean", spread->mean}, {"standard_error", OrNull(spread->standard_error)}, {"trials", spread->trials}};
}

Json GroupJson(const NodeGroup& group, const NodeGroup& every_node) {
  Json chance = Json::object();
  for (size_t m = 0; m < kMeasures.size(); ++m) chance[kMeasures[m].name] = ChanceOf(group, every_node, m);
  return {{"name", group.name},          {"degree_min", group.degree_min}, {"degree_max", group.degree_max},
          {"nodes", group.nodes.size()}, {"links", group.links},           {"pairs", group.pairs},
          {"chance", std::move(chance)}};
}

// `figure(group, measure)` gives the JSON of a measure.
template <typename Figure>
Json AttackJson(const std::string& name, const char* kind, const Figure& figure) {
  Json groups = Json::array();
  for (size_t g = 0; g < kGroups; ++g) {
    Json measures = Json::object();
    for (size_t m = 0; m < kMeasures.size(); ++m) measures[kMeasures[m].name] = figure(g, m);
    groups.push_back(std::move(measures));
  }
  return {{"attack", name}, {"kind", kind}, {"groups", std::move(groups)}};
}

Json BestSimilarityJson(const LinkAudit& audit, size_t victim) {
  return AttackJson("similarity-best", "similarity-best", [&](size_t group, size_t measure) -> Json {
    const std::optional<BestSimilarity> best = BestSimilarityOf(audit, victim, group, measure);
    if (!best) return nullptr;
    Json json = SpreadJson(best->figure);
    json["distance"] = best->distance;
    return json;
  });
}

std::optional<Spread> AccuracyOf(const LinkAudit& audit, size_t victim) {
  std::vector<std::optional<double>> values;
  for (const AuditTrial& trial : audit.trials) values.emplace_back(trial.victims[victim].test_accuracy);
  return SpreadOf(values);
}

Json VictimJson(const LinkAudit& audit, size_t v) {
  const Victim& victim = audit.victims[v];
  const bool reports = victim.kind == VictimKind::kReports;
  Json attacks = Json::array();
  if (!audit.trials.empty()) {
    const std::vector<AttackResult>& of_first = audit.trials[0].victims[v].attacks;
    for (size_t a = 0; a < of_first.size(); ++a) {
      attacks.push_back(AttackJson(
          of_first[a].name, KindName(of_first[a].kind),
          [&](size_t group, size_t measure) -> Json { return SpreadJson(FigureOf(audit, v, a, group, measure)); }));
    }
    attacks.push_back(BestSimilarityJson(audit, v));
  }
  return {{"victim", VictimJsonName(victim.kind)},
          {"epsilon", reports ? Json(static_cast<double>(victim.epsilon_micro) / 1e6) : Json(nullptr)},
          {"degree_share", reports ? Json(static_cast<double>(victim.degree_share_ppm) / 1e6) : Json(nullptr)},
          {"test_accuracy", SpreadJson(AccuracyOf(audit, v))},
          {"attacks", std::move(attacks)}};
}

// ---- text ----

std::string Cell(const std::optional<Spread>& spread, bool percent) {
  if (!spread) return "none";
  const double unit = percent ? 100 : 1;
  const int digits = percent ? 2 : 3;
  const std::string mean = absl::StrFormat("%.*f", digits, unit * spread->mean);
  if (!spread->standard_error) return mean;
  return absl::StrFormat("%s ± %.*f", mean, digits, unit * *spread->standard_error);
}

// As wide as it looks: "±" is one column and two bytes.
std::string Padded(std::string text, size_t columns) {
  size_t shown = 0;
  for (const char c : text) shown += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  if (shown < columns) text.append(columns - shown, ' ');
  return text;
}

// `figure(measure)` gives what is in a cell.
template <typename Figure>
std::string Row(const std::string& victim, const std::string& attack, const Figure& figure) {
  std::string line = absl::StrCat(Padded(victim, 15), Padded(attack, 24));
  for (size_t m = 0; m < kMeasures.size(); ++m) absl::StrAppend(&line, Padded(figure(m), 17));
  return std::string(absl::StripTrailingAsciiWhitespace(line)) + "\n";
}

bool IsPercent(size_t measure) { return kMeasures[measure].value != &LinkMeasures::auc; }

std::string VictimRows(const LinkAudit& audit, size_t v, size_t group) {
  std::string text;
  const std::string name = NameOfVictim(audit.victims[v]);
  const std::vector<AttackResult>& attacks = audit.trials[0].victims[v].attacks;
  for (size_t a = 0; a < attacks.size(); ++a) {
    if (attacks[a].kind == AttackKind::kSimilarity) continue;
    absl::StrAppend(&text, Row(name, attacks[a].name,
                               [&](size_t m) { return Cell(FigureOf(audit, v, a, group, m), IsPercent(m)); }));
  }
  return absl::StrCat(text, Row(name, "similarity, best of 8", [&](size_t m) {
                        const std::optional<BestSimilarity> best = BestSimilarityOf(audit, v, group, m);
                        return Cell(best ? std::optional<Spread>(best->figure) : std::nullopt, IsPercent(m));
                      }));
}

std::string GroupTable(const LinkAudit& audit, size_t g) {
  const NodeGroup& group = audit.groups[g];
  std::string text =
      g == kEveryNode
          ? absl::StrFormat("All pairs: %d of %d are links\n", group.links, group.pairs)
          : absl::StrFormat(
                "Pairs of the %d nodes of %s (%d .. %d links) with all others; a pair of two of them counts for each\n",
                group.nodes.size(), group.name, group.degree_min, group.degree_max);
  absl::StrAppend(&text, Row("victim", "attack", [](size_t m) -> std::string {
    constexpr const char* kHeads[] = {"AUC", "precision, %", "recall, %", "TPR at 0.1 %"};
    return kHeads[m];
  }));
  absl::StrAppend(&text, Row("any", "chance", [&](size_t m) {
    const double chance = ChanceOf(group, audit.groups[kEveryNode], m);
    return Cell(Spread{.mean = chance}, IsPercent(m));
  }));
  for (size_t v = 0; v < audit.victims.size(); ++v) absl::StrAppend(&text, VictimRows(audit, v, g));
  return text;
}

std::string AccuracyLine(const LinkAudit& audit) {
  std::string line = "Test accuracy, %:";
  for (size_t v = 0; v < audit.victims.size(); ++v) {
    absl::StrAppend(&line, v == 0 ? " " : ", ", NameOfVictim(audit.victims[v]), " ", Cell(AccuracyOf(audit, v), true));
  }
  return line + "\n";
}

}  // namespace

nlohmann::ordered_json LinkAuditJson(const LinkAudit& audit) {
  Json groups = Json::array(), victims = Json::array();
  for (const NodeGroup& group : audit.groups) groups.push_back(GroupJson(group, audit.groups[kEveryNode]));
  for (size_t v = 0; v < audit.victims.size(); ++v) victims.push_back(VictimJson(audit, v));
  return {
      {"audit", "links"},
      {"format", 1},
      {"program", ProgramJson()},
      {"partial", audit.partial()},
      {"trials_asked", audit.trials_asked},
      {"trials_done", audit.trials.size()},
      {"dataset", {{"name", audit.dataset_name}, {"sha256", audit.dataset_sha256}}},
      {"graph",
       {{"nodes", audit.nodes},
        {"links", audit.links},
        {"features", audit.features},
        {"classes", audit.classes},
        {"density", audit.groups[kEveryNode].density()}}},
      {"training",
       {{"model", ModelName(audit.model)}, {"prior", PriorName(audit.prior)}, {"variant", VariantName(audit.variant)}}},
      {"seed", audit.seed},
      {"noise", audit.seeded_noise ? "seeded" : "cryptographic"},
      {"false_positive_rate", kFalsePositiveRate},
      {"sampled_nodes", audit.sampled_nodes ? Json(*audit.sampled_nodes) : Json(nullptr)},
      {"influence_nodes", audit.influence_nodes},
      {"memory_need_bytes", audit.memory_need_bytes},
      {"meaning", kMeaning},
      {"groups", std::move(groups)},
      {"victims", std::move(victims)}};
}

std::string LinkAuditText(const LinkAudit& audit) {
  std::string text = absl::StrFormat("%s: %d nodes, %d links; %d of %d trials; %s %s, prior %s\n", audit.dataset_name,
                                     audit.nodes, audit.links, audit.trials.size(), audit.trials_asked,
                                     ModelName(audit.model), VariantName(audit.variant), PriorName(audit.prior));
  if (audit.seeded_noise) text += "NOT PRIVATE: the noise comes from a seed (--insecure-seeded-noise)\n";
  if (audit.trials.empty()) return text;
  absl::StrAppend(&text, AccuracyLine(audit), "\n");
  for (size_t g = 0; g < kGroups; ++g) absl::StrAppend(&text, GroupTable(audit, g), "\n");
  absl::StrAppend(
      &text, "Means over the trials", audit.trials.size() > 1 ? " ± standard errors" : "",
      ". Precision and recall are of as many pairs as the graph has links, in all.\n"
      "similarity, best of 8: in each column the distance that does best, which an attacker cannot know.\n",
      audit.sampled_nodes ? absl::StrFormat("Pairs of %d nodes of each group that are drawn anew in each trial.\n",
                                            *audit.sampled_nodes)
                          : "",
      absl::StrFormat("influence: of %d nodes of each group that are drawn anew in each trial, or all.\n",
                      audit.influence_nodes),
      "This is a measure of these attacks, and no proof: a low AUC is no guarantee. No epsilon bounds what\n"
      "the features of a population tell: features only sees no report and no link.\n");
  return text;
}

}  // namespace blink
