// The reports of a trial, kept beside the state of its training. Noise that nobody can draw again would otherwise end
// with the process, and a training cannot go on with other links.
//
//   DIR/trial-1/reports.blr, round.json      mode 0600
//
// Together they are a round's folder (reports/report_file.h), which `blink simulate --reports` and blink-worker read.
#ifndef BLINK_TOOLS_SIMULATE_KEPT_REPORTS_H_
#define BLINK_TOOLS_SIMULATE_KEPT_REPORTS_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "aggregator_server/reports/report_file.h"
#include "common/base/digest.h"

namespace blink {

// Makes the folder of --save-reports, for its owner alone. INVALID_ARGUMENT, with the remedy: there is something in it.
absl::Status ClaimReportsFolder(const std::string& folder);

// Nothing where no reports are kept, or not all of them. INVALID_ARGUMENT, with the remedy: they are damaged.
absl::StatusOr<std::optional<RoundFolder>> ReadKeptReports(const std::string& folder, const RowPlace& place);

// Writes them while they are drawn. What is not finished is removed.
class ReportKeeper {
 public:
  ReportKeeper(ReportKeeper&&) = default;
  ReportKeeper& operator=(ReportKeeper&&) = default;
  ~ReportKeeper();
  // Makes `folder` where it is missing.
  static absl::StatusOr<ReportKeeper> Create(const std::string& folder);
  absl::Status Add(NodeIndex node, const CodedReport& report);
  // From now on they are kept. `spec`: what is trained on them. `name` tells them from other reports.
  absl::Status Finish(const PrivacyParameters& parameters, const v1::TrainingSpec& spec, const Digest& name);

 private:
  ReportKeeper(std::string folder, std::unique_ptr<ReportFileWriter> writer);

  std::string folder_;
  std::unique_ptr<ReportFileWriter> writer_;
  uint32_t reports_ = 0;
};

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_KEPT_REPORTS_H_
