// Lets system calls of this test program fail, be interrupted, or do less than was asked. Everything else is passed on.
#ifndef BLINK_TESTS_UNIT_BASE_SYSTEM_CALLS_H_
#define BLINK_TESTS_UNIT_BASE_SYSTEM_CALLS_H_

#include <cstddef>
#include <functional>
#include <optional>

namespace blink {

struct SystemCalls {
  int reads_interrupted = 0;        // so many further calls of read end with EINTR
  int writes_interrupted = 0;       // the same of write
  std::optional<size_t> write_max;  // bytes that one call of write takes
  int read_error = 0;               // errno of every call; 0: none
  int write_error = 0;
  int fsync_error = 0;
  int flock_error = 0;
  std::function<void()> before_flock;  // runs once, before the next call

  // What is set here holds until the end of the scope.
  class Scope;
};

SystemCalls& SystemCallsNow();

class SystemCalls::Scope {
 public:
  explicit Scope(SystemCalls calls) { SystemCallsNow() = std::move(calls); }
  ~Scope() { SystemCallsNow() = {}; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

}  // namespace blink

#endif  // BLINK_TESTS_UNIT_BASE_SYSTEM_CALLS_H_
