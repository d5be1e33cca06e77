// One row of an adjacency matrix: n bits, packed into 64-bit words. Bit j of the row is bit j % 64 of word j / 64. The
// bits past n in the last word are always zero.
#ifndef BLINK_COMMON_PRIVACY_BIT_ROW_H_
#define BLINK_COMMON_PRIVACY_BIT_ROW_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace blink {

using NodeIndex = uint32_t;  // 0 .. n-1

class BitRow {
 public:
  BitRow() = default;
  explicit BitRow(uint32_t size) : size_(size), words_((size + 63) / 64, 0) {}

  uint32_t size() const { return size_; }  // bits
  bool empty() const { return size_ == 0; }
  absl::Span<const uint64_t> words() const { return words_; }
  // Whoever writes these words keeps the bits past size() zero, or calls ClearTail() afterwards.
  absl::Span<uint64_t> mutable_words() { return absl::MakeSpan(words_); }

  bool Test(uint32_t j) const { return (words_[j >> 6] >> (j & 63)) & 1; }
  void Set(uint32_t j) { words_[j >> 6] |= uint64_t{1} << (j & 63); }
  void Clear(uint32_t j) { words_[j >> 6] &= ~(uint64_t{1} << (j & 63)); }
  void Flip(uint32_t j) { words_[j >> 6] ^= uint64_t{1} << (j & 63); }

  // Without std::popcount, which is a call for each word where the compiler may not assume an instruction for it. The
  // time depends on the size alone.
  uint32_t Count() const {
    constexpr uint64_t kPairs = 0x5555555555555555, kNibbles = 0x3333333333333333, kBytes = 0x0f0f0f0f0f0f0f0f;
    constexpr uint64_t kEveryOtherByte = 0x00ff00ff00ff00ff, kSumOfQuarters = 0x0001000100010001;
    constexpr size_t kWordsMax = 31;  // a byte of `sums` holds up to 8 a word
    uint64_t ones = 0;
    for (absl::Span<const uint64_t> left = words_; !left.empty();
         left.remove_prefix(std::min(kWordsMax, left.size()))) {
      uint64_t sums = 0;
      for (uint64_t word : left.subspan(0, kWordsMax)) {
        word -= (word >> 1) & kPairs;
        word = (word & kNibbles) + ((word >> 2) & kNibbles);
        sums += (word + (word >> 4)) & kBytes;
      }
      sums = (sums & kEveryOtherByte) + ((sums >> 8) & kEveryOtherByte);
      ones += (sums * kSumOfQuarters) >> 48;
    }
    return static_cast<uint32_t>(ones);
  }
  void ClearTail() {
    if (size_ % 64 != 0) words_.back() &= (uint64_t{1} << (size_ % 64)) - 1;
  }
  // Calls f(j) for each bit j that is 1, in ascending order.
  template <typename F>
  void ForEachOne(F f) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t word = words_[w]; word != 0; word &= word - 1) {
        f(static_cast<uint32_t>(w * 64 + std::countr_zero(word)));
      }
    }
  }
  friend bool operator==(const BitRow&, const BitRow&) = default;

 private:
  uint32_t size_ = 0;
  std::vector<uint64_t> words_;
};

}  // namespace blink

#endif  // BLINK_COMMON_PRIVACY_BIT_ROW_H_
