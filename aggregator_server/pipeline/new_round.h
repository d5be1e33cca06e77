// From an operator's request to a round: every value of it is checked here.
#ifndef BLINK_AGGREGATOR_SERVER_PIPELINE_NEW_ROUND_H_
#define BLINK_AGGREGATOR_SERVER_PIPELINE_NEW_ROUND_H_

#include "absl/status/statusor.h"
#include "aggregator_server/pipeline/pipeline_options.h"
#include "blink/v1/operator.pb.h"

namespace blink {

// An open round under a fresh random id, complete but for its times: created_ms and deadline_ms are the caller's.
// INVALID_ARGUMENT naming the field and its range. UNAVAILABLE: the system gave no randomness.
absl::StatusOr<v1::Round> NewRound(const PipelineOptions& options, const v1::CreateRoundRequest& request);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PIPELINE_NEW_ROUND_H_
