// A preloaded library (LD_PRELOAD) that makes the disk below a folder slow: a write returns when a disk of so many
// bytes a second, which all writes of the process share, would have it. Nothing needs rights or a file system of its
// own, and the bytes are written and synced as always.
//
//   SLOW_DISK_ROOT              the folder
//   SLOW_DISK_BYTES_PER_SECOND  of all its files together
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

struct Disk {
  std::mutex mutex;
  Clock::time_point free_at = Clock::now();  // when all that was written before is on it
  const char* const root = ::getenv("SLOW_DISK_ROOT");
  const double bytes_per_second =
      ::getenv("SLOW_DISK_BYTES_PER_SECOND") == nullptr ? 0 : ::atof(::getenv("SLOW_DISK_BYTES_PER_SECOND"));
};

Disk& TheDisk() {
  static auto* const disk = new Disk;
  return *disk;
}

bool IsBelowRoot(int fd) {
  const Disk& disk = TheDisk();
  if (disk.root == nullptr || disk.bytes_per_second <= 0) return false;
  char name[64], path[4096];
  ::snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
  const size_t length = ::strlen(disk.root);
  const ssize_t got = ::readlink(name, path, sizeof(path));
  return got > static_cast<ssize_t>(length) && ::strncmp(path, disk.root, length) == 0 && path[length] == '/';
}

// Waits until the disk has taken `written` bytes more.
ssize_t Take(int fd, ssize_t written) {
  if (written <= 0) return written;
  const int kept = errno;
  if (IsBelowRoot(fd)) {
    Disk& disk = TheDisk();
    Clock::time_point mine;
    {
      const std::lock_guard<std::mutex> lock(disk.mutex);
      const std::chrono::duration<double> takes(static_cast<double>(written) / disk.bytes_per_second);
      mine = disk.free_at = std::max(disk.free_at, Clock::now()) + std::chrono::duration_cast<Clock::duration>(takes);
    }
    std::this_thread::sleep_until(mine);
  }
  errno = kept;
  return written;
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* data, size_t size) { return Take(fd, ::syscall(SYS_write, fd, data, size)); }
ssize_t pwrite(int fd, const void* data, size_t size, off_t at) {
  return Take(fd, ::syscall(SYS_pwrite64, fd, data, size, at));
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) { return pwrite(fd, data, size, at); }
ssize_t writev(int fd, const struct iovec* parts, int count) {
  return Take(fd, ::syscall(SYS_writev, fd, parts, count));
}

}  // extern "C"
