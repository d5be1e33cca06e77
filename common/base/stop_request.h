// That a signal asked this process to end. Work that takes long looks at it, keeps its state, and ends with CANCELLED.
#ifndef BLINK_COMMON_BASE_STOP_REQUEST_H_
#define BLINK_COMMON_BASE_STOP_REQUEST_H_

#include <atomic>

namespace blink {

// The signal; 0: none. A handler may set it.
inline std::atomic<int> stop_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

inline bool IsStopRequested() { return stop_signal != 0; }

}  // namespace blink

#endif  // BLINK_COMMON_BASE_STOP_REQUEST_H_
