#include "tools/audit/randomness.h"

#include <pthread.h>
#include <unistd.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RandomnessAuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "ThreadSanitizer does not follow processes that are cloned by the bare system call";
#endif
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
