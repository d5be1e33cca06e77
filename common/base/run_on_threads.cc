#include "common/base/run_on_threads.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace blink {

int ThreadsOrCores(int threads) {
  return threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void RunOnThreads(int count, absl::FunctionRef<void(int thread)> work) {
  std::mutex mutex;
  std::exception_ptr first;
  const auto guarded = [&](int thread) {
    try {
      work(thread);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  others.reserve(static_cast<size_t>(std::max(0, count - 1)));
  try {
    for (int thread = 1; thread < count; ++thread) others.emplace_back(guarded, thread);
  } catch (const std::system_error&) {  // no more threads, or no memory for their stacks: those that run do the work
  } catch (const std::bad_alloc&) {
  }
  guarded(0);
  for (std::thread& thread : others) thread.join();
  if (first) std::rethrow_exception(first);
}

}  // namespace blink
