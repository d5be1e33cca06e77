#include "aggregator_server/store/report_answers.h"

#include "absl/strings/str_cat.h"
#include "common/wire/round.h"

namespace blink {

absl::Status NoSuchRound(const std::string& round_id) {
  return absl::NotFoundError(absl::StrCat("there is no round ", round_id));
}

absl::Status RefuseAnother(const CheckedReport& report) {
  return absl::AlreadyExistsError(absl::StrCat("another report of node ", report.node, " is held for round ",
                                               report.round_id,
                                               "; the first one is kept. Either another machine uses this node's "
                                               "key, or this node lost its journal and drew again"));
}

absl::Status RefuseLate(const CheckedReport& report, v1::RoundState state) {
  return absl::FailedPreconditionError(absl::StrCat("round ", report.round_id, " is ", RoundStateName(state),
                                                    ": it accepts no further report, and none of node ", report.node,
                                                    " is held"));
}

absl::Status RefuseNode(uint64_t node) {
  return absl::InvalidArgumentError(absl::StrCat("node ", node, " is not below n"));
}

absl::Status RefuseDeleted(const std::string& round_id) {
  return absl::FailedPreconditionError(
      absl::StrCat("the reports of round ", round_id, " were deleted: nothing can be computed from them any more"));
}

absl::Status RequireEnded(const v1::Round& round) {
  if (IsTerminal(round.state())) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("round ", round.round_id(), " is ", RoundStateName(round.state()),
                                                    ": only what has ended is deleted: cancel it first"));
}

v1::Receipt MakeReceipt(const CheckedReport& report, int64_t received_minute) {
  v1::Receipt receipt;
  receipt.set_round_id(report.round_id);
  receipt.set_node_id(report.node);
  receipt.set_digest(DigestToBytes(report.report.digest));
  receipt.set_received_minute(received_minute);
  return receipt;
}

}  // namespace blink
