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

BitRow Complement(BitRow bits) {
  for (uint64_t& word : bits.mutable_words()) word = ~word;
  bits.ClearTail();
  return bits;
}

}  // namespace blink::wire_internal
