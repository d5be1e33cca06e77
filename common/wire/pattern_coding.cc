// Codes bytes of 8 bits as symbols. A byte with c ones has the probability q^c (1-q)^(8-c), where q = k / n. So a row
// costs n H(k/n) bits, wherever its ones are.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "absl/status/status.h"
#include "common/wire/bit_coding.h"
#include "common/wire/rans.h"

namespace blink::wire_internal {
namespace {

constexpr int kPatternLog2Total = 15;
constexpr int kPatternLanes = 4;  // as many steps overlap; each costs a report about 4 bytes

// Integers only: both ends must agree on every bit of it.
FrequencyTable PatternTable(uint32_t n, uint32_t k) {
  const uint64_t one = (uint64_t{k} << 32) / n;  // q in units of 2^-32
  const uint64_t zero = (uint64_t{1} << 32) - one;
  std::array<uint32_t, 9> by_ones;
  for (int c = 0; c <= 8; ++c) {
    uint64_t probability = uint64_t{1} << 32;
    for (int bit = 0; bit < 8; ++bit) probability = (probability * (bit < c ? one : zero)) >> 32;
    const uint64_t rounded = (probability + (uint64_t{1} << (31 - kPatternLog2Total))) >> (32 - kPatternLog2Total);
    by_ones[c] = static_cast<uint32_t>(std::max<uint64_t>(rounded, 1));
  }
  std::vector<uint32_t> frequencies(256);
  for (uint32_t byte = 0; byte < 256; ++byte) frequencies[byte] = by_ones[std::popcount(byte)];
  return FrequencyTable(std::move(frequencies), kPatternLog2Total, /*absorber=*/uint64_t{k} * 2 <= n ? 0 : 255);
}

}  // namespace

void EncodePatterns(const BitRow& bits, uint32_t k, std::string& out) {
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(bits.words().data());
  RansEncode<kPatternLanes>(PatternTable(bits.size(), k), absl::MakeConstSpan(bytes, (bits.size() + 7) / 8), out);
}

absl::StatusOr<BitRow> DecodePatterns(absl::string_view body, uint32_t n, uint32_t k) {
  RansDecoder<kPatternLanes, kPatternLog2Total> decoder(PatternTable(n, k), body);
  BitRow bits(n);
  uint8_t* bytes = reinterpret_cast<uint8_t*>(bits.mutable_words().data());
  decoder.Fill(absl::MakeSpan(bytes, (n + 7) / 8));
  if (!decoder.Finished()) return absl::InvalidArgumentError("coded bits: not an encoding of a row of this length");
  const uint64_t last = bits.words().back();
  bits.ClearTail();
  if (bits.words().back() != last) return absl::InvalidArgumentError("coded bits: a bit beyond the last node is set");
  return bits;
}

}  // namespace blink::wire_internal
