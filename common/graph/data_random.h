// Random numbers of generated data sets: data, not noise. Nothing but +, *, / and sqrt on doubles, so that a seed gives
// the same data set on every machine and with every standard library. Internal to this folder.
#ifndef BLINK_COMMON_GRAPH_DATA_RANDOM_H_
#define BLINK_COMMON_GRAPH_DATA_RANDOM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace blink {

class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // [0, 1)
  uint64_t Below(uint64_t bound) { return Next() % bound; }                 // the bias, 2^-40, does not matter for data

 private:
  uint64_t state_;
};

template <typename T>
void Shuffle(std::vector<T>& items, SplitMix64& random) {
  for (size_t k = items.size(); k > 1; --k) std::swap(items[k - 1], items[random.Below(k)]);
}

// Draws items with given weights.
class Weighted {
 public:
  void Add(uint32_t item, double weight) {
    items_.push_back(item);
    sums_.push_back((sums_.empty() ? 0.0 : sums_.back()) + weight);
  }
  bool empty() const { return items_.empty(); }
  uint32_t Draw(SplitMix64& random) const {
    const size_t k = std::upper_bound(sums_.begin(), sums_.end(), random.Uniform() * sums_.back()) - sums_.begin();
    return items_[std::min(k, items_.size() - 1)];
  }

 private:
  std::vector<uint32_t> items_;
  std::vector<double> sums_;
};

}  // namespace blink

#endif  // BLINK_COMMON_GRAPH_DATA_RANDOM_H_
