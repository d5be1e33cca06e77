// Uniform words from a RandomSource, fetched in bulk: the lowest layer of noise.
#ifndef BLINK_COMMON_PRIVACY_RANDOM_BITS_H_
#define BLINK_COMMON_PRIVACY_RANDOM_BITS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "common/privacy/random_source.h"

namespace blink {

// Hands out each byte of the source once. A failure of the source sticks: from then on every word is zero, and whoever
// drew must ask status() before believing anything. (So the inner loops carry no status.) Loops that wait for a
// particular outcome must test ok(). Not for use by several threads. The buffer is cleansed at the end.
class RandomBits {
 public:
  explicit RandomBits(RandomSource& source) : source_(source) {}
  ~RandomBits();
  RandomBits(const RandomBits&) = delete;
  RandomBits& operator=(const RandomBits&) = delete;

  // 64 independent fair bits.
  uint64_t NextWord() {
    if (next_ == words_.size()) Refill();
    return words_[next_++];
  }
  // Uniform on 0 .. bound - 1, by rejection: no modulo bias. bound >= 1.
  uint64_t NextBelow(uint64_t bound);

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  void Refill();

  static constexpr size_t kWords =
      1024;  // 8 KiB: large enough for the generator's full rate, small enough for a small list
  RandomSource& source_;
  absl::Status status_;
  size_t next_ = kWords;
  std::array<uint64_t, kWords> words_;
};

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_RANDOM_BITS_H_
