#include "tools/audit/randomness.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"
#include "tests/testing/sanitizers.h"
#include "tools/audit/report.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RandomnessAuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kThreadSanitizer)
      GTEST_SKIP() << "ThreadSanitizer does not follow processes that are cloned by the bare system call";
  }
  static RandomnessAuditOptions Small() { return {.processes = 6, .threads = 2, .draws = 8}; }
};

TEST_F(RandomnessAuditTest, FindsNothingInTheShippedGenerator) {
  const RandomnessAudit audit = *AuditRandomness(Small());
  EXPECT_TRUE(audit.passed());
  EXPECT_EQ(audit.processes, 13);
  EXPECT_EQ(audit.threads, 2u * (1 + 3));
  // The parent twice and its threads; six children and as many grandchildren; the threads of three forks.
  EXPECT_EQ(audit.draws, 8u * (2 + 2 + 6 + 6 + 3 * 2));
  EXPECT_EQ(audit.values, audit.draws * 9);
}

// A generator whose state is copied with the process.
TEST_F(RandomnessAuditTest, CatchesAStateThatIsCopiedWithTheProcess) {
  static SeededRandom shared(7);
  RandomnessAuditOptions options = Small();
  options.threads = 1;
  options.source = []() -> RandomSource& { return shared; };
  const RandomnessAudit audit = *AuditRandomness(options);
  EXPECT_FALSE(audit.passed());
  EXPECT_GT(audit.collisions, 8u * 9 * 5);
  EXPECT_THAT(audit.examples, Not(IsEmpty()));
}

// One that renews itself in a handler of fork() is right for fork() and wrong for the bare system call.
SeededRandom* renewed = nullptr;
TEST_F(RandomnessAuditTest, CatchesAGeneratorThatRelysOnTheHandlersOfFork) {
  renewed = new SeededRandom(1);
  ASSERT_EQ(pthread_atfork(nullptr, nullptr, [] { renewed = new SeededRandom(static_cast<uint64_t>(getpid())); }), 0);
  RandomnessAuditOptions options = Small();
  options.threads = 1;
  options.source = []() -> RandomSource& { return *renewed; };
  const RandomnessAudit audit = *AuditRandomness(options);
  ASSERT_FALSE(audit.passed());
  for (const std::string& example : audit.examples) EXPECT_THAT(example, HasSubstr("clone"));
}

// Every thread starts its own generator from the same seed.
TEST_F(RandomnessAuditTest, CatchesThreadsThatShareASeed) {
  RandomnessAuditOptions options = Small();
  options.processes = 1;
  options.source = []() -> RandomSource& {
    static thread_local SeededRandom own(static_cast<uint64_t>(getpid()));
    return own;
  };
  EXPECT_FALSE(AuditRandomness(options)->passed());
}

TEST_F(RandomnessAuditTest, FailsWhenTheGeneratorFails) {
  RandomnessAuditOptions options = Small();
  options.source = []() -> RandomSource& {
    static FailingRandom failing;
    return failing;
  };
  EXPECT_EQ(AuditRandomness(options).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(RandomnessAuditTest, FailsWhenTheGeneratorFailsInAChildAlone) {
  static const pid_t parent = getpid();
  RandomnessAuditOptions options = Small();
  options.source = []() -> RandomSource& {
    static FailingRandom failing;
    return getpid() == parent ? SecureRandom() : failing;
  };
  EXPECT_EQ(AuditRandomness(options).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(RandomnessAuditTest, KnowsNothingWhenItIsStoppedAtOnce) {
  RandomnessAuditOptions options = Small();
  options.stop = ::eventfd(1, EFD_CLOEXEC);  // before the first process
  const RandomnessAudit none = *AuditRandomness(options);
  EXPECT_TRUE(none.partial());
  EXPECT_EQ(none.processes, 1);
  EXPECT_EQ(none.processes_asked, 13);
  EXPECT_EQ(none.threads, 0u);
  EXPECT_EQ(none.draws, 8u) << "the parent's first ones";
  EXPECT_TRUE(RandomnessAuditJson(none)["passed"].is_null());
  EXPECT_THAT(RandomnessAuditTable(none), HasSubstr("PARTIAL: interrupted after 1 of 13 processes: nothing is known"));
  EXPECT_THAT(RandomnessAuditTable(none), Not(HasSubstr("PASSED")));
  ::close(options.stop);
}

// Of two processes the second asks for the end when the first is compared, and never draws.
struct Meeting {
  pid_t parent = ::getpid();
  int stop = ::eventfd(0, EFD_CLOEXEC);
  std::atomic<pid_t> processes[2] = {};

  bool IsFirst(pid_t one, pid_t other) const {
    const auto place = [&](pid_t process) { return (int64_t{process} - parent + (1 << 30)) % (1 << 30); };
    return place(one) < place(other);  // numbers of processes grow, and begin anew at the greatest
  }
  void Arrive() {
    const pid_t own = ::getpid();
    pid_t nobody = 0;
    const int seat = processes[0].compare_exchange_strong(nobody, own) ? 0 : 1;
    processes[seat] = own;
    while (processes[1 - seat] == 0) ::usleep(1000);
    const pid_t other = processes[1 - seat];
    if (IsFirst(own, other)) return;
    while (::kill(other, 0) == 0) ::usleep(1000);  // until the parent has taken its end
    ::eventfd_write(stop, 1);
    for (;;) ::pause();
  }
};

TEST_F(RandomnessAuditTest, EndsWithWhatItHasComparedAndLeavesNoProcessBehind) {
  void* const shared = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  static Meeting* meeting = nullptr;
  meeting = new (shared) Meeting;
  RandomnessAuditOptions options = Small();
  options.processes = 2;
  options.stop = meeting->stop;
  options.source = []() -> RandomSource& {
    static std::atomic<bool> has_met = false;
    if (::getppid() == meeting->parent && !has_met.exchange(true)) meeting->Arrive();
    return SecureRandom();
  };
  const RandomnessAudit audit = *AuditRandomness(options);
  EXPECT_TRUE(audit.partial());
  EXPECT_EQ(audit.processes, 3) << "the parent, the first process and its own one";
  EXPECT_EQ(audit.processes_asked, 5);
  EXPECT_EQ(audit.threads, 2u) << "of the first process";
  EXPECT_EQ(audit.draws, 8u * (1 + 1 + 2 + 1));
  EXPECT_EQ(RandomnessAuditJson(audit)["passed"], true);
  EXPECT_THAT(RandomnessAuditTable(audit), HasSubstr("PARTIAL: interrupted after 3 of 5 processes\n"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  ::close(meeting->stop);
  ::munmap(shared, sizeof(Meeting));
}

TEST_F(RandomnessAuditTest, RefusesNumbersOutOfRange) {
  for (const RandomnessAuditOptions& options :
       {RandomnessAuditOptions{.processes = 0}, RandomnessAuditOptions{.processes = 401},
        RandomnessAuditOptions{.threads = 0}, RandomnessAuditOptions{.threads = 65}, RandomnessAuditOptions{.draws = 0},
        RandomnessAuditOptions{.draws = 10'001}}) {
    EXPECT_EQ(AuditRandomness(options).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace blink
