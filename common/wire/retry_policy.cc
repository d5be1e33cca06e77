#include "common/wire/retry_policy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/status_macros.h"

namespace blink {
namespace {

// Uniform in [low, high], to the nanosecond.
absl::StatusOr<absl::Duration> DrawBetween(absl::Duration low, absl::Duration high, RandomSource& random) {
  uint8_t bytes[8];
  BLINK_RETURN_IF_ERROR(random.Fill(absl::MakeSpan(bytes)));
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  const auto width = static_cast<unsigned __int128>(absl::ToInt64Nanoseconds(high - low)) + 1;
  return low + absl::Nanoseconds(static_cast<int64_t>((width * word) >> 64));
}

std::pair<absl::Duration, absl::Duration> Backoff(const RetryPolicy& policy, int attempt) {
  absl::Duration high = std::min(policy.base, policy.max);
  for (int i = 0; i < attempt && high < policy.max; ++i) high = std::min(high * 2, policy.max);
  return {absl::ZeroDuration(), high};
}

// A window is the peer's wish, and is cut to our maximum. The cut, or malice, can leave a point in time at which a
// whole fleet would wake together. So the window is made at least as wide as `base` and as a tenth of its end.
std::pair<absl::Duration, absl::Duration> Clamp(const RetryPolicy& policy, const RetryWindow& window) {
  absl::Duration low = std::clamp(window.min, absl::ZeroDuration(), policy.max);
  absl::Duration high = std::clamp(window.max, low, policy.max);
  const absl::Duration spread = std::min(std::max(policy.base, high / 10), policy.max);
  if (high - low < spread) {
    high = std::min(low + spread, policy.max);
    low = high - spread;
  }
  return {low, high};
}

}  // namespace

absl::StatusOr<absl::Duration> DrawWait(const RetryPolicy& policy, int attempt,
                                        const std::optional<RetryWindow>& window, RandomSource& random) {
  const auto [low, high] = window.has_value() ? Clamp(policy, *window) : Backoff(policy, attempt);
  return DrawBetween(low, high, random);
}

bool IsRetryable(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kInternal:
      return true;
    default:
      return false;
  }
}

}  // namespace blink
