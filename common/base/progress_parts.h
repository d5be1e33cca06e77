// One progress that several parts of a work advance in turn.
//
//   ProgressParts parts(options.progress, 1 + 2);      // weights of all parts together
//   ReadPairs(..., parts.Next(1));                     // tells 0 .. 1/3
//   WritePairs(..., parts.Next(2));                    // tells 1/3 .. 1
//
// It never goes back, even if a part begins again. Not thread-safe: one thread at a time may tell a part's progress.
#ifndef BLINK_COMMON_BASE_PROGRESS_PARTS_H_
#define BLINK_COMMON_BASE_PROGRESS_PARTS_H_

#include <algorithm>
#include <functional>
#include <utility>

namespace blink {

class ProgressParts {
 public:
  using Progress = std::function<void(double fraction)>;

  // `progress` may be empty. `weights`: of all parts together, positive.
  ProgressParts(Progress progress, double weights) : progress_(std::move(progress)), weights_(weights) {}
  ProgressParts(const ProgressParts&) = delete;
  ProgressParts& operator=(const ProgressParts&) = delete;

  // The progress of the part that begins now, 0 .. 1. This object must outlive it.
  Progress Next(double weight) {
    const double begin = begin_;
    begin_ += weight;
    return [this, begin, weight](double fraction) { Tell((begin + weight * fraction) / weights_); };
  }

 private:
  void Tell(double fraction) {
    told_ = std::max(told_, std::min(1.0, fraction));
    if (progress_) progress_(told_);
  }

  const Progress progress_;
  const double weights_;
  double begin_ = 0;  // of the next part
  double told_ = 0;
};

}  // namespace blink

#endif  // BLINK_COMMON_BASE_PROGRESS_PARTS_H_
