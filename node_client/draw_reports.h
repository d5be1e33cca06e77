// Draws the reports that answer a round, and makes them durable.
//
// Nothing here can reach the aggregator, so between the first random bit and the end of the debit nothing is sent.
#ifndef BLINK_NODE_CLIENT_DRAW_REPORTS_H_
#define BLINK_NODE_CLIENT_DRAW_REPORTS_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/exit_code.h"
#include "common/privacy/node_groups.h"
#include "common/wire/round.h"
#include "node_client/draw_batch.h"
#include "node_client/journal.h"
#include "node_client/kit.h"
#include "node_client/pacing.h"
#include "node_client/policy.h"

namespace blink {

// Why no report may be sent, and how the program ends then.
struct DrawFailure {
  ExitCode code;
  absl::Status why;
};

// What is drawn: `decision`, which was made for `round` at `now`, the time by the journal's clock.
struct DrawTask {
  const Kit& kit;
  const RoundView& round;
  const DrawDecision& decision;
  absl::Time now;
  const NodeGroups* groups;  // that the round's parameters name; null where they name none or the decision is complete
  int threads;
};

// How many threads may draw for a kit: `asked`, where that is 0 or less the machine's cores, but not more than the
// kit has nodes, and not more than a quarter of `memory_bytes` has room for.
int DrawingThreads(const KitConfig& kit, int asked, uint64_t memory_bytes);

// Carries out a task:
//
//   StageEpoch               when the decision begins an epoch: the epoch's snapshot of the lists
//   DrawBatch              for each hosted node without a draw, on the list in the epoch's snapshot
//   StageDraw, Commit        in the order of the nodes, whatever thread drew for them
//   StageRound, Commit       last of all, so that every round in the journal has all its draws
//
// When it returns nothing, the journal holds a report of every hosted node for the round, on the disk and debited. A
// failure ends the run: the random source failed, or the journal could not be written. `hidden_work` gets the time of
// all steps whose time may depend on the lists or on the noise.
std::optional<DrawFailure> DrawReports(const DrawTask& task, RandomOfNode random_of, HiddenWork& hidden_work,
                                       Journal& journal);

// Measures how long those steps of a task would take, without the disk, if every hosted node had HiddenLinks links. The
// lists are made up from public numbers, so the result says nothing about the kit's. The noise is drawn anew, and
// dropped. It takes as long as some batches. Nothing may be staged in the journal, and nothing is afterwards. `clock`
// measures.
absl::StatusOr<absl::Duration> MeasureHiddenWork(const DrawTask& task, Clock& clock, Journal& journal);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_DRAW_REPORTS_H_
