// A round's folder: round.json (the Round message as JSON) and reports.blr (its reports, coded as they were received).
// Written once when a round is sealed, read by the worker, and by `blink simulate --reports`.
//
// reports.blr: "BLINKR01", then per report: node (u64), presence of the degree (u8) and its value (i64), length of the
// coded bits (u32), coded bits, digest (32); then 2^64-1 (u64), the count (u64) and the SHA-256 of all before. Little
// endian, ascending nodes.
#ifndef BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_FILE_H_
#define BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_FILE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "aggregator_server/reports/report_set.h"
#include "blink/v1/operator.pb.h"
#include "common/wire/report_codec.h"

namespace blink {

class ReportFileWriter {
 public:
  // Writes to `<path>.tmp`; Finish makes the file durable and renames it.
  static absl::StatusOr<std::unique_ptr<ReportFileWriter>> Create(const std::string& path);
  ~ReportFileWriter();
  absl::Status Add(uint64_t node, const CodedReport& report);  // ascending nodes
  absl::Status Finish();

 private:
  struct State;
  explicit ReportFileWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct RoundFolder {
  v1::Round round;
  ReportSet reports;
  double coded_bytes_mean = 0;  // per report, header fields excluded
  std::vector<uint32_t> ones;   // [reports] ones of each report, in the order of nodes
};
// Decodes and checks every report. DATA_LOSS when the file is damaged, truncated, or of other parameters or another
// number of reports than round.json says, or when round.json has no round id; NOT_FOUND when it is missing. Takes
// memory for n^2 bits only when the first report has proved to be one of n.
absl::StatusOr<RoundFolder> ReadRoundFolder(const std::string& folder);
absl::Status WriteRoundJson(const v1::Round& round, const std::string& folder);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_REPORTS_REPORT_FILE_H_
