// Those who are to be told that a round has changed.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_WATCHERS_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_WATCHERS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace blink {

// Thread-safe. Watchers are called under the lock, so that one that was removed is not called again.
class RoundWatchers {
 public:
  using Watcher = std::function<void()>;
  using AnyWatcher = std::function<void(const std::set<std::string>& round_ids)>;

  uint64_t Add(const std::string& round_id, Watcher watcher) {
    std::lock_guard<std::mutex> lock(mutex_);
    watchers_[next_] = {round_id, std::move(watcher)};
    return next_++;
  }
  // Of every round.
  uint64_t AddForAny(AnyWatcher watcher) {
    std::lock_guard<std::mutex> lock(mutex_);
    of_any_[next_] = std::move(watcher);
    return next_++;
  }
  void Remove(uint64_t id) {
    std::lock_guard<std::mutex> lock(mutex_);
    watchers_.erase(id);
    of_any_.erase(id);
  }
  void NotifyAll() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, watcher] : watchers_) watcher.second();
  }
  void Notify(const std::set<std::string>& round_ids) {
    if (round_ids.empty()) return;
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, watcher] : watchers_) {
      if (round_ids.count(watcher.first) > 0) watcher.second();
    }
    for (const auto& [id, watcher] : of_any_) watcher(round_ids);
  }

 private:
  std::mutex mutex_;
  uint64_t next_ = 1;
  std::map<uint64_t, std::pair<std::string, Watcher>> watchers_;
  std::map<uint64_t, AnyWatcher> of_any_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_ROUND_WATCHERS_H_
