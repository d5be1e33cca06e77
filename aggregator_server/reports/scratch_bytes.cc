#include "aggregator_server/reports/scratch_bytes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr size_t kFirstPiece = size_t{64} << 10, kLargestPiece = size_t{64} << 20;

uintptr_t PageSize() { return static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

ScratchBytes::~ScratchBytes() {
  for (const Piece& piece : pieces_) ::munmap(piece.begin, piece.size);
  if (fd_ >= 0) ::close(fd_);
}

absl::StatusOr<uint8_t*> ScratchBytes::Take(size_t bytes) {
  if (pieces_.empty() || pieces_.back().size - used_ < bytes + kSlack) {
    const size_t next = pieces_.empty() ? kFirstPiece : std::min(2 * pieces_.back().size, kLargestPiece);
    const size_t least = (bytes + kSlack + kFirstPiece - 1) / kFirstPiece * kFirstPiece;
    BLINK_RETURN_IF_ERROR(AddPiece(std::max(next, least)));
  }
  uint8_t* const begin = pieces_.back().begin + used_;
  used_ += bytes;
  taken_ += bytes;
  return begin;
}

void ScratchBytes::Rest(const uint8_t* begin, const uint8_t* end) const {
  if (fd_ < 0) return;  // the process's own memory would be lost
  const uintptr_t page = PageSize();
  for (const Piece& piece : pieces_) {  // between two of them may lie memory of others
    const auto from = std::max(reinterpret_cast<uintptr_t>(begin), reinterpret_cast<uintptr_t>(piece.begin));
    const auto to = std::min(reinterpret_cast<uintptr_t>(end), reinterpret_cast<uintptr_t>(piece.begin) + piece.size);
    const uintptr_t first = (from + page - 1) / page * page, last = to / page * page;
    if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
}

absl::Status ScratchBytes::AddPiece(size_t size) {
  if (!folder_.empty()) {
    BLINK_RETURN_IF_ERROR(OpenFile());
    // Reserved at once: writing to a mapped page that finds no room on the disk would kill the process.
    if (const int error = ::posix_fallocate(fd_, static_cast<off_t>(file_size_), static_cast<off_t>(size));
        error != 0) {
      return FileError(error, "make room in", absl::StrCat(folder_, " (", file_size_ + size, " bytes)"));
    }
  }
  void* const at =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, folder_.empty() ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd_,
             folder_.empty() ? 0 : static_cast<off_t>(file_size_));
  if (at == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", size, " more bytes of reports, after ", taken_, ": give the process more"));
  }
  if (!pieces_.empty()) Rest(pieces_.back().begin, pieces_.back().begin + pieces_.back().size);  // it is written
  file_size_ += size;
  pieces_.push_back({static_cast<uint8_t*>(at), size});
  used_ = 0;
  return absl::OkStatus();
}

absl::Status ScratchBytes::OpenFile() {
  if (fd_ >= 0) return absl::OkStatus();
  std::string path = folder_ + "/.blink-scratch-XXXXXX";
  fd_ = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd_ < 0) return FileError(errno, "make a file in", folder_);
  ::unlink(path.c_str());
  return absl::OkStatus();
}

}  // namespace blink
