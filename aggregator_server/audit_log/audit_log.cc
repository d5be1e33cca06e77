#include "aggregator_server/audit_log/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

std::string OutcomeOf(const absl::Status& status) {
  return status.ToString(absl::StatusToStringMode::kWithNoExtraData);
}

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(const std::string& path, Clock& clock) {
  const int fd = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) return FileError(errno, "open the audit log", path);
  AuditLogSummary summary;
  const auto prepare = [&]() -> absl::Status {
    BLINK_RETURN_IF_ERROR(CheckRegularFile(path));
    if (const absl::Status lock = LockDescriptor(fd, path); !lock.ok()) {
      const char* const remedy = absl::IsAborted(lock) ? ": end it first, or give --audit-log another file" : "";
      return Reworded(lock, absl::StrCat("cannot open the audit log: ", lock.message(), remedy));
    }
    const absl::StatusOr<AuditLogSummary> read = ReadAuditLog(path);
    if (absl::IsDataLoss(read.status())) {
      return absl::DataLossError(absl::StrCat(
          read.status().message(), ": keep the file for whoever looks into it, move it away, and start again"));
    }
    BLINK_RETURN_IF_ERROR(read.status());
    summary = *read;
    if (summary.torn_bytes > 0 && ::ftruncate(fd, static_cast<off_t>(summary.bytes)) != 0) {
      return FileError(errno, "take the unfinished last line off", path);
    }
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    return SyncDirectory(folder.empty() ? "." : folder.string());
  };
  if (const absl::Status ready = prepare(); !ready.ok()) {
    ::close(fd);
    return ready;
  }
  std::unique_ptr<AuditLog> log(new AuditLog(path, fd, summary, clock));
  if (summary.torn_bytes > 0) {
    BLINK_RETURN_IF_ERROR(log->Append(
        {.event = "noted",
         .who = "aggregator",
         .action = "repair",
         .detail = absl::StrCat(summary.torn_bytes, " bytes of an unfinished line were taken off the log's end")}));
  }
  return log;
}

AuditLog::~AuditLog() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [name, kind] : refused_) WriteLeftOutLocked(kind);
  }
  ::close(fd_);
}

absl::Status AuditLog::Append(const AuditRecord& record) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return AppendLocked(record);
}

absl::Status AuditLog::RecordAround(AuditRecord record, const std::function<absl::Status(AuditRecord&)>& act) {
  record.event = "asked";
  BLINK_RETURN_IF_ERROR(Append(record));
  const absl::Status done = act(record);
  record.event = "answered";
  record.outcome = OutcomeOf(done);
  const absl::Status written = Append(record);
  if (!written.ok()) {
    spdlog::error("the answer to {} is not in the audit log: {}", record.action, std::string(written.message()));
  }
  return done;
}

AuditLogActivity AuditLog::GetActivity() const {
  AuditLogActivity activity;
  activity.records = records_;
  activity.bytes = size_;
  activity.failed_writes = failed_writes_;
  if (activity.failed_writes > 0) activity.last_failure = absl::FromUnixMillis(last_failure_ms_);
  return activity;
}

absl::Status AuditLog::AppendLocked(const AuditRecord& record) {
  const absl::Status written = WriteLocked(record);
  if (written.ok()) {
    ++records_;
    size_ = bytes_;
  } else {
    last_failure_ms_ = absl::ToUnixMillis(clock_.Now());
    ++failed_writes_;
  }
  return written;
}

absl::Status AuditLog::WriteLocked(const AuditRecord& record) {
  BLINK_RETURN_IF_ERROR(broken_);
  AuditChain chain = chain_;
  const std::string line = chain.Extend(record, clock_.Now());
  size_t written = 0;
  int error = 0;
  while (written < line.size() && error == 0) {
    const ssize_t done = ::write(fd_, line.data() + written, line.size() - written);
    if (done >= 0) written += done;
    if (done == 0) error = EIO;
    if (done < 0 && errno != EINTR) error = errno;
  }
  if (error == 0 && ::fdatasync(fd_) != 0) error = errno;
  if (error == 0) {
    chain_ = std::move(chain);
    bytes_ += line.size();
    return absl::OkStatus();
  }
  const absl::Status failed = FileError(error, "write to the audit log", path_);
  // No sync: what a power cut brings back of it is an unfinished line, or the next record's sync has it taken off.
  if (::ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) {
    broken_ = Reworded(failed, absl::StrCat(failed.message(),
                                            "; no operator is obeyed until the aggregator is started "
                                            "again"));
    spdlog::error("{}", std::string(broken_.message()));
    return broken_;
  }
  return failed;
}

void AuditLog::Refuse(AuditRecord record, const absl::Status& why) {
  record.event = "refused";
  record.outcome = OutcomeOf(why);
  const std::lock_guard<std::mutex> lock(mutex_);
  const absl::Time now = clock_.Now();
  ForgetQuietLocked(now);
  std::tuple<std::string, std::string, absl::StatusCode> name{record.who, record.action, why.code()};
  if (refused_.size() >= kKindsMax && refused_.count(name) == 0) std::get<0>(name) = "";
  const auto [found, is_new] = refused_.try_emplace(name);
  Kind& kind = found->second;
  if (is_new) {
    kind.since = now;
    const absl::Status written = AppendLocked(record);
    if (!written.ok()) spdlog::error("a refusal is not in the audit log: {}", std::string(written.message()));
    return;
  }
  ++kind.left_out;
  kind.last = std::move(record);
}

void AuditLog::ForgetQuietLocked(absl::Time now) {
  for (auto entry = refused_.begin(); entry != refused_.end();) {
    const bool is_quiet = now < entry->second.since || now - entry->second.since >= kQuiet;
    if (is_quiet) WriteLeftOutLocked(entry->second);
    entry = is_quiet ? refused_.erase(entry) : std::next(entry);
  }
}

void AuditLog::WriteLeftOutLocked(Kind& kind) {
  if (kind.left_out == 0) return;
  AuditRecord record = std::move(kind.last);
  record.detail = absl::StrCat("the last of ", kind.left_out, " since the record before of this kind");
  kind.left_out = 0;
  const absl::Status written = AppendLocked(record);
  if (!written.ok()) spdlog::error("refusals are not in the audit log: {}", std::string(written.message()));
}

void AuditLog::Look() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ForgetQuietLocked(clock_.Now());
}

AuditChain AuditLog::chain() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return chain_;
}

}  // namespace blink
