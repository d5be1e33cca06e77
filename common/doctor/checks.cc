#include "common/doctor/checks.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/durable_file.h"
#include "common/base/machine_memory.h"
#include "common/base/time_text.h"

namespace blink {
namespace {

// Clocks of file servers run ahead a little.
constexpr absl::Duration kFileTimeSlack = absl::Minutes(5);
constexpr absl::Duration kWatchdogMin = absl::Seconds(2);

// The folder itself, or the nearest above it that exists.
std::string NearestFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::path at = std::filesystem::absolute(folder, error);
  while (at.has_relative_path() && !std::filesystem::exists(at, error)) at = at.parent_path();
  return at.string();
}

}  // namespace

void LookAtClock(const std::vector<std::string>& files, absl::Time now, Diagnosis& diagnosis) {
  bool is_sound = true;
  for (const std::string& path : files) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) continue;
    const absl::Time written = absl::TimeFromTimespec(info.st_mtim);
    if (written <= now + kFileTimeSlack) continue;
    is_sound = false;
    diagnosis.Warn("clock", path,
                   absl::StrCat("was written on ", TimeText(written), ", and this machine's clock says ", TimeText(now),
                                ": the clock is wrong, or was set back"),
                   "timedatectl status; then set the clock, and touch the file");
  }
  if (is_sound) {
    diagnosis.Ok("clock", "", absl::StrCat("this machine's clock says ", TimeText(now), ", and no file is newer"));
  }
}

void LookAtMode(const std::string& check, const std::string& path, Diagnosis& diagnosis) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return;
  const bool is_folder = S_ISDIR(info.st_mode);
  const mode_t by_group = info.st_mode & S_IWGRP;  // a service may have its keys by its group
  const mode_t by_all = info.st_mode & (is_folder ? S_IWOTH : S_IWOTH | S_IROTH);
  const std::string mode = absl::StrFormat("mode %04o", info.st_mode & 07777);
  if (by_group == 0 && by_all == 0) {
    diagnosis.Ok(check, path, absl::StrCat("is open to nobody who should not have it (", mode, ")"));
    return;
  }
  const char* const who = by_all != 0 ? "every user of this machine" : "its group";
  const char* const how = ((by_all | by_group) & (S_IWOTH | S_IWGRP)) != 0 ? "changed" : "read";
  diagnosis.Warn(check, path, absl::StrCat("may be ", how, " by ", who, " (", mode, ")"),
                 absl::StrCat(is_folder ? "chmod go-w " : "chmod o-rwx,g-w ", path));
}

bool LookAtFolder(const std::string& check, const std::string& folder, Diagnosis& diagnosis) {
  const std::string nearest = NearestFolder(folder);
  std::error_code error;
  if (!std::filesystem::is_directory(nearest, error)) {
    diagnosis.Error(check, folder, absl::StrCat(nearest, " is no folder: remove it, or use another folder"),
                    ExitCode::kBadInput);
    return false;
  }
  if (::access(nearest.c_str(), W_OK | X_OK) != 0) {
    diagnosis.Error(check, folder, FileError(errno, "write to", nearest));
    return true;
  }
  const bool is_there = std::filesystem::exists(folder, error);
  diagnosis.Ok(check, folder, is_there ? "this user may write to it" : "does not exist yet, and can be made");
  return true;
}

void LookAtDisk(const std::string& folder, double need, const std::string& what, Diagnosis& diagnosis) {
  const std::string nearest = NearestFolder(folder);
  struct statvfs disk {};
  if (::statvfs(nearest.c_str(), &disk) != 0) {
    diagnosis.NotLooked("disk", folder, FileError(errno, "ask the file system of", nearest).message());
    return;
  }
  const double available = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  const std::string text =
      absl::StrCat("has ", FormatBytes(available), " left, and ", what, " needs about ", FormatBytes(need));
  constexpr char kRemedy[] = "free space there, or move the folder to another disk";
  if (available < need || disk.f_bavail == 0) {
    diagnosis.Error("disk", folder, text, ExitCode::kNoResources, kRemedy);
  } else if (available < 2 * need) {
    diagnosis.Warn("disk", folder, text, kRemedy);
  } else if (disk.f_files > 0 && disk.f_favail == 0) {
    diagnosis.Error("disk", folder, "its file system has no inode left", ExitCode::kNoResources, kRemedy);
  } else {
    diagnosis.Ok("disk", folder, text);
  }
}

void LookAtServiceManager(const ServiceManager& manager, bool is_managed, Diagnosis& diagnosis) {
  if (!is_managed) {
    diagnosis.NotLooked("service", "NOTIFY_SOCKET", "is not set: this was not started by a service manager");
    return;
  }
  const absl::Status heard = manager.Send("STATUS=looking for what is wrong");
  if (!heard.ok()) diagnosis.Warn("service", "NOTIFY_SOCKET", std::string(heard.message()));
  if (heard.ok()) diagnosis.Ok("service", "NOTIFY_SOCKET", "the service manager takes messages");
  const absl::Duration watchdog = 2 * manager.watchdog_interval();
  if (watchdog == absl::InfiniteDuration()) {
    diagnosis.Ok("service", "WATCHDOG_USEC", "nobody watches this process");
  } else if (watchdog < kWatchdogMin) {
    diagnosis.Warn("service", "WATCHDOG_USEC",
                   absl::StrCat("the watchdog waits for ", absl::FormatDuration(watchdog),
                                " alone: a busy machine would have the program ended"),
                   "WatchdogSec=60 in the unit");
  } else {
    diagnosis.Ok("service", "WATCHDOG_USEC", absl::StrCat("the watchdog waits for ", absl::FormatDuration(watchdog)));
  }
}

}  // namespace blink
