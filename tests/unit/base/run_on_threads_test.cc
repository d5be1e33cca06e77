#include "common/base/run_on_threads.h"

#include <atomic>
#include <mutex>
#include <new>
#include <set>

#include "gtest/gtest.h"
#include "tests/testing/no_more_threads.h"

namespace blink {
namespace {

TEST(RunOnThreads, GivesEveryThreadItsNumber) {
  std::mutex mutex;
  std::multiset<int> seen;
  RunOnThreads(4, [&](int thread) {
    const std::lock_guard<std::mutex> lock(mutex);
    seen.insert(thread);
  });
  EXPECT_EQ(seen, (std::multiset<int>{0, 1, 2, 3}));
}

TEST(RunOnThreads, DoesTheWorkOnThisThreadForACountOfOneOrLess) {
  for (const int count : {-1, 0, 1}) {
    int calls = 0;
    RunOnThreads(count, [&](int thread) { calls += 1 + thread; });
    EXPECT_EQ(calls, 1) << count;
  }
}

TEST(RunOnThreads, ThrowsWhatAnyThreadThrewAfterAllHaveEnded) {
  for (int thrower = 0; thrower < 3; ++thrower) {
    std::atomic<int> ended{0};
    EXPECT_THROW(RunOnThreads(3,
                              [&](int thread) {
                                ++ended;
                                if (thread == thrower) throw std::bad_alloc();
                              }),
                 std::bad_alloc);
    EXPECT_EQ(ended, 3);
  }
}

TEST(RunOnThreads, ThrowsOnceWhenAllThrow) {
  EXPECT_THROW(RunOnThreads(8, [](int) { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST(RunOnThreads, DoesAllPartsOfASharedCounterWhereNoOtherThreadStarts) {
  const testing::NoMoreThreads limit;
  if (!limit.Holds()) GTEST_SKIP() << "the system starts threads all the same";
  std::atomic<int> next{0};
  int parts = 0, threads = 0;
  RunOnThreads(4, [&](int thread) {
    EXPECT_EQ(thread, 0);
    ++threads;
    while (next.fetch_add(1) < 10) ++parts;
  });
  EXPECT_EQ(threads, 1);
  EXPECT_EQ(parts, 10);
}

TEST(ThreadsOrCores, IsWhatWasAskedForOrAtLeastOne) {
  EXPECT_EQ(ThreadsOrCores(3), 3);
  EXPECT_GE(ThreadsOrCores(0), 1);
  EXPECT_GE(ThreadsOrCores(-5), 1);
}

}  // namespace
}  // namespace blink
