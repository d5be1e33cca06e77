#include "aggregator_server/result/result_place.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "common/base/durable_file.h"
#include "common/base/folder_lock.h"
#include "common/base/mount.h"
#include "common/base/status_macros.h"
#include "common/wire/artifacts.h"
#include "nlohmann/json.hpp"

namespace blink {
namespace {

// "model.pt", or one that was being written: "model.pt.tmp", "model.pt.tmp.4711".
bool IsResultFile(absl::string_view name) {
  for (const Artifact& file : kArtifacts) {
    absl::string_view rest = name;
    if (!absl::ConsumePrefix(&rest, file.name)) continue;
    if (rest.empty()) return true;
    if (absl::ConsumePrefix(&rest, ".tmp") && (rest.empty() || absl::ConsumePrefix(&rest, ".")) &&
        rest.find_first_not_of("0123456789") == absl::string_view::npos) {
      return true;
    }
  }
  return false;
}

struct Contents {
  std::vector<std::string> files;  // of a result
  std::string foreign;             // something else, if there is such
};

absl::StatusOr<Contents> Look(const std::string& folder) {
  Contents contents;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (at->symlink_status(error).type() == std::filesystem::file_type::regular && IsResultFile(name)) {
      contents.files.push_back(name);
    } else {
      contents.foreign = name;
    }
  }
  if (error) return FileError(error.value(), "read the folder", folder);
  return contents;
}

enum class Kind { kAbsent, kEmpty, kOther };
absl::StatusOr<Kind> KindOf(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return Kind::kAbsent;
    return FileError(errno, "look at", path);
  }
  if (!S_ISDIR(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a folder: name another place for the result"));
  BLINK_ASSIGN_OR_RETURN(const Contents contents, Look(path));
  return contents.files.empty() && contents.foreign.empty() ? Kind::kEmpty : Kind::kOther;
}

// OK as well for the remains of one that was being written or removed, when `unfinished`.
absl::Status CheckHoldsResult(const std::string& folder, bool unfinished) {
  BLINK_ASSIGN_OR_RETURN(const Contents contents, Look(folder));
  constexpr char kRemedy[] = "; nothing of it was touched: name another folder, or empty this one";
  if (!contents.foreign.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, " holds ", contents.foreign, ", which is not part of a result", kRemedy));
  }
  const auto begun = [](const std::string& name) { return absl::StartsWith(name, "metrics.json.tmp"); };
  if (unfinished && std::all_of(contents.files.begin(), contents.files.end(), begun)) return absl::OkStatus();
  const absl::StatusOr<std::string> text = ReadFile(folder + "/metrics.json", kMetricsBytesMax);
  const auto metrics = nlohmann::json::parse(text.value_or(""), nullptr, /*allow_exceptions=*/false);
  if (metrics.is_object() && metrics.contains("privacy") && metrics.contains("train")) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(folder, " holds no metrics.json of a result", kRemedy));
}

// Of a folder that CheckHoldsResult found good. By metrics.json the folder is known for a result's: it goes last, and
// only when the others are gone from the disk.
absl::Status RemoveFiles(const std::string& folder) {
  BLINK_ASSIGN_OR_RETURN(Contents contents, Look(folder));
  std::stable_partition(contents.files.begin(), contents.files.end(),
                        [](const std::string& name) { return name != "metrics.json"; });
  for (const std::string& name : contents.files) {
    if (name == "metrics.json") BLINK_RETURN_IF_ERROR(SyncDirectory(folder));
    const std::string path = absl::StrCat(folder, "/", name);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return FileError(errno, "remove", path);
  }
  return absl::OkStatus();
}

// What came in meanwhile, and then the folder, stays.
absl::Status RemoveResult(const std::string& folder) {
  BLINK_RETURN_IF_ERROR(RemoveFiles(folder));
  if (::rmdir(folder.c_str()) != 0 && errno != ENOENT) return FileError(errno, "remove", folder);
  return absl::OkStatus();
}

absl::StatusOr<std::string> AbsolutePath(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(std::filesystem::absolute(folder, error), error);
  if (error) return FileError(error.value(), "find the folder", folder);
  std::string text = path.lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  if (text.empty() || text == "/")
    return absl::InvalidArgumentError(absl::StrCat("\"", folder, "\" is no place for a result: name a folder"));
  return text;
}

std::string ParentOf(const std::string& path) { return std::filesystem::path(path).parent_path().string(); }

absl::Status CheckReplaceable(const std::string& path, ResultPlace::Existing existing) {
  BLINK_ASSIGN_OR_RETURN(const Kind kind, KindOf(path));
  if (kind == Kind::kAbsent) return absl::OkStatus();
  if (IsMountRoot(path)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is a mounted volume, which cannot be replaced at once: name a folder in it"));
  }
  if (kind == Kind::kEmpty) return absl::OkStatus();
  BLINK_RETURN_IF_ERROR(CheckHoldsResult(path, /*unfinished=*/false));
  if (existing == ResultPlace::Existing::kReplace) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, " holds a result already: name another folder, or say that it may be replaced (--replace)"));
}

