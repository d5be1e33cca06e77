// How often values fell into ranges, for metrics: cheap enough for every write, and readable at any moment.
//
//   Tally seconds({0.001, 0.01, 0.1});
//   seconds.Add(0.02);                       // any thread, without a lock
//   const Tally::Counts now = seconds.Read();  // counts {0, 0, 1, 0}, sum 0.02
#ifndef BLINK_COMMON_BASE_TALLY_H_
#define BLINK_COMMON_BASE_TALLY_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace blink {

class Tally {
 public:
  struct Counts {
    std::vector<double> bounds;    // ascending; the last range has none
    std::vector<uint64_t> counts;  // [bounds + 1]: values of (bounds[i - 1], bounds[i]]
    double sum = 0;                // of all values
  };

  explicit Tally(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  void Add(double value) {
    const auto range = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
    counts_[range].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(value, std::memory_order_relaxed);
  }

  // A value that is added meanwhile may be in the counts and not yet in the sum.
  Counts Read() const {
    Counts read{.bounds = bounds_};
    for (const std::atomic<uint64_t>& count : counts_) read.counts.push_back(count.load(std::memory_order_relaxed));
    read.sum = sum_.load(std::memory_order_relaxed);
    return read;
  }

 private:
  const std::vector<double> bounds_;
  std::vector<std::atomic<uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

}  // namespace blink

#endif  // BLINK_COMMON_BASE_TALLY_H_
