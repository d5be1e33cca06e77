// The codings of a row of n bits with k ones, and which of them a row gets. docs/PROTOCOL.md describes the bytes.
#ifndef BLINK_COMMON_WIRE_BIT_CODING_H_
#define BLINK_COMMON_WIRE_BIT_CODING_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/privacy/bit_row.h"

namespace blink::wire_internal {

// The first byte of every encoding.
enum class Coding : uint8_t {
  kPacked = 0x10,       // the bits, 8 to a byte
  kGapsOfOnes = 0x12,   // entropy-coded distances between ones
  kGapsOfZeros = 0x13,  // the same for zeros
  kPatterns = 0x14      // entropy-coded bytes of 8 bits (0x11 was the same with two states, before the first release)
};

// The coding depends on n and k alone, so that the size of a report never says more than the number of its ones (to
// within the rounding of the tables), and so that a decoder can check the choice. 0 <= k <= n.
Coding ChooseCoding(uint32_t n, uint32_t k);

// Bodies: what follows the tag and k. Decoders return INVALID_ARGUMENT unless `body` is what the encoder gives for some
// row of n bits, in time and memory O(n + body).
void EncodePacked(const BitRow& bits, std::string& out);
absl::StatusOr<BitRow> DecodePacked(absl::string_view body, uint32_t n);

void EncodePatterns(const BitRow& bits, uint32_t k, std::string& out);
absl::StatusOr<BitRow> DecodePatterns(absl::string_view body, uint32_t n, uint32_t k);

// k: how many ones (1 <= k < n / 32, or 0).
void EncodeGaps(const BitRow& bits, uint32_t k, std::string& out);
absl::StatusOr<BitRow> DecodeGaps(absl::string_view body, uint32_t n, uint32_t k);

// As row.Count(): without a machine instruction for it, which not every x86-64 has, that is a call for each word.
uint32_t CountOnes(const BitRow& row);
// Every bit the other way round.
BitRow Complement(BitRow bits);

}  // namespace blink::wire_internal

#endif  // BLINK_COMMON_WIRE_BIT_CODING_H_
