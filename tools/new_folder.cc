#include "tools/new_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

absl::Status SyncFilesystem(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "open", path);
  const int result = ::syncfs(fd);
  const int error = errno;
  ::close(fd);
  return result == 0 ? absl::OkStatus() : FileError(error, "sync", path);
}

}  // namespace

absl::Status WriteNew(const std::string& path, absl::string_view content, mode_t mode) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) return FileError(errno, "create", path);
  absl::Status status;
  while (!content.empty() && status.ok()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno != EINTR) status = FileError(errno, "write", path);
    if (put > 0) content.remove_prefix(put);
  }
  if (::close(fd) != 0 && status.ok()) status = FileError(errno, "close", path);
  return status;
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return absl::OkStatus();
  if (::mkdir(path.c_str(), 0700) != 0) return FileError(errno, "make the folder", path);
  return absl::OkStatus();
}

absl::Status RenameDurably(const std::string& from, const std::string& to) {
  BLINK_RETURN_IF_ERROR(SyncFilesystem(from));
  if (::rename(from.c_str(), to.c_str()) != 0) return FileError(errno, "rename to", to);
  const std::string parent = std::filesystem::path(to).parent_path().string();
  return SyncDirectory(parent.empty() ? "." : parent);
}

absl::StatusOr<Staging> Staging::Create(const std::string& out) {
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(out, ignored))) {
    return absl::InvalidArgumentError(
        absl::StrCat(out, " exists already: name a folder that does not, nothing is overwritten"));
  }
  std::string target = out;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  const std::string parent = std::filesystem::path(target).parent_path().string();
  if (!parent.empty()) BLINK_RETURN_IF_ERROR(MakeDirectories(parent));
  Staging staging(target, absl::StrCat(target, ".partial.", ::getpid()));
  if (::mkdir(staging.path_.c_str(), 0700) != 0) return FileError(errno, "make the folder", staging.path_);
  return staging;
}

Staging::Staging(std::string target, std::string path) : target_(std::move(target)), path_(std::move(path)) {}

Staging::Staging(Staging&& other) noexcept : target_(std::move(other.target_)), path_(std::move(other.path_)) {
  other.path_.clear();
}

Staging::~Staging() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

absl::Status Staging::Publish() {
  BLINK_RETURN_IF_ERROR(RenameDurably(path_, target_));
  path_.clear();
  return absl::OkStatus();
}

}  // namespace blink
