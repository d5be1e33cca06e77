// Ends streams that take too long, with one thread for all of them.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_STREAM_TIMER_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_STREAM_TIMER_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace blink {

class StreamTimer {
 public:
  using Clock = std::chrono::steady_clock;
  // Called at its time. Returns when it is to be called next, Clock::time_point::max() for never.
  using Callback = std::function<Clock::time_point()>;

  StreamTimer();
  ~StreamTimer();

  uint64_t Add(Clock::time_point when, Callback callback);
  // After it has returned the callback is not running and will not run. Not from within a callback.
  void Remove(uint64_t id);

 private:
  struct Entry {
    Clock::time_point when;
    Callback callback;
  };
  void Loop();

  std::mutex mutex_;  // held while a callback runs
  std::condition_variable changed_;
  bool stopping_ = false;
  uint64_t next_id_ = 1;
  std::map<uint64_t, Entry> entries_;
  std::multimap<Clock::time_point, uint64_t> order_;
  std::thread thread_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_STREAM_TIMER_H_
