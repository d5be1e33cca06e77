#include "aggregator_server/transport/failure_log.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/logging.h"

namespace blink {
namespace {

constexpr size_t kHostsMax = 10'000;  // that are counted one by one
constexpr size_t kHostsNamed = 3;

std::vector<std::pair<std::string, uint64_t>> FindMost(const std::map<std::string, uint64_t>& counts, size_t many) {
  std::vector<std::pair<std::string, uint64_t>> most(counts.begin(), counts.end());
  const auto more = [](const auto& a, const auto& b) { return a.second > b.second; };
  std::stable_sort(most.begin(), most.end(), more);
  if (most.size() > many) most.resize(many);
  return most;
}

}  // namespace

void FailureLog::CountLocked(const std::string& kind, const std::string& host) {
  if (counted_++ == 0) first_ = clock_.Now();
  ++by_kind_[kind];
  if (by_host_.size() < kHostsMax || by_host_.count(host) > 0) ++by_host_[host];
}

void FailureLog::Count(const std::string& kind, const std::string& host) {
  ++total_;
  const std::lock_guard<std::mutex> lock(mutex_);
  CountLocked(kind, host);
}

void FailureLog::Report(const std::string& kind, const std::string& host, const std::string& who,
                        const std::string& line) {
  ++total_;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const absl::Time now = clock_.Now(); now - hour_began_ >= absl::Hours(1)) {
    hour_began_ = now;
    lines_of_kind_.clear();
    lines_of_host_.clear();
    reported_.clear();
  }
  if (reported_.count({kind, who}) > 0) return CountLocked(kind, host);
  // What is kept grows with the lines that are written, and not with what a peer makes up.
  const auto lines = [](const std::map<std::string, int>& of, const std::string& name) {
    const auto found = of.find(name);
    return found == of.end() ? 0 : found->second;
  };
  if (lines(lines_of_kind_, kind) >= kLinesOfKindMax || lines(lines_of_host_, host) >= kLinesOfHostMax) {
    ++left_out_;
    return CountLocked(kind, host);
  }
  reported_.emplace(kind, who);
  ++lines_of_kind_[kind];
  ++lines_of_host_[host];
  spdlog::warn("{}", line);
}

void FailureLog::Look() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (counted_ > 0 && clock_.Now() - first_ >= kSummaryEvery) SummarizeLocked();
}

void FailureLog::Summarize() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (counted_ > 0) SummarizeLocked();
}

void FailureLog::SummarizeLocked() {
  const auto times = [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second, " x ", entry.first);
  };
  const auto named = [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.first, " (", entry.second, ")");
  };
  const absl::Duration within = std::max(absl::ZeroDuration(), clock_.Now() - first_);
  const std::string left_out =
      left_out_ == 0 ? ""
                     : absl::StrCat("; ", left_out_, " of them have no line of their own: ", kLinesOfKindMax,
                                    " an hour are written of a kind, and ", kLinesOfHostMax, " of an address");
  spdlog::info("{} connections came to nothing within {} s: {}; most of them from {}{}", counted_,
               absl::ToInt64Seconds(within), absl::StrJoin(FindMost(by_kind_, 20), ", ", times),
               absl::StrJoin(FindMost(by_host_, kHostsNamed), ", ", named), left_out);
  counted_ = left_out_ = 0;
  by_kind_.clear();
  by_host_.clear();
}

}  // namespace blink
