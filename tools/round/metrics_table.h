// What `blink round result` shows a person of metrics.json.
#ifndef BLINK_TOOLS_ROUND_METRICS_TABLE_H_
#define BLINK_TOOLS_ROUND_METRICS_TABLE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace blink {

// The figures of a result that are shown, as texts that a terminal can print. A figure is empty when metrics.json does
// not have it: the aggregator may be older, and a model without epochs has none.
struct ResultFigures {
  std::string epsilon_of_list_entry, epsilon_of_link;
  std::string reports, missing_reports, retired_nodes;
  std::string epsilon_of_both, epsilon_of_both_of_link, noise_links, implausible_answers, groups_asked, groups_wanted,
      groups_made, links_drawn;  // of group-degrees
  struct FlaggedNode {
    std::string node, test, z;
  };
  struct Plausibility {
    std::string flagged, dropped, policy, note;
    std::vector<FlaggedNode> nodes;  // the worst first
  };
  std::optional<Plausibility> plausibility;
  std::string prior, distinct_degrees, network_rounds, expected_links, links_of_hard, links_trained_on;
  std::string expected_precision, expected_recall, expected_auc;  // without a model
  std::string model, variant, chosen, device, epoch_ms;
  std::string validation_accuracy, validation_macro_f1, validation_roc_auc, test_accuracy, test_macro_f1, test_roc_auc;
  std::string
      features_only;  // validation accuracy of the best model that reads no report, the score that chose, its name
  std::vector<std::string> warnings;
};

// Nothing when `metrics_json` is no JSON object.
std::optional<ResultFigures> ParseMetrics(absl::string_view metrics_json);

// Whether the result has a model, and the files that belong to it: not where `train` is null.
bool HasModel(absl::string_view metrics_json);
// Whether it has links: not of a round that asked about random groups.
bool HasLinks(absl::string_view metrics_json);

// A line "key  value" of a table for a person.
std::string TableLine(absl::string_view key, absl::string_view value);

// "key  value" lines of the figures that are there. A text that ParseMetrics cannot read is returned as it is.
std::string MetricsTable(const std::string& metrics_json);

}  // namespace blink

#endif  // BLINK_TOOLS_ROUND_METRICS_TABLE_H_
