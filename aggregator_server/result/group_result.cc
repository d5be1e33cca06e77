#include "aggregator_server/result/group_result.h"

#include <algorithm>
#include <vector>

#include "aggregator_server/result/groups_file.h"
#include "aggregator_server/result/link_files.h"
#include "aggregator_server/result/result_folder.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/wire/artifact_digests.h"

namespace blink {
namespace {

constexpr size_t kNodesListedMax = 100;

nlohmann::ordered_json GroupsJson(const PrivacyParameters& parameters, const GroupAnalysis& analysis) {
  nlohmann::ordered_json json;
  json["follows"] = nullptr;
  if (!analysis.follows.empty()) json["follows"] = analysis.follows;
  json["asked"] = analysis.asked;
  json["wanted"] = json["made"] = json["links"] = json["epsilon_of_both"] = nullptr;
  if (analysis.next) {
    json["wanted"] = analysis.next->wanted;
    json["made"] = analysis.next->groups.count;
  }
  if (analysis.links) json["links"] = analysis.links->links.neighbours().size();
  json["epsilon_of_both_per_undirected_link"] = nullptr;
  if (!analysis.follows.empty()) {
    json["epsilon_of_both"] = 2 * parameters.epsilon();
    json["epsilon_of_both_per_undirected_link"] = 2 * parameters.reports_of_pair() * parameters.epsilon();
  }
  json["noise_links_of_answer"] = analysis.noise_links_of_answer;
  std::vector<NodeIndex> listed = analysis.implausible;
  listed.resize(std::min(kNodesListedMax, listed.size()));
  json["implausible"] = {{"answers", analysis.implausible.size()}, {"nodes", listed}};
  return json;
}

}  // namespace

nlohmann::ordered_json GroupMetricsJson(const PrivacyParameters& parameters, uint32_t reports,
                                        const GroupAnalysis& analysis, ReportOrigin origin, uint32_t active) {
  nlohmann::ordered_json json = MetricsHead(parameters, reports, analysis.dataset, origin, active);
  json["plausibility"] = json["estimate"] = nullptr;
  json["groups"] = GroupsJson(parameters, analysis);
  if (!analysis.trained) {
    json["train"] = json["classes"] = nullptr;
    return json;
  }
  AddTrainingJson(*analysis.trained, analysis.training, analysis.search, analysis.features_only, json);
  return json;
}

absl::Status WriteGroupResult(const std::string& folder, const PrivacyParameters& parameters, uint32_t reports,
                              const GroupAnalysis& analysis, const NodeAttributes& attributes, ReportOrigin origin,
                              uint32_t active) {
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  nlohmann::ordered_json metrics = GroupMetricsJson(parameters, reports, analysis, origin, active);
  const auto write_metrics = [&] { return WriteFileAtomically(folder + "/metrics.json", SealMetrics(metrics)); };
  BLINK_RETURN_IF_ERROR(write_metrics());  // the first file, by which the folder is known for a result's
  if (analysis.next) BLINK_RETURN_IF_ERROR(WriteGroupsCsv(analysis.next->groups, folder));
  if (analysis.links) {
    BLINK_RETURN_IF_ERROR(
        WriteFileAtomically(folder + "/links.csv", DirectedLinksCsv(analysis.links->links, attributes.ids)));
    BLINK_RETURN_IF_ERROR(WriteLinksNpz(*analysis.links, analysis.training.threads, folder + "/links.npz"));
  }
  if (analysis.trained) BLINK_RETURN_IF_ERROR(WriteModelFiles(folder, analysis.training, attributes));
  BLINK_ASSIGN_OR_RETURN(metrics["files"], DigestArtifacts(folder));
  return write_metrics();
}

}  // namespace blink
