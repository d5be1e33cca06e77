#include "tools/simulate/kept_reports.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"

namespace blink {

absl::Status ClaimReportsFolder(const std::string& folder) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(folder, error);
  if (std::filesystem::exists(there) &&
      (!std::filesystem::is_directory(there) || !std::filesystem::is_empty(folder, error))) {
    return absl::InvalidArgumentError(absl::StrCat("--save-reports ", folder,
                                                   " is there already and is left as it is: name a folder that is "
                                                   "absent or empty"));
  }
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  if (::chmod(folder.c_str(), 0700) != 0) return FileError(errno, "keep others out of", folder);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<RoundFolder>> ReadKeptReports(const std::string& folder, const RowPlace& place) {
  std::error_code error;
  const bool complete = std::filesystem::exists(folder + "/round.json", error);  // the last file that is written
  if (error) return FileError(error.value(), "look at", folder + "/round.json");
  if (!complete) return std::nullopt;
  absl::StatusOr<RoundFolder> kept = ReadRoundFolder(folder, {.place = place});
  if (kept.ok()) return std::optional<RoundFolder>(*std::move(kept));
  if (IsFileError(kept.status())) return kept.status();
  return absl::InvalidArgumentError(absl::StrCat("the reports that --checkpoint keeps in ", folder, " are damaged (",
                                                 kept.status().message(),
                                                 "): remove this folder, and its trial is "
                                                 "drawn anew"));
}

ReportKeeper::ReportKeeper(std::string folder, std::unique_ptr<ReportFileWriter> writer)
    : folder_(std::move(folder)), writer_(std::move(writer)) {}

ReportKeeper::~ReportKeeper() {
  if (writer_ == nullptr) return;  // finished, or moved
  writer_.reset();
  std::error_code ignored;
  for (const char* name : {"/reports.blr", "/round.json", ""}) std::filesystem::remove(folder_ + name, ignored);
}

absl::StatusOr<ReportKeeper> ReportKeeper::Create(const std::string& folder) {
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder));
  BLINK_ASSIGN_OR_RETURN(std::unique_ptr<ReportFileWriter> writer, ReportFileWriter::Create(folder + "/reports.blr"));
  return ReportKeeper(folder, std::move(writer));
}

absl::Status ReportKeeper::Add(NodeIndex node, const CodedReport& report) {
  ++reports_;
  return writer_->Add(node, report);
}

absl::Status ReportKeeper::Finish(const PrivacyParameters& parameters, const v1::TrainingSpec& spec,
                                  const Digest& name) {
  BLINK_RETURN_IF_ERROR(writer_->Finish());
  v1::Round round;
  round.set_round_id(DigestToHex(name).substr(0, 32));
  round.set_deployment("simulation");
  *round.mutable_parameters() = ParametersToProto(parameters);
  *round.mutable_training() = spec;
  round.set_state(v1::ROUND_STATE_SEALED);
  round.set_reports(reports_);
  BLINK_RETURN_IF_ERROR(WriteRoundJson(round, folder_));
  writer_.reset();
  return absl::OkStatus();
}

}  // namespace blink
