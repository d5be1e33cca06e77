// What to do about a thing that failed and may succeed later.
#ifndef BLINK_AGGREGATOR_SERVER_ROUNDS_RETRY_H_
#define BLINK_AGGREGATOR_SERVER_ROUNDS_RETRY_H_

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace blink {

// How long to wait before one thing is tried again, twice as long each time up to a limit, and what the log has to say
// of it: each cause once, however often it is tried. A cause is a status code; the texts of one may differ every time.
// The wait goes on growing whatever the cause; what succeeded begins anew with a Retry of its own.
class Retry {
 public:
  Retry(absl::Duration first, absl::Duration max) : max_(max), next_(std::min(first, max)) {}

  struct Failure {
    absl::Duration wait;
    bool is_news = false;  // not of the cause of the failure before
  };
  Failure Failed(const absl::Status& why) {
    const Failure failure{next_, cause_ != why.code()};
    cause_ = why.code();
    next_ = std::min(2 * next_, max_);
    return failure;
  }

 private:
  absl::Duration max_, next_;
  std::optional<absl::StatusCode> cause_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_ROUNDS_RETRY_H_
