// What operators are promised: a record of an act stays in the audit log, and a backup or a restored folder that has
// its name is whole.
#include <algorithm>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "aggregator_server/audit_log/audit_log.h"
#include "aggregator_server/backup/backup.h"
#include "common/base/clock.h"
#include "common/base/durable_file.h"
#include "tests/power_cut/scenario.h"

namespace blink::power_cut {
namespace {

namespace fs = std::filesystem;

// ---- the audit log ----

void WriteAuditLog(const std::string& root) {
  const auto log = AuditLog::Open(root + "/audit.log", SystemClock());
  if (!log.ok()) return Note(absl::StrCat("refused ", log.status().ToString()));
  for (int i = 0; i < 3; ++i) {
    if ((*log)->Append({.event = "asked", .who = "operator/ann", .action = "seal"}).ok()) {
      Note(absl::StrCat((*log)->chain().records));
    }
  }
}

std::string CheckAuditLog(const std::string& root, const Notes& notes, bool in_order) {
  const auto log = AuditLog::Open(root + "/audit.log", SystemClock());
  if (!log.ok()) return !in_order && absl::IsDataLoss(log.status()) ? "" : std::string(log.status().message());
  uint64_t promised = 0;
  for (const std::string& note : notes) {
    uint64_t number = 0;
    if (!absl::SimpleAtoi(note, &number)) return note;
    promised = std::max(promised, number);
  }
  return (*log)->chain().records >= promised ? "" : absl::StrCat("record ", promised, " is gone");
}

// ---- backups ----

constexpr const char* kFiles[] = {"store/CURRENT", "rosters/1.json", "rounds/aa/result/metrics.json", "audit.log"};

std::string Content(const std::string& file) { return absl::StrCat("content of ", file, std::string(3000, '.')); }

bool Write(const std::string& path, const std::string& content) {
  return MakeDirectories(fs::path(path).parent_path().string()).ok() && WriteFileAtomically(path, content).ok();
}

void BackUpAndRestore(const std::string& root) {
  const std::string source = root + ".source";  // beside the disk that fails
  for (const std::string file : kFiles) {
    const std::string folder = file == std::string(kFiles[0]) ? "/snapshot/" : "/data/";
    if (!Write(source + folder + (file == std::string(kFiles[0]) ? "CURRENT" : file), Content(file))) return;
  }
  std::error_code error;
  if (!fs::exists(root + "/backup", error)) {
    const auto made =
        MakeBackup({.data_folder = source + "/data", .store_snapshot = source + "/snapshot", .round_ids = {"aa"}},
                   root + "/backup", absl::UnixEpoch(), nullptr);
    if (!made.ok()) return Note(std::string(made.status().message()));
    Note("backup");
  }
  const auto restored = RestoreBackup(root + "/backup", root + "/restored", nullptr);
  if (restored.ok()) Note("restored");
}

std::string CheckBackup(const std::string& root, const Notes& notes, bool) {
  const auto is_promised = [&](const char* name) { return std::find(notes.begin(), notes.end(), name) != notes.end(); };
  std::error_code error;
  if (is_promised("backup") || fs::exists(root + "/backup", error)) {
    if (const auto whole = VerifyBackup(root + "/backup", nullptr); !whole.ok()) {
      return absl::StrCat("a backup is not whole: ", whole.status().message());
    }
  }
  if (is_promised("restored") || fs::exists(root + "/restored", error)) {
    for (const std::string file : kFiles) {
      if (ReadFile(absl::StrCat(root, "/restored/", file), 1 << 20).value_or("") != Content(file)) {
        return absl::StrCat("a restored folder lacks ", file);
      }
    }
  }
  return "";
}

}  // namespace

Scenario AuditLogScenario() { return {"audit log", WriteAuditLog, CheckAuditLog}; }
Scenario BackupScenario() { return {"backup", BackUpAndRestore, CheckBackup, /*kill_stride=*/7}; }

}  // namespace blink::power_cut
