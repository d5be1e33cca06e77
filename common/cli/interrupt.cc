#include "common/cli/interrupt.h"

#include <unistd.h>

#include "common/cli/standard_output.h"

namespace blink {
namespace {

// As nohup and a shell's background job do.
bool IsIgnored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interrupt::Interrupt(const char* program, AtEnd at_end) : program_(program), at_end_(std::move(at_end)) {
  ::sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM}) {
    if (!IsIgnored(signal)) ::sigaddset(&signals_, signal);
  }
  sigset_t blocked = signals_;
  ::sigaddset(&blocked, SIGUSR2);  // Disarm wakes the thread with it
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  thread_ = std::thread([this] { Wait(); });
}

void Interrupt::Wait() {
  sigset_t awaited = signals_;
  ::sigaddset(&awaited, SIGUSR2);
  int signal = 0;
  do {
    ::sigwait(&awaited, &signal);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (disarmed_) return;
    if (signal == SIGUSR2) continue;                     // somebody else's
    ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);  // the next one kills
    const ExitCode by_signal = signal == SIGTERM ? ExitCode::kTerminated : ExitCode::kInterrupted;
    const int code = EndProgram(program_, static_cast<int>(at_end_(by_signal)));
    // A shell's loop ends when its command dies of SIGINT, and goes on when the command ends with 130.
    if (code == static_cast<int>(by_signal)) ::raise(signal);
    ::_exit(code);  // also as process 1, which no signal kills
  } while (true);
}

void Interrupt::Disarm() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    disarmed_ = true;
  }
  ::pthread_kill(thread_.native_handle(), SIGUSR2);
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace blink
