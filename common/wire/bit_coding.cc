#include "common/wire/bit_coding.h"

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "common/wire/bytes.h"

namespace blink::wire_internal {

Coding ChooseCoding(uint32_t n, uint32_t k) {
  const uint64_t rarer = std::min(k, n - k);
  // Below 257 bits the states of the entropy coder cost more than they save; above 15/32 its gain is below 0.3 %.
  if (n <= 256 || rarer * 32 >= uint64_t{n} * 15) return Coding::kPacked;
  // A gap coder works once per one, on one state; a pattern coder once per 8 bits, on four. Below 1/32 gaps are faster,
  // and patterns would waste ever more on bytes so rare that no frequency is small enough for them (0.4 % there).
  if (rarer * 32 >= n) return Coding::kPatterns;
  return rarer == k ? Coding::kGapsOfOnes : Coding::kGapsOfZeros;
}

void EncodePacked(const BitRow& bits, std::string& out) {
  const char* bytes = reinterpret_cast<const char*>(bits.words().data());
  out.append(bytes, (bits.size() + 7) / 8);
}

absl::StatusOr<BitRow> DecodePacked(absl::string_view body, uint32_t n) {
  if (body.size() != (n + 7) / 8) return absl::InvalidArgumentError("coded bits: the packed row has a wrong length");
  BitRow bits(n);
  std::memcpy(bits.mutable_words().data(), body.data(), body.size());
  const uint64_t last = bits.words().back();
  bits.ClearTail();
  if (bits.words().back() != last) return absl::InvalidArgumentError("coded bits: a bit beyond the last node is set");
  return bits;
}

uint32_t CountOnes(const BitRow& row) {
  constexpr uint64_t kPairs = 0x5555555555555555, kNibbles = 0x3333333333333333, kBytes = 0x0f0f0f0f0f0f0f0f;
  constexpr uint64_t kEveryOtherByte = 0x00ff00ff00ff00ff, kSumOfQuarters = 0x0001000100010001;
  constexpr size_t kWordsMax = 31;  // a byte of `sums` holds up to 8 a word
  absl::Span<const uint64_t> words = row.words();
  uint64_t ones = 0;
  while (!words.empty()) {
    const absl::Span<const uint64_t> some = words.subspan(0, kWordsMax);
    uint64_t sums = 0;
    for (uint64_t word : some) {
      word -= (word >> 1) & kPairs;
      word = (word & kNibbles) + ((word >> 2) & kNibbles);
      sums += (word + (word >> 4)) & kBytes;
    }
    sums = (sums & kEveryOtherByte) + ((sums >> 8) & kEveryOtherByte);
    ones += (sums * kSumOfQuarters) >> 48;
    words.remove_prefix(some.size());
  }
  return static_cast<uint32_t>(ones);
}

BitRow Complement(BitRow bits) {
  for (uint64_t& word : bits.mutable_words()) word = ~word;
  bits.ClearTail();
  return bits;
}

}  // namespace blink::wire_internal
