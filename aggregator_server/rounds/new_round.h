// Makes a round from an operator's request. Every value of the request is checked here.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_NEW_ROUND_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_NEW_ROUND_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator_server/rounds/followed_round.h"
#include "aggregator_server/rounds/pipeline_options.h"
#include "blink/v1/operator.pb.h"

namespace blink {

struct NewRound {
  v1::Round round;
  std::string groups;  // that it asks about (common/wire/groups_codec.h); empty: it asks about none
};

// An open round under a fresh random id, complete but for its times: created_ms and deadline_ms are the caller's. Where
// it asks about groups, these are those of `followed`, which request.follows names; null: random ones.
// INVALID_ARGUMENT naming the field and its range. UNAVAILABLE: the system gave no randomness.
absl::StatusOr<NewRound> MakeRound(const PipelineOptions& options, const v1::CreateRoundRequest& request,
                                   const FollowedRound* followed = nullptr);

// For a request id that has made the round `held`: OK if the round `asked` for differs only in its id, its times and
// which node is of which random group. ALREADY_EXISTS naming the differences. The number of nodes is not compared: the
// roster may have changed since.
absl::Status CheckSameRequest(const std::string& request_id, const v1::Round& held, const v1::Round& asked);

// What a round that is analysed once more trains: what it asked for, with what `given` sets in its place.
// INVALID_ARGUMENT as of a new round.
absl::StatusOr<v1::TrainingSpec> TrainingOfRetry(const v1::Round& round, const v1::TrainingSpec& given);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_NEW_ROUND_H_
