#include "tools/new_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/mount.h"
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

// While the work that fills it goes on: under another name first, where nothing is added to it any more.
void RemoveWhileFilled(const std::string& folder) {
  const std::string aside = folder + ".ended";
  std::error_code ignored;
  if (::rename(folder.c_str(), aside.c_str()) == 0) std::filesystem::remove_all(aside, ignored);
  std::filesystem::remove_all(folder, ignored);  // made again in between
}

// The folders from `path` up to `kept`, which stays, unless something else is in them.
void RemoveEmpty(const std::filesystem::path& path, const std::filesystem::path& kept) {
  for (std::filesystem::path folder = path; folder != kept && ::rmdir(folder.c_str()) == 0;)
    folder = folder.parent_path();
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

absl::Status CheckIsNewFolder(const std::string& path) {
  std::string name = path;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  struct stat info;
  if (::lstat(name.c_str(), &info) != 0) {
    return errno == ENOENT ? absl::OkStatus() : FileError(errno, "look for", name);
  }
  std::error_code error;
  if (!S_ISDIR(info.st_mode) || !std::filesystem::is_empty(name, error) || error) {
    const bool leads_nowhere = S_ISLNK(info.st_mode) && ::stat(name.c_str(), &info) != 0;
    return absl::InvalidArgumentError(absl::StrCat(name,
                                                   leads_nowhere ? " is a symbolic link to nothing" : " exists already",
                                                   ": name a folder that does not exist, nothing is overwritten"));
  }
  if (IsMountRoot(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is a mounted volume, which cannot be replaced at once: name a folder in it"));
  }
  if (std::filesystem::equivalent(name, ".", error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is the working folder, which cannot be replaced at once: name a folder in it"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Staging> Staging::Create(const std::string& out) {
  BLINK_RETURN_IF_ERROR(CheckIsNewFolder(out));
  std::error_code ignored;
  std::string target = out;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  const std::string parent = std::filesystem::path(target).parent_path().string();
  Staging staging(target, absl::StrCat(target, ".partial.", ::getpid()));
  std::filesystem::path kept = parent;
  while (!kept.empty() && !std::filesystem::exists(kept, ignored)) kept = kept.parent_path();
  staging.interrupt_ =
      std::make_unique<Interrupt>("blink", [path = staging.path_, parent, kept = kept.string()](ExitCode code) {
        RemoveWhileFilled(path);
        RemoveEmpty(parent, kept);
        return code;
      });
  staging.parent_ = parent;
  staging.kept_ = kept.string();
  if (!parent.empty()) BLINK_RETURN_IF_ERROR(MakeDirectories(parent));
  if (::mkdir(staging.path_.c_str(), 0700) != 0) return FileError(errno, "make the folder", staging.path_);
  return staging;
}

Staging::Staging(std::string target, std::string path) : target_(std::move(target)), path_(std::move(path)) {}

Staging::Staging(Staging&& other) noexcept
    : target_(std::move(other.target_)),
      path_(std::move(other.path_)),
      parent_(std::move(other.parent_)),
      kept_(std::move(other.kept_)),
      interrupt_(std::move(other.interrupt_)) {
  other.path_.clear();
}

Staging::~Staging() {
  interrupt_ = nullptr;
  std::error_code ignored;
  if (path_.empty()) return;
  std::filesystem::remove_all(path_, ignored);
  RemoveEmpty(parent_, kept_);
}

absl::Status Staging::Publish() {
  BLINK_RETURN_IF_ERROR(RenameDurably(path_, target_));
  path_.clear();
  interrupt_ = nullptr;
  return absl::OkStatus();
}

}  // namespace blink
