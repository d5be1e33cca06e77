// What a signal leaves of a long command. Every case runs in a process of its own.
#include "common/cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace blink {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

// Gets `signal` in the middle of its work, and prints on standard error what it has then.
[[noreturn]] void WorkUntil(int signal, ExitCode found = ExitCode::kOk) {
  Interrupt interrupt("tool", [&](ExitCode code) {
    std::fprintf(stderr, "2 of 5, by %d", static_cast<int>(code));
    return found == ExitCode::kOk ? code : found;
  });
  ::kill(::getpid(), signal);
  for (;;) absl::SleepFor(absl::Seconds(1));
}

TEST(Interrupt, EndsAtOnceWithWhatIsFinishedAndDiesOfTheSignal) {
  EXPECT_EXIT(WorkUntil(SIGINT), KilledBySignal(SIGINT), "^2 of 5, by 130$");
  EXPECT_EXIT(WorkUntil(SIGTERM), KilledBySignal(SIGTERM), "^2 of 5, by 143$");
  EXPECT_EXIT((::signal(SIGHUP, SIG_DFL), WorkUntil(SIGHUP)), KilledBySignal(SIGHUP), "^2 of 5, by 130$");
}

TEST(Interrupt, EndsWithACodeThatSaysMoreThanTheSignal) {
  EXPECT_EXIT(WorkUntil(SIGINT, ExitCode::kAuditViolation), ExitedWithCode(10), "2 of 5");
}

[[noreturn]] void HangWhilePrinting() {
  Interrupt interrupt("tool", [](ExitCode code) {
    ::kill(::getpid(), SIGTERM);  // the second one
    for (;;) absl::SleepFor(absl::Seconds(1));
    return code;
  });
  ::kill(::getpid(), SIGINT);
  for (;;) absl::SleepFor(absl::Seconds(1));
}

TEST(Interrupt, ASecondSignalDoesNotWaitForTheOutput) { EXPECT_EXIT(HangWhilePrinting(), KilledBySignal(SIGTERM), ""); }

// Gets `signal` again that long after the first one, while it prints.
[[noreturn]] void GetAgain(int signal, absl::Duration later) {
  Interrupt interrupt("tool", [&](ExitCode code) {
    absl::SleepFor(later);
    ::kill(::getpid(), signal);
    absl::SleepFor(absl::Milliseconds(50));
    std::fputs("2 of 5", stderr);
    return code;
  });
  ::kill(::getpid(), signal);
  for (;;) absl::SleepFor(absl::Seconds(1));
}

TEST(Interrupt, TheSameSignalTwiceAtOnceIsOneRequest) {
  EXPECT_EXIT(GetAgain(SIGTERM, absl::ZeroDuration()), KilledBySignal(SIGTERM), "^2 of 5$");
  EXPECT_EXIT(GetAgain(SIGINT, absl::ZeroDuration()), KilledBySignal(SIGINT), "^2 of 5$");
}

TEST(Interrupt, TheSameSignalLaterDoesNotWaitForTheOutput) {
  EXPECT_EXIT(GetAgain(SIGTERM, absl::Milliseconds(600)), KilledBySignal(SIGTERM), "^$");
}

[[noreturn]] void WorkWhileIgnored() {
  ::signal(SIGINT, SIG_IGN);  // as nohup does
  Interrupt interrupt("tool", [](ExitCode code) { return code; });
  ::kill(::getpid(), SIGINT);
  absl::SleepFor(absl::Milliseconds(50));
  interrupt.Disarm();
  ::_exit(0);
}

TEST(Interrupt, IgnoresWhatItsCallerIgnores) { EXPECT_EXIT(WorkWhileIgnored(), ExitedWithCode(0), "^$"); }

[[noreturn]] void DisarmAndDie() {
  {
    Interrupt interrupt("tool", [](ExitCode code) { return code; });
    interrupt.Disarm();
    interrupt.Disarm();
  }
  ::kill(::getpid(), SIGTERM);
  for (;;) absl::SleepFor(absl::Seconds(1));
}

TEST(Interrupt, LeavesSignalsAloneOnceTheWorkIsDone) { EXPECT_EXIT(DisarmAndDie(), KilledBySignal(SIGTERM), "^$"); }

// A child that prints more than a pipe holds under PrintWhole. `signals` come when half of it is read, each 50 ms after
// the one before. Returns how many bytes it printed, and how it ended.
struct Printed {
  size_t bytes = 0;
  int status = 0;
};
constexpr size_t kWholeBytes = size_t{1} << 20;

Printed SignalWhilePrinting(const std::vector<int>& signals, int exit_code = 0, bool read_on = true) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    Interrupt interrupt("tool", [](ExitCode) { return ExitCode::kInternal; });
    ::_exit(interrupt.PrintWhole([&] {
      const std::string whole(kWholeBytes, 'x');
      std::fwrite(whole.data(), 1, whole.size(), stdout);
      return exit_code;
    }));
  }
  ::close(ends[1]);
  Printed printed;
  bool is_told = false;
  std::string part(4096, ' ');
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;) {
    printed.bytes += static_cast<size_t>(got);
    if (printed.bytes < kWholeBytes / 2 || is_told) continue;
    is_told = true;
    for (const int signal : signals) {
      ::kill(child, signal);
      absl::SleepFor(absl::Milliseconds(50));
    }
    if (!read_on) break;
  }
  ::waitpid(child, &printed.status, 0);
  ::close(ends[0]);
  return printed;
}

