#include "common/cli/interrupt.h"

#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "common/cli/standard_output.h"

namespace blink {
namespace {

// As nohup and a shell's background job do.
bool IsIgnored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

constexpr int kSignals[] = {SIGHUP, SIGINT, SIGTERM};

sigset_t SignalsToTake() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : kSignals) {
    if (!IsIgnored(signal)) ::sigaddset(&signals, signal);
  }
  return signals;
}

// One request can arrive as two signals: timeout(1) signals its child, then the group that the child is in. A shell
// whose terminal is closed does so too.
constexpr double kOneRequestSeconds = 0.5;

// What the handler of the second signal reads. They are set before it is installed.
struct FirstSignal {
  int signal = 0;
  timespec at{};
  struct sigaction before {};  // what the signal did
};
FirstSignal first_signal;

void TakeSameSignal(int signal) {
  const int kept_errno = errno;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const double seconds = static_cast<double>(now.tv_sec - first_signal.at.tv_sec) +
                         1e-9 * static_cast<double>(now.tv_nsec - first_signal.at.tv_nsec);
  if (seconds > kOneRequestSeconds) {
    ::sigaction(signal, &first_signal.before, nullptr);
    ::raise(signal);  // arrives when this returns
  }
  errno = kept_errno;
}

// From now on each of `signals` does what it did before, but the one that has come only if it does not repeat its
// request.
void LetLaterSignalsEnd(int signal, const sigset_t& signals) {
  first_signal.signal = signal;
  ::clock_gettime(CLOCK_MONOTONIC, &first_signal.at);
  struct sigaction action {};
  action.sa_handler = TakeSameSignal;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, &first_signal.before);
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

// The handler leaves it alone from here on.
void DieOf(int signal) {
  if (first_signal.signal == signal) ::sigaction(signal, &first_signal.before, nullptr);
  ::raise(signal);
}

void EndLineOfProgress() {
  if (::isatty(STDERR_FILENO) == 1) std::fputc('\n', stderr);  // a bar may be on this line
}

}  // namespace

ExitCode CodeOfSignal(int signal) { return signal == SIGTERM ? ExitCode::kTerminated : ExitCode::kInterrupted; }

void EndAfterSignal(const char* program, int signal, ExitCode code) {
  const int ended = EndProgram(program, static_cast<int>(code));
  if (ended == static_cast<int>(CodeOfSignal(signal))) DieOf(signal);
  ::_exit(ended);  // also as process 1, which no signal kills
}

Interrupt::Interrupt(const char* program, AtEnd at_end) : program_(program), at_end_(std::move(at_end)) {
  signals_ = SignalsToTake();
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
    if (signal != SIGUSR2) LetLaterSignalsEnd(signal, signals_);
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool is_whole = printed_.has_value() && signal != SIGUSR2;
    if (is_whole) EndAfterSignal(program_, signal, *printed_ == 0 ? CodeOfSignal(signal) : ExitCode(*printed_));
    if (disarmed_) return;
    if (signal == SIGUSR2) continue;  // somebody else's
    EndLineOfProgress();
    EndAfterSignal(program_, signal, at_end_(CodeOfSignal(signal)));
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

int Interrupt::PrintWhole(const std::function<int()>& print) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    printed_ = EndProgram(program_, print());
  }
  Disarm();
  return *printed_;
}

InterruptDescriptor::InterruptDescriptor() {
  const sigset_t signals = SignalsToTake();
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  file_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  if (file_ < 0) ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> InterruptDescriptor::Disarm() {
  if (file_ < 0) return std::nullopt;
  signalfd_siginfo taken;
  const bool came = ::read(file_, &taken, sizeof(taken)) == sizeof(taken);
  ::close(file_);
  file_ = -1;
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);  // the next one kills
  if (!came) return std::nullopt;
  EndLineOfProgress();
  return static_cast<int>(taken.ssi_signo);
}

}  // namespace blink
