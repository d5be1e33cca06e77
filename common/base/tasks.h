// Parts of a computation on several threads, and how many threads one is worth. Internal to this folder's .cc files.
#ifndef BLINK_COMMON_BASE_TASKS_H_
#define BLINK_COMMON_BASE_TASKS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "common/base/run_on_threads.h"

namespace blink {

// A thread is worth its start and its waiting only for this much work (about 0.1 ms); small graphs stay on one thread,
// and do not suffer on a busy machine.
inline constexpr int64_t kMultiplicationsPerThread = 1 << 19;

inline int TasksFor(int64_t multiplications, int threads) {
  return static_cast<int>(std::clamp<int64_t>(multiplications / kMultiplicationsPerThread, 1, std::max(1, threads)));
}

// body(task) for the tasks 0 .. count - 1, each once, on as many threads. What a body throws (out of memory) is thrown
// to the caller when all have ended.
template <typename Body>
void RunTasks(int count, const Body& body) {
  std::atomic<int> next{0};
  RunOnThreads(count, [&](int) {
    for (int task; (task = next.fetch_add(1)) < count;) body(task);
  });
}

}  // namespace blink

#endif  // BLINK_COMMON_BASE_TASKS_H_
