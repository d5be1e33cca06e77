// Rounds for people (tables) and for programs (JSON).
#ifndef BLINK_TOOLS_ROUND_REPORT_H_
#define BLINK_TOOLS_ROUND_REPORT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "blink/v1/operator.pb.h"
#include "common/wire/roster.h"

namespace blink {

// One JSON object: format (1), program{version, commit, arguments} of the command that prints it, round_id, deployment,
// state, failure_reason, epsilon, degree_share (both as exact decimal text), node_count, reports, implausible (flag,
// drop, keep), degree_max (null: no bound), flagged (by the checks of a single report), quorum, created, deadline (RFC
// 3339), progress, progress_text, attempts, training{...}. A round that is ready also has result{...}.
std::string RoundJson(const v1::Round& round);
// A JSON array of such objects, without format and program.
std::string RoundsJson(const std::vector<v1::Round>& rounds);

// "key  value" lines of a round, and a table with one line for each of many rounds.
std::string RoundTable(const v1::Round& round);
std::string RoundsTable(const std::vector<v1::Round>& rounds);

// An open round is sealed when so many nodes have reported, at the latest at its deadline: "open for 8m20s more, until
// 2026-11-28 10:00:00 UTC". When the rest reports cannot be told from the pace of those that have.
uint32_t ActiveNodes(const v1::Round& round);
std::string TimeToDeadline(const v1::Round& round, absl::Time now);

// The nodes without a report: {format, program, missing, ranges: [[first, last], ..]}, or a line for each range.
std::string MissingJson(const std::vector<NodeRange>& missing);
std::string MissingTable(const std::vector<NodeRange>& missing);

// What was refused: {format, program, since, refused: [{node, by, code, message, first, last, count}, ..], left_out}.
std::string RefusedJson(const v1::ListRefusedReportsResponse& refused);
std::string RefusedTable(const v1::ListRefusedReportsResponse& refused);

}  // namespace blink

#endif  // BLINK_TOOLS_ROUND_REPORT_H_
