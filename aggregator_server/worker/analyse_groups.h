// From sealed answers about groups of nodes to a result: the path of a worker in rounds of Mechanism::kGroupDegrees.
//
//   a round that follows none   answers --(groups/)--> groups of those that are alike, for a round that follows
//   a round that follows one    answers --(groups/)--> links --(select/, train/)--> a model
#ifndef BLINK_AGGREGATOR_SERVER_WORKER_ANALYSE_GROUPS_H_
#define BLINK_AGGREGATOR_SERVER_WORKER_ANALYSE_GROUPS_H_

#include "absl/status/statusor.h"
#include "aggregator_server/reports/report_file.h"
#include "aggregator_server/result/group_result.h"
#include "aggregator_server/worker/analyse.h"

namespace blink {

// Of `options` the names, the threads, the checkpoints and the progress count. The seed of k-means and of the links is
// that of `spec`. Implausible answers are left out. INVALID_ARGUMENT: nobody has answered, or `spec` asks for the
// attributed prior, or for a training where the round follows none, or as TrainOnLinks. FAILED_PRECONDITION: the
// attributes are of another number of nodes, or all answers are implausible.
absl::StatusOr<GroupAnalysis> AnalyseGroups(GroupAnswers answers, const NodeAttributes& attributes,
                                            const v1::TrainingSpec& spec, const AnalysisOptions& options);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_WORKER_ANALYSE_GROUPS_H_
