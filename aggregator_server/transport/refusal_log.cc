#include "aggregator_server/transport/refusal_log.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/logging.h"

namespace blink {
namespace {

// Node ids, digests, serial numbers and dates are words with digits.
std::string LeaveOutNumbers(absl::string_view text) {
  const auto is_in_word = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; };
  std::string result;
  while (!text.empty()) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_in_word);
    const absl::string_view word = text.substr(0, end - text.begin());
    const bool has_digit = std::any_of(word.begin(), word.end(), absl::ascii_isdigit);
    absl::StrAppend(&result, has_digit ? "#" : word);
    text.remove_prefix(word.size());
    if (text.empty()) break;
    result.push_back(text.front());
    text.remove_prefix(1);
  }
  return result;
}

}  // namespace

void RefusalLog::Report(const std::string& peer, const absl::Status& status) {
  counts_.Add(status.code());
  const std::string text = status.ToString(absl::StatusToStringMode::kWithNoExtraData);
  std::string name = LeaveOutNumbers(text);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kinds_.size() >= kKindsMax && kinds_.count(name) == 0) name = absl::StatusCodeToString(status.code());
  const auto [found, is_new] = kinds_.try_emplace(std::move(name));
  Kind& kind = found->second;
  if (is_new) {
    kind.since = clock_.Now();
    spdlog::warn("refused {}: {}", peer, text);
    return;
  }
  ++kind.left_out;
  kind.last = absl::StrCat(peer, ": ", text);
  spdlog::debug("refused {}", kind.last);
}

void RefusalLog::WriteLocked(Kind& kind, absl::Time now) {
  // a clock that was set back makes no time negative
  const absl::Duration within = std::max(absl::ZeroDuration(), now - kind.since);
  spdlog::warn("refused {} more within {} s, the last from {}", kind.left_out, absl::ToInt64Seconds(within), kind.last);
  kind.since = now;
  kind.left_out = 0;
}

void RefusalLog::Look() {
  const absl::Time now = clock_.Now();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto entry = kinds_.begin(); entry != kinds_.end();) {
    Kind& kind = entry->second;
    const bool is_soon = now >= kind.since && now - kind.since < kQuiet;
    if (!is_soon && kind.left_out == 0) {
      entry = kinds_.erase(entry);
      continue;
    }
    if (!is_soon) WriteLocked(kind, now);
    ++entry;
  }
}

void RefusalLog::Summarize() {
  const absl::Time now = clock_.Now();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto& [name, kind] : kinds_) {
    if (kind.left_out > 0) WriteLocked(kind, now);
  }
  kinds_.clear();
}

RefusalLog& Refusals() {
  static RefusalLog& refusals = *new RefusalLog;  // gRPC's threads may outlive main
  return refusals;
}

}  // namespace blink
