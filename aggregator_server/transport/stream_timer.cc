#include "aggregator_server/transport/stream_timer.h"

#include <utility>

namespace blink {

StreamTimer::StreamTimer() : thread_([this] { Loop(); }) {}

StreamTimer::~StreamTimer() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

uint64_t StreamTimer::Add(Clock::time_point when, Callback callback) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t id = next_id_++;
  const bool first = order_.empty() || when < order_.begin()->first;
  entries_[id] = {when, std::move(callback)};
  order_.emplace(when, id);
  if (first) changed_.notify_all();
  return id;
}

void StreamTimer::Remove(uint64_t id) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto entry = entries_.find(id);
  if (entry == entries_.end()) return;
  for (auto [it, end] = order_.equal_range(entry->second.when); it != end; ++it) {
    if (it->second == id) {
      order_.erase(it);
      break;
    }
  }
  entries_.erase(entry);
}

void StreamTimer::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopping_) {
    if (order_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = order_.begin();
    if (first->first > Clock::now()) {
      changed_.wait_until(lock, Clock::time_point(first->first));
      continue;
    }
    const uint64_t id = first->second;
    order_.erase(first);
    Entry& entry = entries_[id];
    entry.when = entry.callback();
    if (entry.when == Clock::time_point::max()) {
      entries_.erase(id);
    } else {
      order_.emplace(entry.when, id);
    }
  }
}

}  // namespace blink
