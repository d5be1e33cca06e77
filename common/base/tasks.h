// Splits a computation into tasks and chooses a number of threads for it. For .cc files.
#ifndef BLINK_COMMON_BASE_TASKS_H_
#define BLINK_COMMON_BASE_TASKS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "common/base/run_on_threads.h"

namespace blink {

// A thread pays for its start and for the wait at its end only with this much work (about 0.1 ms). So small graphs
// stay on one thread, and a busy machine does not delay them.
inline constexpr int64_t kMultiplicationsPerThread = 1 << 19;

inline int TasksFor(int64_t multiplications, int threads) {
  return static_cast<int>(std::clamp<int64_t>(multiplications / kMultiplicationsPerThread, 1, std::max(1, threads)));
}

// Calls body(task) once for each task of 0 .. count - 1, on up to `count` threads. When a body throws (out of memory),
// the caller gets the exception after all threads have ended.
template <typename Body>
void RunTasks(int count, const Body& body) {
  std::atomic<int> next{0};
  RunOnThreads(count, [&](int) {
    for (int task; (task = next.fetch_add(1)) < count;) body(task);
  });
}

}  // namespace blink

#endif  // BLINK_COMMON_BASE_TASKS_H_
