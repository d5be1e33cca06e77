// A computation on several threads that share its parts, safe against exceptions.
#ifndef BLINK_COMMON_BASE_RUN_ON_THREADS_H_
#define BLINK_COMMON_BASE_RUN_ON_THREADS_H_

#include "absl/functional/function_ref.h"

namespace blink {

// `threads`, or for 0 (or less) the number of this machine's cores: at least 1.
int ThreadsOrCores(int threads);

// Calls work(0) on this thread and work(1) .. work(count - 1) on others, and returns when all have returned. `work`
// takes its parts from a counter that the threads share: where the system starts no more threads, fewer do all of it.
// When one throws (out of memory), the others still end, and then the first exception is thrown here.
void RunOnThreads(int count, absl::FunctionRef<void(int thread)> work);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_RUN_ON_THREADS_H_
