// Runs one computation on several threads, and passes an exception on to the caller.
#ifndef BLINK_COMMON_BASE_RUN_ON_THREADS_H_
#define BLINK_COMMON_BASE_RUN_ON_THREADS_H_

#include "absl/functional/function_ref.h"

namespace blink {

// Returns `threads`; when that is 0 or less, the number of this machine's cores. At least 1.
int ThreadsOrCores(int threads);

// Calls work(0) on this thread and work(1) .. work(count - 1) on others, and returns when all have returned.
//
// `work` must take its parts from a counter that the threads share. Then nothing is left out when the system starts
// fewer threads than asked for. When a call throws (out of memory), the others run to their end; then the first
// exception is thrown here.
void RunOnThreads(int count, absl::FunctionRef<void(int thread)> work);

}  // namespace blink

#endif  // BLINK_COMMON_BASE_RUN_ON_THREADS_H_
