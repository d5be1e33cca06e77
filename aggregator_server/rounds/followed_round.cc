#include "aggregator_server/rounds/followed_round.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/result/groups_file.h"
#include "common/base/status_macros.h"
#include "common/privacy/parameters.h"
#include "common/wire/round.h"

namespace blink {
namespace {

absl::Status CheckCanBeFollowed(const v1::Round& round, uint32_t node_count) {
  const auto refuse = [&](const auto&... why) {
    return absl::FailedPreconditionError(absl::StrCat("round ", round.round_id(), " cannot be followed: ", why...));
  };
  if (round.parameters().mechanism() != static_cast<uint32_t>(Mechanism::kGroupDegrees)) {
    return refuse("it did not ask about groups of nodes (mechanism group-degrees)");
  }
  if (!round.follows().empty()) {
    return refuse("it follows round ", round.follows(), " itself, which can be followed again");
  }
  if (round.state() != v1::ROUND_STATE_READY) {
    return refuse("it is ", RoundStateName(round.state()), ", and a round that follows needs its groups");
  }
  if (round.result_deleted()) return refuse("an operator deleted its result");
  if (round.parameters().node_count() != node_count) {
    return refuse("it was about ", round.parameters().node_count(), " nodes, and the roster has ", node_count,
                  ": ask about random groups again");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FollowedRound> ReadFollowedRound(v1::Round round, const std::string& result_folder,
                                                uint32_t node_count) {
  BLINK_RETURN_IF_ERROR(CheckCanBeFollowed(round, node_count));
  BLINK_ASSIGN_OR_RETURN(NodeGroups groups, ReadGroupsCsv(result_folder, node_count));
  return FollowedRound{std::move(round), std::move(groups)};
}

}  // namespace blink
