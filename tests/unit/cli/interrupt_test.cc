// What a signal leaves of a long command. Every case runs in a process of its own.
#include "common/cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

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
