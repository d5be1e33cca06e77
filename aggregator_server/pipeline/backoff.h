// How long to wait before what failed is tried again: twice as long each time, up to a limit.
#ifndef BLINK_AGGREGATOR_SERVER_PIPELINE_BACKOFF_H_
#define BLINK_AGGREGATOR_SERVER_PIPELINE_BACKOFF_H_

#include <algorithm>

#include "absl/time/time.h"

namespace blink {

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

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_PIPELINE_BACKOFF_H_
