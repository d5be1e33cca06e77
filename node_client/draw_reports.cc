#include "node_client/draw_reports.h"

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/privacy/privatizer.h"
#include "common/wire/report_codec.h"

namespace blink {
namespace {

constexpr uint64_t kBatchBytes = 1 << 20;  // drawn reports held in memory before they go to the disk

absl::StatusOr<CodedReport> DrawReport(const PrivacyParameters& parameters, NodeIndex node, const AdjacencyLists& lists,
                                       const NodeGroups* groups, RandomSource& random) {
  BLINK_ASSIGN_OR_RETURN(ReportNoise noise, DrawNoise(parameters, node, random));
  BLINK_ASSIGN_OR_RETURN(const PrivateReport report,
                         ApplyNoise(parameters, node, std::move(noise), lists.Of(node), groups));
  return EncodeReport(parameters, report);
}

}  // namespace

std::optional<DrawFailure> DrawReports(const Kit& kit, const RoundView& round, const DrawDecision& decision,
                                       absl::Time now, const NodeGroups* groups, RandomSource& random,
                                       Journal& journal) {
  journal.StageClock(now);
  if (decision.begins_epoch) journal.StageEpoch(decision.epoch, now, kit.lists);
  bool epoch_is_staged = decision.begins_epoch;
  const NodeIndex last = kit.config.last_node;
  for (NodeIndex node = kit.config.first_node; !decision.complete && node <= last; ++node) {
    if (journal.FindDraw(decision.epoch, round.parameters, node).has_value()) continue;
    const AdjacencyLists& lists = epoch_is_staged ? kit.lists : journal.snapshot();
    const auto report = DrawReport(round.parameters, node, lists, groups, random);
    if (!report.ok()) {
      journal.DiscardStaged();
      return DrawFailure{ExitCode::kInternal, report.status()};
    }
    journal.StageDraw(decision.epoch, round.parameters, node, *report);
    if (journal.staged_bytes() >= kBatchBytes) {
      const absl::Status committed = journal.Commit();
      if (!committed.ok()) return DrawFailure{JournalExitCode(committed), committed};
      epoch_is_staged = false;
    }
  }
  journal.StageRound(round.round_id, decision.epoch, round.parameters);
  const absl::Status committed = journal.Commit();
  if (!committed.ok()) return DrawFailure{JournalExitCode(committed), committed};
  return std::nullopt;
}

}  // namespace blink
