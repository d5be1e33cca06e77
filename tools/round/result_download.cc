#include "tools/round/result_download.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/folder_lock.h"
#include "common/base/status_macros.h"
#include "common/wire/artifacts.h"
#include "tools/new_folder.h"
#include "tools/round/metrics_table.h"

namespace blink {
namespace {

std::string ParentOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// DIR.partial, locked, empty at the beginning, and gone at the end unless it has become DIR.
class PartialFolder {
 public:
  static absl::StatusOr<PartialFolder> Claim(const std::string& path) {
    BLINK_RETURN_IF_ERROR(MakeDirectories(ParentOf(path)));
    struct stat info;
    if (::lstat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", where the result is put together, is no folder: move it away"));
    }
    BLINK_ASSIGN_OR_RETURN(const int fd, TryToLockFolder(path));
    if (fd < 0)
      return absl::AbortedError(
          absl::StrCat("another process holds ", path, ", where it puts together the same result"));
    PartialFolder claimed(path, fd, /*is_ours=*/false);
    BLINK_RETURN_IF_ERROR(claimed.CheckHoldsNothingElse());
    claimed.is_ours_ = true;
    claimed.Clear();
    return claimed;
  }
  PartialFolder(PartialFolder&& other) noexcept
      : path_(std::move(other.path_)),
        fd_(std::exchange(other.fd_, -1)),
        is_ours_(std::exchange(other.is_ours_, false)) {}
  ~PartialFolder() {
    if (is_ours_) {
      Clear();
      ::rmdir(path_.c_str());
    }
    if (fd_ >= 0) ::close(fd_);
  }

  absl::Status RenameTo(const std::string& folder) {
    BLINK_RETURN_IF_ERROR(CheckIsNewFolder(folder));  // again, as the transfer took its time
    BLINK_RETURN_IF_ERROR(RenameDurably(path_, folder));
    is_ours_ = false;
    return absl::OkStatus();
  }

 private:
  PartialFolder(std::string path, int fd, bool is_ours) : path_(std::move(path)), fd_(fd), is_ours_(is_ours) {}

  // Only what a download makes is ever deleted: regular files by the names of artifacts.
  absl::Status CheckHoldsNothingElse() const {
    std::error_code error;
    for (std::filesystem::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      bool known = false;
      for (const Artifact& artifact : kArtifacts) known |= name == artifact.name;
      if (!known || !at->is_regular_file(error)) {
        return absl::InvalidArgumentError(absl::StrCat(path_, ", where the result is put together, holds ", name,
                                                       ", which is no part of a result: move it away"));
      }
    }
    return error ? FileError(error.value(), "read the folder", path_) : absl::OkStatus();
  }

  void Clear() const {
    for (const Artifact& artifact : kArtifacts) ::unlink(absl::StrCat(path_, "/", artifact.name).c_str());
  }

  std::string path_;
  int fd_ = -1;
  bool is_ours_ = false;
};

absl::Status Download(OperatorClient& client, const std::string& round_id, const std::string& artifact,
                      const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "wbxe"), std::fclose);
  if (file == nullptr) return FileError(errno, "create", path);
  BLINK_RETURN_IF_ERROR(client.Fetch(round_id, artifact, [&](const std::string& chunk) -> absl::Status {
    if (std::fwrite(chunk.data(), 1, chunk.size(), file.get()) != chunk.size()) return FileError(errno, "write", path);
    return absl::OkStatus();
  }));
  if (std::fflush(file.get()) != 0) return FileError(errno, "write", path);
  return absl::OkStatus();
}

}  // namespace

absl::Status DownloadResult(OperatorClient& client, const std::string& round_id, const std::string& metrics_json,
                            std::string folder) {
  const bool has_model = HasModel(metrics_json), has_links = HasLinks(metrics_json);
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  BLINK_RETURN_IF_ERROR(CheckIsNewFolder(folder));
  const std::string partial = absl::StrCat(folder, ".partial");
  BLINK_ASSIGN_OR_RETURN(PartialFolder place, PartialFolder::Claim(partial));
  for (const auto& [name, presence] : kArtifacts) {
    if (presence == Artifact::kWithModel && !has_model) continue;
    if (presence == Artifact::kWithLinks && !has_links) continue;
    const std::string path = absl::StrCat(partial, "/", name);
    const absl::Status fetched = Download(client, round_id, name, path);
    if (presence == Artifact::kSometimes && (absl::IsNotFound(fetched) || absl::IsInvalidArgument(fetched))) {
      ::unlink(path.c_str());
      continue;
    }
    BLINK_RETURN_IF_ERROR(fetched);
  }
  return place.RenameTo(folder);
}

}  // namespace blink
