#include "tests/unit/base/system_calls.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace blink {

SystemCalls& SystemCallsNow() {
  static auto* const calls = new SystemCalls;  // never destroyed: the last words of the program are written too
  return *calls;
}

namespace {

bool Interrupts(int& left) {
  if (left == 0) return false;
  --left;
  errno = EINTR;
  return true;
}

bool Fails(int error) {
  if (error != 0) errno = error;
  return error != 0;
}

}  // namespace
}  // namespace blink

// These come before those of the C library, for all of the program.
extern "C" ssize_t read(int fd, void* buffer, size_t bytes) {
  blink::SystemCalls& calls = blink::SystemCallsNow();
  if (blink::Interrupts(calls.reads_interrupted) || blink::Fails(calls.read_error)) return -1;
  return ::syscall(SYS_read, fd, buffer, bytes);
}

extern "C" ssize_t write(int fd, const void* buffer, size_t bytes) {
  blink::SystemCalls& calls = blink::SystemCallsNow();
  if (blink::Interrupts(calls.writes_interrupted) || blink::Fails(calls.write_error)) return -1;
  return ::syscall(SYS_write, fd, buffer, std::min(bytes, calls.write_max.value_or(bytes)));
}

extern "C" int fsync(int fd) {
  if (blink::Fails(blink::SystemCallsNow().fsync_error)) return -1;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

extern "C" int flock(int fd, int operation) noexcept {
  blink::SystemCalls& calls = blink::SystemCallsNow();
  if (const auto before = std::exchange(calls.before_flock, nullptr)) before();
  if (blink::Fails(calls.flock_error)) return -1;
  return static_cast<int>(::syscall(SYS_flock, fd, operation));
}
