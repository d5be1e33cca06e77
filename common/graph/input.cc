#include "common/graph/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr absl::string_view kGzipMagic = "\x1f\x8b";

}  // namespace

struct Input::Gzip {
  z_stream stream = {};
  char packed[1 << 16];
  uint64_t packed_bytes = 0, unpacked_bytes = 0;  // so far
  bool at_start = true;                           // of a member: here the input may end
  ~Gzip() { inflateEnd(&stream); }
};

absl::StatusOr<std::unique_ptr<Input>> Input::Open(const std::string& path) {
  const bool standard = path == kStandardInput;
  const int fd =
      standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  const std::string name = standard ? "standard input" : path;
  if (fd < 0) return FileError(errno, "open", name);
  std::unique_ptr<Input> input(new Input(name, fd));
  struct stat info;
  if (::fstat(fd, &info) != 0) return FileError(errno, "stat", name);
  if (S_ISDIR(info.st_mode)) return absl::InvalidArgumentError(absl::StrCat(name, " is a folder, not a file"));
  return input;
}

Input::Input(std::string name, int fd) : name_(std::move(name)), fd_(fd) {}

Input::~Input() { ::close(fd_); }

absl::StatusOr<size_t> Input::ReadRaw(char* buffer, size_t bytes) {
  size_t filled = 0;
  if (!ahead_.empty()) {
    filled = std::min(bytes, ahead_.size());
    std::memcpy(buffer, ahead_.data(), filled);
    ahead_.erase(0, filled);
  }
  while (filled < bytes) {
    const ssize_t got = ::read(fd_, buffer + filled, bytes - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(errno, "read", name_);
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

absl::Status Input::Begin() {
  if (begun_) return absl::OkStatus();
  begun_ = true;
  char first[kGzipMagic.size()];
  BLINK_ASSIGN_OR_RETURN(const size_t got, ReadRaw(first, sizeof(first)));
  ahead_.assign(first, got);
  if (ahead_ != kGzipMagic) return absl::OkStatus();
  gzip_ = std::make_unique<Gzip>();
  if (inflateInit2(&gzip_->stream, 16 + MAX_WBITS) != Z_OK) return absl::ResourceExhaustedError("zlib has no memory");
  return absl::OkStatus();
}

absl::StatusOr<size_t> Input::ReadGzip(char* buffer, size_t bytes) {
  const auto damaged = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ": the gzip stream is ", what, "; fetch or make the file again"));
  };
  z_stream& stream = gzip_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(buffer);
  stream.avail_out = static_cast<uInt>(bytes);
  while (stream.avail_out > 0) {
    if (stream.avail_in == 0) {
      BLINK_ASSIGN_OR_RETURN(const size_t got, ReadRaw(gzip_->packed, sizeof(gzip_->packed)));
      if (got == 0 && !gzip_->at_start) return damaged("cut off");
      if (got == 0) break;
      stream.next_in = reinterpret_cast<Bytef*>(gzip_->packed);
      stream.avail_in = static_cast<uInt>(got);
      gzip_->packed_bytes += got;
    }
    gzip_->at_start = false;
    const int code = inflate(&stream, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {  // another member may follow
      inflateReset(&stream);
      gzip_->at_start = true;
    } else if (code != Z_OK) {
      const char* why = stream.msg != nullptr ? stream.msg : "unknown error";
      return damaged(absl::StrCat("damaged, or something else follows it (", why, ")"));
    }
  }
  const size_t unpacked = bytes - stream.avail_out;
  gzip_->unpacked_bytes += unpacked;
  if (GrowsImplausibly(gzip_->packed_bytes, gzip_->unpacked_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name_,
                     " is gzip that grows to more than 200 times its size, as files do that are made to fill the "
                     "memory; if you trust its source, unpack it (gzip -d) and give the unpacked file"));
  }
  return unpacked;
}

absl::StatusOr<absl::string_view> Input::Peek() {
  std::string first(kPeekBytes, '\0');
  BLINK_ASSIGN_OR_RETURN(const size_t got, Read(first.data(), first.size()));
  first.resize(got);
  peeked_ = std::move(first);
  return absl::string_view(peeked_);
}

absl::StatusOr<size_t> Input::Read(char* buffer, size_t bytes) {
  BLINK_RETURN_IF_ERROR(Begin());
  const size_t peeked = std::min(bytes, peeked_.size());
  std::memcpy(buffer, peeked_.data(), peeked);
  peeked_.erase(0, peeked);
  if (peeked == bytes) return peeked;
  BLINK_ASSIGN_OR_RETURN(const size_t got, gzip_ != nullptr
                                               ? ReadGzip(buffer + peeked, std::min<size_t>(bytes - peeked, 1 << 30))
                                               : ReadRaw(buffer + peeked, bytes - peeked));
  return peeked + got;
}

absl::StatusOr<std::string> Input::ReadAll(uint64_t bytes_max) {
  std::string content;
  struct stat info;
  if (gzip_ == nullptr && ::fstat(fd_, &info) == 0 && S_ISREG(info.st_mode)) {
    content.reserve(std::min<uint64_t>(info.st_size, bytes_max) + 1);
  }
  std::string buffer(1 << 20, '\0');
  while (true) {
    BLINK_ASSIGN_OR_RETURN(const size_t got, Read(buffer.data(), buffer.size()));
    if (got == 0) return content;
    if (content.size() + got > bytes_max) {
      return absl::OutOfRangeError(absl::StrCat(name_, " is larger than the limit of ", bytes_max, " bytes"));
    }
    content.append(buffer.data(), got);
  }
}

}  // namespace blink
