// Lets a command that works for long end at SIGINT, SIGTERM or SIGHUP with what it has so far.
//
//   Interrupt interrupt([&](ExitCode code) { ... print what is finished ...; return code; });
//   ... long work, on any number of threads ...
//   return interrupt.PrintWhole([&] { ... print the whole ...; return exit_code; });
//
// The first signal ends the program at once, whatever its threads are doing: no loop has to ask for it. While the whole
// is being printed, it waits for its end, so that nobody reads half of it. A second one does not wait for what is being
// printed. The same signal again within half a second is no second one: timeout(1) sends each signal twice.
#ifndef BLINK_COMMON_CLI_INTERRUPT_H_
#define BLINK_COMMON_CLI_INTERRUPT_H_

#include <signal.h>

#include <functional>
#include <mutex>
#include <optional>
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

  // Disarm, once `print` has run and standard output is flushed. Returns the exit code that `print` returns, or why
  // standard output cannot be written (EndProgram). Does not return when a signal comes meanwhile: the program then
  // dies of it, or ends with the code if that is not kOk.
  int PrintWhole(const std::function<int()>& print);

 private:
  void Wait();

  const char* const program_;
  const AtEnd at_end_;
  sigset_t signals_{}, before_{};
  std::mutex mutex_;  // held by who has the last word: Disarm, PrintWhole, or the end of the program
  bool disarmed_ = false;
  std::optional<int> printed_;  // the exit code, once the whole is printed
  std::thread thread_;
};

// The same for work that must be this process's only thread: the first of these signals makes a descriptor readable.
//
//   InterruptDescriptor interrupt;
//   ... work that looks at interrupt.get() now and then ...
//   const std::optional<int> signal = interrupt.Disarm();
//   ... print what is finished ...
//   if (signal) EndAfterSignal("blink", *signal, CodeOfSignal(*signal));
class InterruptDescriptor {
 public:
  // A signal that the program's caller ignores stays ignored.
  InterruptDescriptor();
  ~InterruptDescriptor() { Disarm(); }
  InterruptDescriptor(const InterruptDescriptor&) = delete;
  InterruptDescriptor& operator=(const InterruptDescriptor&) = delete;

  int get() const { return file_; }  // -1 where the system gives none: then signals do what they do by default

  // Returns the signal that has come, if any. From now on a signal does what it does by default.
  std::optional<int> Disarm();

 private:
  int file_ = -1;
  sigset_t before_{};
};

// kTerminated for SIGTERM, otherwise kInterrupted. A program that a signal ends dies of it, so no code tells SIGHUP.
ExitCode CodeOfSignal(int signal);

// Ends the program after a signal that it took itself, when all is printed: with `code`, and if that is the signal's
// own, by the signal. A shell's loop ends when its command dies of SIGINT, and goes on when the command ends with 130.
[[noreturn]] void EndAfterSignal(const char* program, int signal, ExitCode code);

}  // namespace blink

#endif  // BLINK_COMMON_CLI_INTERRUPT_H_