TEST(Interrupt, LetsNobodyReadHalfOfTheWhole) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Printed printed = SignalWhilePrinting({signal});
    EXPECT_EQ(printed.bytes, kWholeBytes);
    EXPECT_TRUE(WIFSIGNALED(printed.status));
    EXPECT_EQ(WTERMSIG(printed.status), signal);
  }
}

TEST(Interrupt, KeepsTheCodeOfAWholeThatSaysMoreThanTheSignal) {
  const Printed printed = SignalWhilePrinting({SIGTERM}, 10);
  EXPECT_EQ(printed.bytes, kWholeBytes);
  EXPECT_TRUE(WIFEXITED(printed.status));
  EXPECT_EQ(WEXITSTATUS(printed.status), 10);
}

TEST(Interrupt, ASecondSignalDoesNotWaitForAWholeThatNobodyReads) {
  const Printed printed = SignalWhilePrinting({SIGINT, SIGTERM}, 0, /*read_on=*/false);
  EXPECT_LT(printed.bytes, kWholeBytes);
  EXPECT_TRUE(WIFSIGNALED(printed.status));
  EXPECT_EQ(WTERMSIG(printed.status), SIGTERM);
}

TEST(Interrupt, EndsWithTheCodeOfTheWholeWithoutASignal) {
  EXPECT_EQ(WEXITSTATUS(SignalWhilePrinting({}, 0).status), 0);
  EXPECT_EQ(WEXITSTATUS(SignalWhilePrinting({}, 10).status), 10);
}

[[noreturn]] void PrintWholeOnAFullDisk() {
  if (std::freopen("/dev/full", "w", stdout) == nullptr) ::_exit(1);
  Interrupt interrupt("tool", [](ExitCode code) { return code; });
  ::_exit(interrupt.PrintWhole([] { return std::puts("all") < 0 ? 1 : 0; }));
}

TEST(Interrupt, SaysWhyTheWholeCannotBePrinted) {
  EXPECT_EXIT(PrintWholeOnAFullDisk(), ExitedWithCode(9), "tool: cannot write standard output: No space left");
}

bool IsReadable(int file) {
  pollfd one = {.fd = file, .events = POLLIN};
  return ::poll(&one, 1, 0) == 1;
}

// Gets `signal` in the middle of work that must be the only thread.
[[noreturn]] void WorkAloneUntil(int signal, ExitCode found = ExitCode::kOk) {
  InterruptDescriptor interrupt;
  if (IsReadable(interrupt.get())) ::_exit(1);
  ::kill(::getpid(), signal);
  if (!IsReadable(interrupt.get())) ::_exit(2);
  const std::optional<int> came = interrupt.Disarm();
  if (!came.has_value() || *came != signal || interrupt.Disarm().has_value()) ::_exit(3);
  std::fprintf(stderr, "2 of 5");
  EndAfterSignal("tool", *came, found == ExitCode::kOk ? CodeOfSignal(*came) : found);
}

TEST(InterruptDescriptor, TellsOfTheSignalAndTheProgramDiesOfItAtTheEnd) {
  EXPECT_EXIT(WorkAloneUntil(SIGINT), KilledBySignal(SIGINT), "^2 of 5$");
  EXPECT_EXIT(WorkAloneUntil(SIGTERM), KilledBySignal(SIGTERM), "^2 of 5$");
  EXPECT_EXIT(WorkAloneUntil(SIGTERM, ExitCode::kAuditViolation), ExitedWithCode(10), "^2 of 5$");
}

[[noreturn]] void DisarmDescriptorAndDie() {
  InterruptDescriptor interrupt;
  if (interrupt.Disarm().has_value()) ::_exit(1);
  ::kill(::getpid(), SIGINT);
  for (;;) absl::SleepFor(absl::Seconds(1));
}

TEST(InterruptDescriptor, LeavesSignalsAloneOnceTheWorkIsDone) {
  EXPECT_EXIT(DisarmDescriptorAndDie(), KilledBySignal(SIGINT), "^$");
}

[[noreturn]] void WorkAloneWhileIgnored() {
  ::signal(SIGTERM, SIG_IGN);
  InterruptDescriptor interrupt;
  ::kill(::getpid(), SIGTERM);
  ::_exit(IsReadable(interrupt.get()) || interrupt.Disarm().has_value() ? 1 : 0);
}

TEST(InterruptDescriptor, IgnoresWhatItsCallerIgnores) { EXPECT_EXIT(WorkAloneWhileIgnored(), ExitedWithCode(0), ""); }

}  // namespace
}  // namespace blink
