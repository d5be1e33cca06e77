#include "aggregator_server/backup/snapshot_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/descriptor_lock.h"
#include "common/base/durable_file.h"

namespace blink {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "store.snapshot-";
constexpr auto kUnheldFor = std::chrono::minutes(1);  // until whoever asked for it holds it

int LockFolder(const std::string& folder, LockKind kind) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || TryToLock(fd, kind, folder).ok()) return fd;
  ::close(fd);
  return -1;
}

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
    if (gone || fs::file_time_type::clock::now() - written < kUnheldFor) continue;
    const int fd = LockFolder(at->path().string(), LockKind::kExclusive);
    if (fd < 0) continue;  // it is being copied
    fs::remove_all(at->path(), gone);
    ::close(fd);
  }
}

OldSnapshots::OldSnapshots(std::string data_folder, std::chrono::milliseconds every)
    : data_folder_(std::move(data_folder)), every_(every), thread_([this] { Run(); }) {}

OldSnapshots::~OldSnapshots() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void OldSnapshots::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    RemoveOldSnapshots(data_folder_);
    lock.lock();
    stop_.wait_for(lock, every_, [this] { return stopping_; });
  }
}

HeldSnapshot::HeldSnapshot(std::string folder)
    : folder_(std::move(folder)), fd_(LockFolder(folder_, LockKind::kShared)) {}

HeldSnapshot::~HeldSnapshot() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace blink
