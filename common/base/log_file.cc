#include "common/base/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"

namespace blink {
namespace {

// Never waits, whatever has the name.
absl::StatusOr<int> OpenForLog(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640);
  if (fd < 0) return FileError(errno, "open the log file", path);
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return fd;
  ::close(fd);
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is no regular file, which a log needs: leave the flag out for standard error"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<LogFile>> LogFile::Open(const std::string& path) {
  const absl::StatusOr<int> fd = OpenForLog(path);
  if (!fd.ok()) return fd.status();
  return std::shared_ptr<LogFile>(new LogFile(path, *fd));
}

LogFile::~LogFile() { ::close(fd_); }

void LogFile::Reopen() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ReopenLocked();
}

void LogFile::ReopenLocked() {
  const absl::StatusOr<int> fd = OpenForLog(path_);
  if (!fd.ok()) return;  // the file that was moved away still takes lines
  ::close(std::exchange(fd_, *fd));
}

bool LogFile::WasMoved() const {
  struct stat named {
  }, open{};
  if (::fstat(fd_, &open) != 0) return true;
  if (::stat(path_.c_str(), &named) != 0) return errno == ENOENT;
  return named.st_ino != open.st_ino || named.st_dev != open.st_dev;
}

// Whole lines only: what was written of one that does not fit is taken back.
bool LogFile::Write(absl::string_view line) {
  ssize_t done = 0;
  do {
    done = ::write(fd_, line.data(), line.size());
  } while (done < 0 && errno == EINTR);
  if (done == static_cast<ssize_t>(line.size())) return true;
  struct stat info {};
  if (done > 0 && ::fstat(fd_, &info) == 0 && ::ftruncate(fd_, info.st_size - done) != 0) return false;
  return false;
}

void LogFile::sink_it_(const spdlog::details::log_msg& message) {
  constexpr auto kLookEvery = std::chrono::seconds(1);
  const auto now = std::chrono::steady_clock::now();
  if (now >= next_look_) {
    next_look_ = now + kLookEvery;
    if (WasMoved()) ReopenLocked();
  }
  spdlog::memory_buf_t line;
  if (lost_ > 0) {
    spdlog::details::log_msg told = message;
    const std::string text = absl::StrCat(lost_, " lines were lost, because the log file could not be written");
    told.payload = spdlog::string_view_t(text.data(), text.size());
    told.level = spdlog::level::warn;
    formatter_->format(told, line);
  }
  formatter_->format(message, line);
  const bool written = Write(absl::string_view(line.data(), line.size()));
  lost_ = written ? 0 : lost_ + 1;
}

}  // namespace blink
