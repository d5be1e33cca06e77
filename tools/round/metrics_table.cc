#include "tools/round/metrics_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/rpc/status.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

using Json = nlohmann::ordered_json;

// The number or text at `path`, or "". All texts come from a peer, names of classes from its data set among them.
std::string TextAt(const Json& document, const char* path) {
  const Json::json_pointer pointer(path);
  if (!document.contains(pointer)) return "";
  const Json& value = document.at(pointer);
  if (value.is_null()) return "";
  if (value.is_string()) return PeerText(value.get<std::string>());
  if (value.is_number_float()) return absl::StrFormat("%.6g", value.get<double>());
  return PeerText(value.dump());
}

// The elements of the array at `path`, or none.
const Json& ArrayAt(const Json& document, const char* path) {
  static const Json kEmpty = Json::array();
  const Json::json_pointer pointer(path);
  return document.contains(pointer) && document.at(pointer).is_array() ? document.at(pointer) : kEmpty;
}

ResultFigures::Plausibility ParsePlausibility(const Json& metrics) {
  ResultFigures::Plausibility plausibility = {.flagged = TextAt(metrics, "/plausibility/flagged"),
                                              .dropped = TextAt(metrics, "/plausibility/dropped"),
                                              .policy = TextAt(metrics, "/plausibility/policy"),
                                              .note = TextAt(metrics, "/plausibility/note")};
  for (const Json& flag : ArrayAt(metrics, "/plausibility/flags")) {
    plausibility.nodes.push_back({TextAt(flag, "/node"), TextAt(flag, "/test"), TextAt(flag, "/z")});
  }
  return plausibility;
}

bool IsWithoutModel(const Json& metrics) {
  return metrics.is_object() && metrics.contains("train") && metrics["train"].is_null();
}

std::string LineIfKnown(absl::string_view key, absl::string_view value) {
  return value.empty() ? "" : TableLine(key, value);
}

// How many reports are flagged, what became of them, and the worst of them.
std::string PlausibilityLines(const ResultFigures::Plausibility& plausibility) {
  constexpr size_t kShownMax = 10;
  std::string lines =
      absl::StrCat(LineIfKnown("implausible reports", plausibility.flagged),
                   LineIfKnown("implausible, dropped", plausibility.dropped),
                   TableLine("implausible, policy", plausibility.policy), LineIfKnown("note", plausibility.note));
  for (size_t k = 0; k < std::min(plausibility.nodes.size(), kShownMax); ++k) {
    const ResultFigures::FlaggedNode& flagged = plausibility.nodes[k];
    absl::StrAppend(
        &lines, TableLine(absl::StrCat("flagged node ", flagged.node), absl::StrCat(flagged.test, ", z ", flagged.z)));
  }
  if (plausibility.nodes.size() > kShownMax) {
    absl::StrAppend(&lines, TableLine("", "and more: see plausibility.csv of the result"));
  }
  return lines;
}

}  // namespace

std::string TableLine(absl::string_view key, absl::string_view value) {
  return absl::StrFormat("%-24s %s\n", key, value);
}

std::optional<ResultFigures> ParseMetrics(absl::string_view metrics_json) {
  const Json metrics = Json::parse(metrics_json.begin(), metrics_json.end(), nullptr, /*allow_exceptions=*/false);
  if (!metrics.is_object()) return std::nullopt;
  const auto text_at = [&](const char* path) { return TextAt(metrics, path); };
  ResultFigures figures = {.epsilon_of_list_entry = text_at("/privacy/achieved_epsilon"),
                           .epsilon_of_link = text_at("/privacy/achieved_epsilon_per_undirected_link"),
                           .reports = text_at("/reports/received"),
                           .missing_reports = text_at("/reports/missing"),
                           .retired_nodes = text_at("/reports/retired"),
                           .epsilon_of_both = text_at("/groups/epsilon_of_both"),
                           .epsilon_of_both_of_link = text_at("/groups/epsilon_of_both_per_undirected_link"),
                           .noise_links = text_at("/groups/noise_links_of_answer"),
                           .implausible_answers = text_at("/groups/implausible/answers"),
                           .groups_asked = text_at("/groups/asked"),
                           .groups_wanted = text_at("/groups/wanted"),
                           .groups_made = text_at("/groups/made"),
                           .links_drawn = text_at("/groups/links"),
                           .prior = text_at("/estimate/prior"),
                           .distinct_degrees = text_at("/estimate/distinct_degrees"),
                           .network_rounds = text_at("/estimate/network_rounds"),
                           .expected_links = text_at("/estimate/expected_links"),
                           .links_of_hard = text_at("/estimate/links"),
                           .links_trained_on = text_at("/estimate/trained_links"),
                           .model = text_at("/train/model"),
                           .variant = text_at("/train/variant"),
                           .chosen = text_at("/train/chosen"),
                           .device = text_at("/train/device"),
                           .epoch_ms = text_at("/train/epoch_ms_mean"),
                           .validation_accuracy = text_at("/train/validation_accuracy"),
                           .validation_macro_f1 = text_at("/train/validation_macro_f1"),
                           .validation_roc_auc = text_at("/train/validation_roc_auc"),
                           .test_accuracy = text_at("/train/test_accuracy"),
                           .test_macro_f1 = text_at("/train/test_macro_f1"),
                           .test_roc_auc = text_at("/train/test_roc_auc")};
  if (IsWithoutModel(metrics)) {
    figures.model = !metrics.contains("groups")          ? "none: links and degrees alone"
                    : text_at("/groups/follows").empty() ? "none: groups, for a round that follows"
                                                         : "none: links alone";
    figures.variant = text_at("/estimate/variant");
    figures.expected_precision = text_at("/estimate/expected_quality/precision");
    figures.expected_recall = text_at("/estimate/expected_quality/recall");
    figures.expected_auc = text_at("/estimate/expected_quality/auc");
  }
  if (const std::string of_features = text_at("/train/features_only/validation_accuracy"); !of_features.empty()) {
    const std::string score = text_at("/train/features_only/validation_measure");
    figures.features_only = absl::StrCat(of_features, score.empty() ? "" : ", by the round's score " + score, " (",
                                         text_at("/train/features_only/name"), ")");
  }
  if (figures.epoch_ms == "0") figures.epoch_ms.clear();  // older aggregators say 0 of a model that has no epochs
  if (metrics.contains("plausibility") && metrics["plausibility"].is_object())
    figures.plausibility = ParsePlausibility(metrics);
  for (const Json& warning : ArrayAt(metrics, "/train/warnings")) {
    if (warning.is_string()) figures.warnings.push_back(PeerText(warning.get<std::string>()));
  }
  return figures;
}

