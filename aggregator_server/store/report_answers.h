// What a report store answers, whatever it keeps its data in.
#ifndef BLINK_AGGREGATOR_SERVER_STORE_REPORT_ANSWERS_H_
#define BLINK_AGGREGATOR_SERVER_STORE_REPORT_ANSWERS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "aggregator_server/store/report_store.h"

namespace blink {

absl::Status NoSuchRound(const std::string& round_id);
// The node's report of this round is another one.
absl::Status RefuseAnother(const CheckedReport& report);
absl::Status RefuseLate(const CheckedReport& report, v1::RoundState state);
absl::Status RefuseNode(uint64_t node);
// Of whoever wants to read the reports.
absl::Status RefuseDeleted(const std::string& round_id);
// FAILED_PRECONDITION: its reports are needed still.
absl::Status RequireEnded(const v1::Round& round);
v1::Receipt MakeReceipt(const CheckedReport& report, int64_t received_minute);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_STORE_REPORT_ANSWERS_H_
