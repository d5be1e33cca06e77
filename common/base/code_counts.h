// How many refusals of each status code there were, for metrics.
#ifndef BLINK_COMMON_BASE_CODE_COUNTS_H_
#define BLINK_COMMON_BASE_CODE_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"

namespace blink {

class CodeCounts {
 public:
  static constexpr size_t kCodes = 17;  // OK .. UNAUTHENTICATED
  using Counts = std::array<uint64_t, kCodes>;

  void Add(absl::StatusCode code) {
    const auto at = static_cast<size_t>(code);
    counts_[at < kCodes ? at : static_cast<size_t>(absl::StatusCode::kUnknown)].fetch_add(1, std::memory_order_relaxed);
  }
  Counts Read() const {
    Counts read;
    for (size_t i = 0; i < kCodes; ++i) read[i] = counts_[i].load(std::memory_order_relaxed);
    return read;
  }

 private:
  std::array<std::atomic<uint64_t>, kCodes> counts_{};
};

}  // namespace blink

#endif  // BLINK_COMMON_BASE_CODE_COUNTS_H_