bool HasModel(absl::string_view metrics_json) {
  return !IsWithoutModel(Json::parse(metrics_json.begin(), metrics_json.end(), nullptr, /*allow_exceptions=*/false));
}

bool HasLinks(absl::string_view metrics_json) {
  const Json metrics = Json::parse(metrics_json.begin(), metrics_json.end(), nullptr, /*allow_exceptions=*/false);
  const Json::json_pointer links("/groups/links");
  return !metrics.is_object() || !metrics.contains(links) || !metrics.at(links).is_null();
}

std::string MetricsTable(const std::string& metrics_json) {
  const std::optional<ResultFigures> figures = ParseMetrics(metrics_json);
  if (!figures) return metrics_json;
  std::string table = absl::StrCat(
      LineIfKnown("epsilon of a list entry", figures->epsilon_of_list_entry),
      LineIfKnown("epsilon of a link", figures->epsilon_of_link),
      LineIfKnown("of an entry, both rounds", figures->epsilon_of_both),
      LineIfKnown("of a link, both rounds", figures->epsilon_of_both_of_link), LineIfKnown("reports", figures->reports),
      LineIfKnown("missing reports", figures->missing_reports),
      figures->plausibility ? PlausibilityLines(*figures->plausibility) : "",
      LineIfKnown("retired nodes", figures->retired_nodes), LineIfKnown("groups asked about", figures->groups_asked),
      LineIfKnown("groups wanted", figures->groups_wanted), LineIfKnown("groups made", figures->groups_made),
      LineIfKnown("links drawn", figures->links_drawn), LineIfKnown("links of noise, a node", figures->noise_links),
      LineIfKnown("implausible answers", figures->implausible_answers), LineIfKnown("prior", figures->prior),
      LineIfKnown("distinct degrees", figures->distinct_degrees),
      LineIfKnown("network rounds", figures->network_rounds), LineIfKnown("expected links", figures->expected_links),
      LineIfKnown("links of Hard", figures->links_of_hard),
      LineIfKnown(HasModel(metrics_json) ? "links trained on" : "links of the variant", figures->links_trained_on),
      LineIfKnown("precision expected", figures->expected_precision),
      LineIfKnown("recall expected", figures->expected_recall), LineIfKnown("AUC expected", figures->expected_auc));
  absl::StrAppend(
      &table, LineIfKnown("model", figures->model), LineIfKnown("variant", figures->variant),
      LineIfKnown("chosen", figures->chosen), LineIfKnown("device", figures->device),
      LineIfKnown("epoch, ms", figures->epoch_ms), LineIfKnown("validation accuracy", figures->validation_accuracy),
      LineIfKnown("  of features alone", figures->features_only),
      LineIfKnown("validation macro-F1", figures->validation_macro_f1),
      LineIfKnown("validation ROC-AUC", figures->validation_roc_auc),
      LineIfKnown("test accuracy", figures->test_accuracy), LineIfKnown("test macro-F1", figures->test_macro_f1),
      LineIfKnown("test ROC-AUC", figures->test_roc_auc));
  for (const std::string& warning : figures->warnings) absl::StrAppend(&table, TableLine("warning", warning));
  return table;
}

}  // namespace blink
