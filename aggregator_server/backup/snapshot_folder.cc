#include "aggregator_server/backup/snapshot_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"

namespace blink {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "store.snapshot-";
constexpr auto kKeptFor = std::chrono::hours(24);

}  // namespace

absl::StatusOr<std::string> NewSnapshotFolder(const std::string& data_folder) {
  std::string path = absl::StrCat(data_folder, "/", kPrefix, "XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) return FileError(errno, "make a folder for the snapshot", path);
  std::error_code error;
  fs::remove(path, error);  // the store makes it
  if (error) return FileError(error.value(), "make a folder for the snapshot", path);
  return path;
}

void RemoveOldSnapshots(const std::string& data_folder) {
  std::error_code error;
  for (fs::directory_iterator at(data_folder, error), end; !error && at != end; at.increment(error)) {
    if (!absl::StartsWith(at->path().filename().string(), kPrefix)) continue;
    std::error_code gone;
    const auto written = fs::last_write_time(at->path(), gone);
    if (!gone && fs::file_time_type::clock::now() - written > kKeptFor) fs::remove_all(at->path(), gone);
  }
}

}  // namespace blink
