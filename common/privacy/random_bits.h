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
  static constexpr size_t kWordsMin = 128;   // 1 KiB
  static constexpr size_t kWordsMax = 1024;  // 8 KiB: large enough for the generator's full rate
  // `expected_words`: about how many will be drawn, from public numbers alone (n, p': never a list). So many are
  // fetched, in blocks of at most kWordsMax, and what is drawn beyond them in blocks of kWordsMin: a short report pays
  // for what it needs.
  explicit RandomBits(RandomSource& source, uint64_t expected_words = ~uint64_t{0})
      : source_(source), expected_words_(expected_words) {}
  ~RandomBits();
  RandomBits(const RandomBits&) = delete;
  RandomBits& operator=(const RandomBits&) = delete;

  // 64 independent fair bits.
  uint64_t NextWord() {
    if (next_ == end_) Refill();
    return words_[next_++];
  }
  // Uniform on 0 .. bound - 1, by rejection: no modulo bias. bound >= 1.
  uint64_t NextBelow(uint64_t bound);

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  void Refill();

  RandomSource& source_;
  absl::Status status_;
  uint64_t expected_words_;  // that are still to be fetched
  size_t next_ = 0;
  size_t end_ = 0;   // of what was fetched
  size_t used_ = 0;  // the most that ever was
  std::array<uint64_t, kWordsMax> words_;
};

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_RANDOM_BITS_H_
