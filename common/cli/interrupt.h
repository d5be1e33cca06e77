// Lets a command that works for long end at SIGINT or SIGTERM with what it has so far.
//
//   Interrupt interrupt([&](ExitCode code) { ... print what is finished ...; return code; });
//   ... long work, on any number of threads ...
//   interrupt.Disarm();
//   ... print the whole ...
//
// The first signal ends the program at once, whatever its threads are doing: no loop has to ask for it. A second one
// does not wait for what is being printed.
#ifndef BLINK_COMMON_CLI_INTERRUPT_H_
#define BLINK_COMMON_CLI_INTERRUPT_H_

#include <signal.h>

#include <functional>
#include <mutex>
#include <thread>

#include "common/base/exit_code.h"

namespace blink {

class Interrupt {
 public:
  // Says what the program ends with: `code` is kInterrupted or kTerminated. With `code` itself it dies of the signal,
  // which a shell reports as 130 or 143.
  using AtEnd = std::function<ExitCode(ExitCode code)>;

  // Make this before all other threads, so that they block the signals too. `at_end` runs on a thread of its own, while
  // the work goes on. Standard output is flushed after it. A signal that the program's caller ignores stays ignored.
  Interrupt(const char* program, AtEnd at_end);
  ~Interrupt() { Disarm(); }

  // From now on a signal does what it does by default. Does not return when a signal has come before.
  void Disarm();

 private:
  void Wait();

  const char* const program_;
  const AtEnd at_end_;
  sigset_t signals_{}, before_{};
  std::mutex mutex_;  // held by who has the last word: Disarm, or the end of the program
  bool disarmed_ = false;
  std::thread thread_;
};

}  // namespace blink

#endif  // BLINK_COMMON_CLI_INTERRUPT_H_
