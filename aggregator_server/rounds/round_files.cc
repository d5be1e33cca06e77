#include "aggregator_server/rounds/round_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "aggregator_server/reports/report_file.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"
#include "common/wire/round.h"

namespace blink {

RoundFiles::RoundFiles(const std::string& rounds_folder, const std::string& round_id)
    : folder_(absl::StrCat(rounds_folder, "/", round_id)) {}

absl::Status RoundFiles::Write(const v1::Round& round, ReportStore& store) const {
  BLINK_RETURN_IF_ERROR(MakeDirectories(folder_));
  const std::string path = absl::StrCat(folder_, "/reports.blr");
  BLINK_ASSIGN_OR_RETURN(const std::optional<SecretKey> key, store.GetDataKey(round.round_id()));
  BLINK_ASSIGN_OR_RETURN(
      const std::unique_ptr<ReportFileWriter> writer,
      key ? ReportFileWriter::CreateEncrypted(path, *key, round.round_id()) : ReportFileWriter::Create(path));
  BLINK_RETURN_IF_ERROR(store.VisitReports(
      round.round_id(), [&](uint64_t node, const CodedReport& report) { return writer->Add(node, report); }));
  BLINK_RETURN_IF_ERROR(writer->Finish());
  if (round.parameters().group_count() > 0) {
    BLINK_ASSIGN_OR_RETURN(const std::string groups, store.GetGroups(round));
    BLINK_RETURN_IF_ERROR(WriteGroups(groups, folder_));
  }
  return WriteRoundJson(round, folder_);
}

bool RoundFiles::LacksReportsOf(const v1::Round& round) const {
  const auto lacks = [&](const char* name) {
    std::error_code error;
    return !std::filesystem::is_regular_file(folder_ + name, error) && (!error || error.value() == ENOENT);
  };
  return IsTerminal(round.state()) && round.reports() > 0 && round.reports_deleted_ms() == 0 &&
         (lacks("/round.json") || lacks("/reports.blr") || (round.parameters().group_count() > 0 && lacks("/groups")));
}

absl::Status RoundFiles::RemoveReports() const {
  RemoveWhatWorkersKept();
  std::error_code error;
  if (!std::filesystem::exists(folder_, error)) return absl::OkStatus();
  for (const char* const name : {"/reports.blr", "/reports.blr.tmp"}) {
    std::filesystem::remove(folder_ + name, error);
    if (error) return FileError(error.value(), "remove", folder_ + name);
  }
  return SyncDirectory(folder_);
}

absl::Status RoundFiles::RemoveFolder() const {
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
  if (error) return FileError(error.value(), "remove", folder_);
  return SyncDirectory(std::filesystem::path(folder_).parent_path().string());
}

uint64_t RoundFiles::CheckpointBytes() const {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoint_folder(), error)) {
    const uint64_t size = entry.path().extension() == ".checkpoint" ? entry.file_size(error) : 0;
    if (!error) bytes += size;
  }
  return bytes;
}

std::optional<absl::Time> RoundFiles::CheckpointTime() const {
  std::optional<absl::Time> newest;
  std::error_code error;
  for (std::filesystem::directory_iterator at(checkpoint_folder(), error), end; !error && at != end;
       at.increment(error)) {
    struct stat info;
    if (at->path().extension() != ".checkpoint" || ::stat(at->path().c_str(), &info) != 0) continue;
    const absl::Time written = absl::TimeFromTimespec(info.st_mtim);
    newest = newest.has_value() ? std::max(*newest, written) : written;
  }
  return newest;
}

void RoundFiles::RemoveWhatWorkersKept() const {
  std::error_code ignored;  // what is left does no harm, and the next start tries again
  std::filesystem::remove_all(result() + ".tmp", ignored);
  std::filesystem::remove_all(checkpoint_folder(), ignored);
}

}  // namespace blink
