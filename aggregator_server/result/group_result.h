// The result of a round that asked about groups of nodes: further groups, or links and what was trained on them.
#ifndef BLINK_AGGREGATOR_SERVER_RESULT_GROUP_RESULT_H_
#define BLINK_AGGREGATOR_SERVER_RESULT_GROUP_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "aggregator_server/groups/group_answers.h"
#include "aggregator_server/links/link_weights.h"
#include "aggregator_server/result/analysis.h"
#include "aggregator_server/result/metrics_json.h"
#include "common/graph/node_attributes.h"
#include "common/privacy/parameters.h"

namespace blink {

// worker/analyse_groups.h makes it.
struct GroupAnalysis {
  DatasetFacts dataset;
  uint32_t asked = 0;                  // groups that the nodes were asked about
  std::string follows;                 // the round that made these groups; empty: they were random
  double noise_links_of_answer = 0;    // NoiseLinksOfAnswer
  std::vector<NodeIndex> implausible;  // nodes whose answers were left out
  std::optional<NextGroups> next;      // of a round that follows none
  // Of a round that follows one: row v has the nodes that name v. What was trained on them is absent of the model none.
  std::optional<LinkWeights> links;
  std::optional<Candidate> trained;
  TrainResult training;
  std::vector<Tried> search;
  std::optional<Tried> features_only;
};

// As MetricsJson, but `plausibility` and `estimate` are null, and there is one more:
//   groups   follows, asked, wanted and made (groups: by the formula, and what became of them), links (directed ones),
//            epsilon_of_both and epsilon_of_both_per_undirected_link (what both questions cost; of a round that
//            follows), noise_links_of_answer, implausible {answers, nodes: the first 100}
nlohmann::ordered_json GroupMetricsJson(const PrivacyParameters& parameters, uint32_t reports,
                                        const GroupAnalysis& analysis, ReportOrigin origin, uint32_t active);

// Writes, each durably: metrics.json; of a round that follows none groups.csv (groups_file.h), otherwise
//   links.csv   source,target: source names target. With ids also source_id,target_id
//   links.npz   [n, n] for scipy.sparse.load_npz: (target, source) is 1. It is not symmetric
// and of a model what WriteResultFolder writes of it.
absl::Status WriteGroupResult(const std::string& folder, const PrivacyParameters& parameters, uint32_t reports,
                              const GroupAnalysis& analysis, const NodeAttributes& attributes, ReportOrigin origin,
                              uint32_t active);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_RESULT_GROUP_RESULT_H_
