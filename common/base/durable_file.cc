#include "common/base/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "common/base/descriptor_lock.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  int Release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

std::string ParentOf(const std::string& path) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

absl::Status Reworded(const absl::Status& status, absl::string_view message) {
  absl::Status reworded(status.code(), message);
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) { reworded.SetPayload(type, payload); });
  return reworded;
}

absl::Status InFile(absl::string_view path, const absl::Status& status) {
  return status.ok() ? status : Reworded(status, absl::StrCat(path, ": ", status.message()));
}

namespace {

constexpr char kFileErrorPayload[] = "blink/file-error";
constexpr char kDiskFull[] = "disk full";

bool IsWantOfSpace(int errno_value) { return errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG; }

absl::StatusCode CodeOf(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return absl::StatusCode::kInvalidArgument;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status FileError(int errno_value, absl::string_view what, absl::string_view path) {
  absl::Status status(CodeOf(errno_value), absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno_value)));
  status.SetPayload(kFileErrorPayload, absl::Cord(IsWantOfSpace(errno_value) ? kDiskFull : ""));
  return status;
}

bool IsFileError(const absl::Status& status) { return status.GetPayload(kFileErrorPayload).has_value(); }

bool IsDiskFull(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kFileErrorPayload);
  return payload.has_value() && *payload == kDiskFull;
}

namespace {

absl::Status CheckKind(const struct stat& info, const std::string& path) {
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is a folder, not a file"));
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a device, a FIFO or a socket, not a regular file"));
  }
  return absl::OkStatus();
}

bool LeadsNowhere(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && ::stat(path.c_str(), &info) != 0 && errno == ENOENT;
}

absl::Status LinkToNothing(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is a symbolic link to nothing: make its target, or remove it"));
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path, uint64_t bytes_max) {
  // Without waiting: the open of a FIFO that nobody writes to would last for ever.
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) {
    const int error = errno;
    if (LeadsNowhere(path)) return LinkToNothing(path);  // or it would pass for a file that is not there
    BLINK_RETURN_IF_ERROR(CheckRegularFile(path));       // a socket cannot even be opened
    return FileError(error, "open", path);
  }
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return FileError(errno, "stat", path);
  if (const absl::Status kind = CheckKind(info, path); !kind.ok()) return kind;
  std::string content;
  content.reserve(info.st_size > 0 ? std::min<uint64_t>(info.st_size, bytes_max) : 0);
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, "read", path);
    if (got == 0) return content;
    if (content.size() + got > bytes_max) {
      return absl::OutOfRangeError(absl::StrCat(path, " is larger than the limit of ", bytes_max, " bytes"));
    }
    content.append(buffer, got);
  }
}

absl::Status CheckRegularFile(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return FileError(errno, "open", path);
  return CheckKind(info, path);
}

absl::Status SyncDirectory(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return FileError(errno, "open", path);
  if (::fsync(fd.get()) != 0) return FileError(errno, "fsync", path);
  return absl::OkStatus();
}

namespace {

std::string TemporaryOf(const std::string& path) { return absl::StrCat(path, ".tmp.", ::getpid()); }

// Where a file is written that is called `path`.
struct Target {
  std::string path;     // links followed
  bool in_place;        // nothing is put in its place: a device, a FIFO, a socket, or standard output or error
  int descriptor = -1;  // of standard output or standard error, where it is this file
};

absl::StatusOr<Target> FindTarget(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return FileError(EISDIR, "write", path);
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
      struct stat open;
      const bool same = ::fstat(descriptor, &open) == 0 && open.st_dev == info.st_dev && open.st_ino == info.st_ino;
      if (same) return Target{path, /*in_place=*/true, descriptor};
    }
    if (!S_ISREG(info.st_mode)) return Target{path, /*in_place=*/true};
  }
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return Target{path, /*in_place=*/false};
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  if (!error) return Target{file.string(), /*in_place=*/false};
  if (error.value() != ENOENT) return FileError(error.value(), "follow the link", path);
  return LinkToNothing(path);
}

