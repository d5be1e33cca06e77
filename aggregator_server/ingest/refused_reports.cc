#include "aggregator_server/ingest/refused_reports.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "common/base/limits.h"

namespace blink {
namespace {

bool IsOfThisMoment(const absl::Status& why) {
  return absl::IsResourceExhausted(why) || absl::IsUnavailable(why) || absl::IsCancelled(why) ||
         absl::IsDeadlineExceeded(why);
}

}  // namespace

bool RefusedReports::OfRound::HasRoom(const std::string& by_whom, bool is_second) const {
  const auto found = by.find(by_whom);
  if (found != by.end() && found->second >= kOfACertificateMax) return false;
  const size_t kept = is_second ? 0 : kKeptForSecondReports - std::min(second, kKeptForSecondReports);
  return reports.size() + kept < kOfARoundMax;
}

void RefusedReports::Note(const std::string& round_id, uint64_t node, const std::string& by, const absl::Status& why,
                          absl::Time now) {
  if (round_id.empty() || why.ok() || IsOfThisMoment(why)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (rounds_.size() >= kRoundsListedMax && rounds_.count(round_id) == 0) {
    rounds_.erase(std::min_element(rounds_.begin(), rounds_.end(),
                                   [](const auto& a, const auto& b) { return a.second.last < b.second.last; }));
  }
  OfRound& round = rounds_[round_id];
  round.last = now;
  const Key key{node, by, why.code()};
  const bool is_second = absl::IsAlreadyExists(why);
  if (round.reports.count(key) == 0 && !round.HasRoom(by, is_second)) {
    ++round.left_out;
    return;
  }
  const auto [found, is_new] = round.reports.try_emplace(key);
  if (is_new) {
    ++round.by[by];
    if (is_second) ++round.second;
  }
  RefusedReport& report = found->second;
  if (is_new) report = {.node = node, .by = by, .first = now};
  report.why = absl::Status(why.code(), absl::string_view(why.message()).substr(0, kMessageCharactersMax));
  report.last = now;
  ++report.count;
}

RefusedReports::Listing RefusedReports::List(const std::string& round_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Listing listing;
  listing.since = since_;
  const auto found = rounds_.find(round_id);
  if (found == rounds_.end()) return listing;
  listing.left_out = found->second.left_out;
  for (const auto& [key, report] : found->second.reports) listing.reports.push_back(report);
  return listing;
}

}  // namespace blink
