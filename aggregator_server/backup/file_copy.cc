#include "aggregator_server/backup/file_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return FileError(done < 0 ? errno : EIO, "write", path);
    bytes.remove_prefix(done);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FileContent> CopyDurably(const std::string& source, const std::string& target, uint64_t bytes_max) {
  constexpr size_t kPiece = 1 << 20;
  BLINK_RETURN_IF_ERROR(CheckRegularFile(source));
  const Descriptor in(::open(source.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (in.get() < 0) return FileError(errno, "open", source);
  const Descriptor out(target.empty() ? -1 : ::open(target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!target.empty() && out.get() < 0) return FileError(errno, "make", target);
  FileContent content;
  Sha256 digest;
  std::vector<char> buffer(kPiece);
  while (content.bytes < bytes_max) {
    const size_t wanted = std::min<uint64_t>(kPiece, bytes_max - content.bytes);
    const ssize_t got = ::read(in.get(), buffer.data(), wanted);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, "read", source);
    if (got == 0) break;
    const absl::string_view piece(buffer.data(), got);
    digest.Update(piece);
    content.bytes += got;
    if (!target.empty()) BLINK_RETURN_IF_ERROR(WriteAll(out.get(), piece, target));
  }
  if (!target.empty() && ::fsync(out.get()) != 0) return FileError(errno, "fsync", target);
  content.digest = digest.Finish();
  return content;
}

}  // namespace blink
