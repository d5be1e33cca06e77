// What to do about a thing that failed and may succeed later.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_RETRY_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_RETRY_H_

#include <algorithm>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace blink {

// How long to wait before one thing is tried again, and whether the log should mention the failure. The wait doubles
// each time up to a limit, whatever the cause. A cause is news when it differs from the one before; causes are compared
// by status code, because their texts may differ every time. After a success, begin with a new Retry.
class Retry {
 public:
  Retry(absl::Duration first, absl::Duration max) : max_(max), next_(std::min(first, max)) {}

  struct Failure {
    absl::Duration wait;
    bool is_news = false;  // of another cause than the failure before
  };
  Failure NoteFailure(const absl::Status& why) {
    const Failure failure{next_, cause_ != why.code()};
    cause_ = why.code();
    next_ = std::min(2 * next_, max_);
    return failure;
  }

 private:
  absl::Duration max_, next_;
  absl::StatusCode cause_ = absl::StatusCode::kOk;  // of the failure before, if there was one
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_RETRY_H_