// A descriptor that holds the lock of the folder `path`, which it makes; -1: another process holds it.
absl::StatusOr<int> TryToLock(const std::string& path) {
  BLINK_RETURN_IF_ERROR(KindOf(path).status());  // says of a file or a link what to do
  return TryToLockFolder(path);
}

}  // namespace

absl::Status CheckIsResult(const std::string& folder) { return CheckHoldsResult(folder, /*unfinished=*/false); }

bool ResultPlace::Takes(const std::string& folder, const std::string& path) {
  const absl::StatusOr<std::string> result = AbsolutePath(folder), other = AbsolutePath(path);
  if (!result.ok() || !other.ok()) return false;  // no place for either, which is said where it is claimed
  const std::filesystem::path inside(*other);
  for (const char* suffix : {"", ".tmp", ".old"}) {
    const std::filesystem::path taken(*result + suffix);
    if (std::mismatch(taken.begin(), taken.end(), inside.begin(), inside.end()).first == taken.end()) return true;
  }
  return false;
}

absl::StatusOr<ResultPlace> ResultPlace::Claim(const std::string& folder, Existing existing, double patience_s) {
  BLINK_ASSIGN_OR_RETURN(const std::string path, AbsolutePath(folder));
  const std::string old = path + ".old";
  std::error_code error;
  if (!std::filesystem::is_directory(ParentOf(path), error)) {
    if (error && error.value() != ENOENT) return FileError(error.value(), "look for", ParentOf(path));
    if (!error) return absl::InvalidArgumentError(absl::StrCat(ParentOf(path), " is not a folder"));
    return absl::NotFoundError(
        absl::StrCat("there is no folder ", ParentOf(path), " to put the result in: make it first"));
  }
  const absl::Time patience = absl::Now() + absl::Seconds(patience_s);
  BLINK_ASSIGN_OR_RETURN(int lock, TryToLock(path + ".tmp"));
  while (lock < 0 && absl::Now() < patience) {
    absl::SleepFor(absl::Milliseconds(20));
    BLINK_ASSIGN_OR_RETURN(lock, TryToLock(path + ".tmp"));
  }
  if (lock < 0) return absl::AbortedError(absl::StrCat("another process is about to write the result ", path));
  ResultPlace place(path, existing, lock);
  // Who died between moving the old result aside and putting the new one in its place left neither there.
  BLINK_ASSIGN_OR_RETURN(const Kind kind, KindOf(path));
  if (kind == Kind::kAbsent && CheckIsResult(old).ok() && ::rename(old.c_str(), path.c_str()) != 0) {
    return FileError(errno, "bring back the result", path);
  }
  BLINK_RETURN_IF_ERROR(CheckReplaceable(path, existing));
  if (const absl::Status remains = CheckHoldsResult(place.temporary(), /*unfinished=*/true); !remains.ok()) {
    ::close(std::exchange(place.lock_, -1));  // not to be cleared
    return remains;
  }
  BLINK_RETURN_IF_ERROR(RemoveFiles(place.temporary()));
  return place;
}

ResultPlace::ResultPlace(ResultPlace&& other) noexcept
    : folder_(std::move(other.folder_)), existing_(other.existing_), lock_(std::exchange(other.lock_, -1)) {}

ResultPlace& ResultPlace::operator=(ResultPlace&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(existing_, other.existing_);
  std::swap(lock_, other.lock_);
  return *this;
}

ResultPlace::~ResultPlace() {
  if (lock_ < 0) return;
  RemoveResult(temporary()).IgnoreError();
  ::close(lock_);
}

absl::Status ResultPlace::Publish(bool exchange) {
  BLINK_RETURN_IF_ERROR(CheckReplaceable(folder_, existing_));
  BLINK_ASSIGN_OR_RETURN(const Kind kind, KindOf(folder_));
  const std::string parent = ParentOf(folder_), old = folder_ + ".old";
  std::string replaced;  // where the old result is to be removed
  if (kind != Kind::kOther) {
    if (::rename(temporary().c_str(), folder_.c_str()) != 0) return FileError(errno, "put the result at", folder_);
  } else if (exchange && ::renameat2(AT_FDCWD, temporary().c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE) == 0) {
    replaced = temporary();
  } else if (!exchange || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) {
    BLINK_ASSIGN_OR_RETURN(const Kind kind_of_old, KindOf(old));
    if (kind_of_old != Kind::kAbsent) {
      if (kind_of_old == Kind::kOther) BLINK_RETURN_IF_ERROR(CheckIsResult(old));
      BLINK_RETURN_IF_ERROR(RemoveResult(old));
    }
    if (::rename(folder_.c_str(), old.c_str()) != 0) return FileError(errno, "move aside the result", folder_);
    if (::rename(temporary().c_str(), folder_.c_str()) != 0) {
      const int failed = errno;
      ::rename(old.c_str(), folder_.c_str());
      return FileError(failed, "put the result at", folder_);
    }
    replaced = old;
  } else {
    return FileError(errno, "put the result at", folder_);
  }
  BLINK_RETURN_IF_ERROR(SyncDirectory(parent));
  if (!replaced.empty()) RemoveResult(replaced).IgnoreError();  // the next claim clears what is left
  ::close(std::exchange(lock_, -1));
  return absl::OkStatus();
}

}  // namespace blink
