#include "aggregator_server/ingest/retry_advisor.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace blink {

void RetryAdvisor::TurnGeneration() {
  const absl::Time now = clock_.Now();
  if (now - generation_began_ < options_.generation) return;
  previous_ = std::exchange(current_, {});
  generation_began_ = now;
}

void RetryAdvisor::NotePeer(const Identity& identity) {
  const uint64_t hash = absl::HashOf(identity.first_node, identity.last_node);
  std::lock_guard<std::mutex> lock(mutex_);
  TurnGeneration();
  if (current_.size() < options_.peers_max) current_.insert(hash);
}

RetryWindow RetryAdvisor::SpreadPeers(double stretch) const {
  size_t peers;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    peers = std::max(current_.size(), previous_.size());
  }
  const absl::Duration mean = std::clamp(
      absl::Seconds(static_cast<double>(peers) / options_.calls_per_second) * stretch, options_.min, options_.max);
  return {mean * 0.5, mean * 1.5};
}

RetryWindow RetryAdvisor::WindowWhenWaiting() const { return SpreadPeers(1); }
RetryWindow RetryAdvisor::WindowWhenIdle() const { return SpreadPeers(4); }
RetryWindow RetryAdvisor::WindowWhenBusy(double load) const {
  const RetryWindow window = SpreadPeers(1 + 3 * std::clamp(load, 0.0, 1.0));
  return {window.min + absl::Milliseconds(500), window.max * 2 + absl::Milliseconds(500)};
}

}  // namespace blink
