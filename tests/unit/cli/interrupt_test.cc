// What a signal leaves of a long command. Every case runs in a process of its own.
#include "common/cli/interrupt.h"

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

}  // namespace
}  // namespace blink
