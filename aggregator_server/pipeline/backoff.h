// What to do about a thing that failed and may succeed later.
#ifndef BLINK_AGGREGATOR_SERVER_PIPELINE_BACKOFF_H_
#define BLINK_AGGREGATOR_SERVER_PIPELINE_BACKOFF_H_

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace blink {

// How long to wait before it is tried again: twice as long each time, up to a limit.
class Backoff {
 public:
  Backoff(absl::Duration first, absl::Duration max) : first_(std::min(first, max)), max_(max), next_(first_) {}

  absl::Duration Next() {
    const absl::Duration wait = next_;
    next_ = std::min(2 * next_, max_);
    return wait;
  }
  void Reset() { next_ = first_; }

 private:
  absl::Duration first_, max_, next_;
};

// The same of one thing, with what the log has to say of it: each cause once, however often it is tried. A cause is a
// status code; the texts of one may differ every time. The wait goes on growing whatever the cause.
class Retry {
 public:
  Retry(absl::Duration first, absl::Duration max) : backoff_(first, max) {}

  struct Failure {
    absl::Duration wait;
    bool is_news = false;  // not of the cause of the failure before
  };
  Failure Failed(const absl::Status& why) {
    const bool is_news = cause_ != why.code();
    cause_ = why.code();
    return {backoff_.Next(), is_news};
  }

 private:
  Backoff backoff_;
  std::optional<absl::StatusCode> cause_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PIPELINE_BACKOFF_H_