// A descriptor of the target itself, without waiting for the reader of a FIFO.
absl::StatusOr<int> OpenTarget(const Target& target) {
  const int fd = target.descriptor >= 0 ? ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 3)
                                        : ::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0 && errno == ENXIO) {
    return absl::InvalidArgumentError(
        absl::StrCat(target.path, " cannot be written: it is a FIFO that nobody reads, or a socket"));
  }
  if (fd < 0) return FileError(errno, "open", target.path);
  if (target.descriptor < 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

// False, with errno, where it could not all be written.
bool WriteAll(int fd, absl::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    content.remove_prefix(put);
  }
  return true;
}

}  // namespace

absl::Status CheckCanWriteFile(const std::string& path) {
  BLINK_ASSIGN_OR_RETURN(const Target target, FindTarget(path));
  if (target.in_place) {
    BLINK_ASSIGN_OR_RETURN(const int fd, OpenTarget(target));
    ::close(fd);
    return absl::OkStatus();
  }
  const std::string temporary = TemporaryOf(target.path);
  const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (fd.get() < 0) return FileError(errno, "create", temporary);
  return ::unlink(temporary.c_str()) == 0 ? absl::OkStatus() : FileError(errno, "remove", temporary);
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, mode_t mode) {
  BLINK_ASSIGN_OR_RETURN(const Target target, FindTarget(path));
  if (target.in_place) {
    BLINK_ASSIGN_OR_RETURN(const int opened, OpenTarget(target));
    const Fd fd(opened);
    return WriteAll(fd.get(), content) ? absl::OkStatus() : FileError(errno, "write", target.path);
  }
  const std::string temporary = TemporaryOf(target.path);
  Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (fd.get() < 0) return FileError(errno, "create", temporary);
  auto fail = [&](absl::string_view what) {
    const absl::Status status = FileError(errno, what, temporary);
    ::unlink(temporary.c_str());
    return status;
  };
  if (!WriteAll(fd.get(), content)) return fail("write");
  if (::fsync(fd.get()) != 0) return fail("fsync");
  if (::close(fd.Release()) != 0) return fail("close");
  if (::rename(temporary.c_str(), target.path.c_str()) != 0) return fail("rename");
  return SyncDirectory(ParentOf(target.path));
}

absl::Status MakeDirectories(const std::string& path, mode_t mode) {
  std::error_code error;
  const std::string parent = ParentOf(path);
  if (std::filesystem::is_directory(path, error)) {
    // A process may have died between making it and syncing its parent, in which this one may not read.
    const absl::Status synced = SyncDirectory(parent);
    return absl::IsPermissionDenied(synced) ? absl::OkStatus() : synced;
  }
  if (parent != path) BLINK_RETURN_IF_ERROR(MakeDirectories(parent, mode));
  if (::mkdir(path.c_str(), mode) != 0) {
    if (errno != EEXIST) return FileError(errno, "make the folder", path);
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (!error && !std::filesystem::exists(path, error)) {
      return absl::InvalidArgumentError(absl::StrCat("cannot make the folder ", path, ": it is a symbolic link to ",
                                                     target.string(), ", which does not exist"));
    }
    if (!std::filesystem::is_directory(path, error)) {
      return absl::InvalidArgumentError(absl::StrCat("cannot make the folder ", path, ": something else has its name"));
    }
  }
  return SyncDirectory(parent);
}

absl::Status LockDescriptor(int fd, const std::string& path) { return TryToLock(fd, LockKind::kExclusive, path); }

absl::StatusOr<FileLock> FileLock::Acquire(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (fd.get() < 0) return FileError(errno, "open", path);
  BLINK_RETURN_IF_ERROR(LockDescriptor(fd.get(), path));
  return FileLock(fd.Release());
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace blink
