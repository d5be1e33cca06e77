#include "mechanisms/dprr.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/groups/uniform.h"
#include "common/base/status_macros.h"
#include "common/privacy/privatizer.h"
#include "mechanisms/kind.h"

namespace blink {

absl::StatusOr<DpRrNode> DpRrNode::Create(uint64_t epsilon_micro, uint32_t node_count) {
  BLINK_ASSIGN_OR_RETURN(
      const PrivacyParameters parameters,
      PrivacyParameters::Create(epsilon_micro, *FixedDegreeSharePpm(MechanismKind::kDpRr), node_count));
  return DpRrNode(parameters);
}

absl::StatusOr<PrivateReport> DpRrNode::Report(NodeIndex self, absl::Span<const NodeIndex> neighbours,
                                               RandomSource& random) const {
  BLINK_ASSIGN_OR_RETURN(ReportNoise noise, DrawNoise(parameters_, self, random));
  return ApplyNoise(parameters_, self, std::move(noise), neighbours);
}

double DpRrKeepProbability(const PrivacyParameters& parameters, int64_t noisy_degree) {
  if (noisy_degree <= 0) return 0;
  const auto degree = static_cast<double>(noisy_degree);
  const double flip = parameters.flip_probability(), others = parameters.node_count() - 1.0;
  return std::clamp(degree / (degree * (1 - 2 * flip) + others * flip), 0.0, 1.0);
}

absl::Status DpRrAggregator::Add(NodeIndex node, const PrivateReport& report) {
  if (report.bits.size() != rows_.node_count() || !report.noisy_degree) {
    return absl::InvalidArgumentError(absl::StrCat("the report of node ", node, " has ", report.bits.size(), " bits ",
                                                   report.noisy_degree ? "and" : "without", " a degree, instead of ",
                                                   rows_.node_count(), " bits and a degree"));
  }
  const double keep = DpRrKeepProbability(parameters_, *report.noisy_degree);
  std::vector<NodeIndex> kept;
  report.bits.ForEachOne([&](NodeIndex j) {
    if (Uniform(random_) < keep) kept.push_back(j);
  });
  return rows_.Add(node, kept);
}

}  // namespace blink
