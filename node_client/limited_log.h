// A log for events that a peer can bring about. It writes a limited number of lines each hour, so that the peer cannot
// fill a disk with them.
#ifndef BLINK_NODE_CLIENT_LIMITED_LOG_H_
#define BLINK_NODE_CLIENT_LIMITED_LOG_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/logging.h"

namespace blink {

class LimitedLog {
 public:
  // `clock` must outlive the log.
  explicit LimitedLog(Clock& clock) : clock_(clock) {}

  // Writes the line, or drops it when this hour has had its lines. The last line that is written says so.
  void WriteLine(spdlog::level::level_enum level, const std::string& line) {
    const int64_t hour = absl::ToUnixSeconds(clock_.Now()) / 3600;
    if (hour != hour_) lines_ = 0;
    hour_ = hour;
    if (++lines_ > kLinesPerHourMax) return;
    spdlog::log(level, line);
    if (lines_ == kLinesPerHourMax) spdlog::warn("more than {} lines in this hour: leaving out its others", lines_);
  }

 private:
  static constexpr uint32_t kLinesPerHourMax = 500;

  Clock& clock_;
  int64_t hour_ = 0;
  uint32_t lines_ = 0;  // in this hour
};

}  // namespace blink

#endif  // BLINK_NODE_CLIENT_LIMITED_LOG_H_
