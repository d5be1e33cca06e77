// Uniform words from a RandomSource, fetched in blocks. This is the lowest layer of noise.
#ifndef BLINK_COMMON_PRIVACY_RANDOM_BITS_H_
#define BLINK_COMMON_PRIVACY_RANDOM_BITS_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "common/privacy/random_source.h"

namespace blink {

// Each byte of the source is handed out at most once. The buffer is cleansed at the end. Not thread-safe.
//
// A failure of the source is permanent: from then on every word is zero. Inner loops carry no status. Instead the
// caller asks status() after drawing and before it uses a result. A loop that waits for a particular outcome must test
// ok(), since zeros may never bring it.
class RandomBits {
 public:
  static constexpr size_t kWordsMin = 128;   // 1 KiB
  static constexpr size_t kWordsMax = 1024;  // 8 KiB: large enough for the generator's full rate
  // `expected_words` is about how many words will be drawn. It is computed from public numbers (n and p'), never from a
  // list. So many words are fetched in blocks of at most kWordsMax, and further words in blocks of kWordsMin. So a
  // short report pays only for what it needs.
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
  // Uniform on 0 .. bound - 1, by rejection, so that there is no modulo bias. Requires bound >= 1.
  uint64_t NextBelow(uint64_t bound);

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }

 private:
  void Refill();

  RandomSource& source_;
  absl::Status status_;
  uint64_t expected_words_;  // still to be fetched in large blocks
  size_t next_ = 0;          // of words_: the next to hand out
  size_t end_ = 0;           // of words_: the end of the block fetched last
  size_t used_ = 0;          // of words_: the end of the largest block fetched so far
  std::array<uint64_t, kWordsMax> words_;
};

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_RANDOM_BITS_H_
