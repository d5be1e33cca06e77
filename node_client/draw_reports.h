// Draws the reports that answer a round, and makes them durable.
//
// Nothing here can reach the aggregator, so between the first random bit and the end of the debit nothing is sent.
#ifndef BLINK_NODE_CLIENT_DRAW_REPORTS_H_
#define BLINK_NODE_CLIENT_DRAW_REPORTS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/exit_code.h"
#include "common/privacy/node_groups.h"
#include "common/privacy/random_source.h"
#include "common/wire/round.h"
#include "node_client/journal.h"
#include "node_client/kit.h"
#include "node_client/policy.h"

namespace blink {

// Why no report may be sent, and how the program ends then.
struct DrawFailure {
  ExitCode code;
  absl::Status why;
};

// Carries out `decision`, which was made for `round` at `now`, the time by the journal's clock:
//
//   StageEpoch               when the decision begins an epoch: the epoch's snapshot of the lists
//   DrawNoise, ApplyNoise    for each hosted node without a draw, on the list in the epoch's snapshot
//   StageRound, Commit       last of all, so that every round in the journal has all its draws
//
// `groups`: those that the parameters of the round name, where they name some and the decision is not complete.
//
// When it returns nothing, the journal holds a report of every hosted node for the round, on the disk and debited. A
// failure ends the run: the random source failed, or the journal could not be written.
std::optional<DrawFailure> DrawReports(const Kit& kit, const RoundView& round, const DrawDecision& decision,
                                       absl::Time now, const NodeGroups* groups, RandomSource& random,
                                       Journal& journal);

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_DRAW_REPORTS_H_
