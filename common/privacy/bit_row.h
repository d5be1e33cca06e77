// One row of an adjacency matrix: n bits, packed into 64-bit words. Bit j of the row is bit j % 64 of word j / 64. The
// bits past n in the last word are always zero.
#ifndef BLINK_COMMON_PRIVACY_BIT_ROW_H_
#define BLINK_COMMON_PRIVACY_BIT_ROW_H_

#include <bit>
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

  uint32_t Count() const {
    uint32_t ones = 0;
    for (const uint64_t word : words_) ones += std::popcount(word);
    return ones;
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
