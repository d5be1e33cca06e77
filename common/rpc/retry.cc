#include "common/rpc/retry.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr char kTrailer[] = "blink-retry-window-ms";

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

// A window is the peer's wish. Clamped to our maximum; and, since clamping (or malice) can squeeze it to a point at
// which a whole fleet would wake together, never narrower than `base` or a tenth of its end.
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

absl::StatusOr<absl::Duration> NextWait(const RetryPolicy& policy, int attempt,
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

void SetTrailingWindow(grpc::ServerContextBase& context, const RetryWindow& window) {
  const int64_t limit_ms = kRetryWindowMsMax;
  const int64_t min_ms = std::clamp<int64_t>(absl::ToInt64Milliseconds(window.min), 0, limit_ms);
  const int64_t max_ms = std::clamp<int64_t>(absl::ToInt64Milliseconds(window.max), min_ms, limit_ms);
  context.AddTrailingMetadata(kTrailer, absl::StrCat(min_ms, ",", max_ms));
}

std::optional<RetryWindow> ParseRetryWindow(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  uint32_t min_ms = 0;
  uint32_t max_ms = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &min_ms) || !absl::SimpleAtoi(parts[1], &max_ms) ||
      max_ms < min_ms || max_ms > kRetryWindowMsMax) {
    return std::nullopt;
  }
  return RetryWindow{absl::Milliseconds(min_ms), absl::Milliseconds(max_ms)};
}

std::optional<RetryWindow> TrailingWindow(const grpc::ClientContext& context) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find(kTrailer);
  if (found == trailers.end()) return std::nullopt;
  return ParseRetryWindow(absl::string_view(found->second.data(), found->second.size()));
}

}  // namespace blink
