#include "common/rpc/retry_trailer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/limits.h"

namespace blink {
namespace {

constexpr char kTrailer[] = "blink-retry-window-ms";

}  // namespace

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

std::optional<RetryWindow> ReadTrailingWindow(const grpc::ClientContext& context) {
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find(kTrailer);
  if (found == trailers.end()) return std::nullopt;
  return ParseRetryWindow(absl::string_view(found->second.data(), found->second.size()));
}

}  // namespace blink
