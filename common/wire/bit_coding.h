// The codings of a row of n bits with k ones, and the choice between them. docs/PROTOCOL.md describes the bytes.
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
  kGapsOfZeros = 0x13,  // entropy-coded distances between zeros
  kPatterns = 0x14      // entropy-coded bytes of 8 bits (0x11, the same with two states, was never released)
};

// Chooses the coding from n and k alone, with 0 <= k <= n. So a report's size says no more than the number of its ones
// (up to the rounding of the tables), and a decoder can check the choice.
Coding ChooseCoding(uint32_t n, uint32_t k);

// The functions below write and read the body of an encoding: what follows the first byte and k. A decoder returns
// INVALID_ARGUMENT unless `body` is what the encoder gives for some row of n bits. It takes time and memory of
// O(n + size of body).
void EncodePacked(const BitRow& bits, std::string& out);
absl::StatusOr<BitRow> DecodePacked(absl::string_view body, uint32_t n);

void EncodePatterns(const BitRow& bits, uint32_t k, std::string& out);
absl::StatusOr<BitRow> DecodePatterns(absl::string_view body, uint32_t n, uint32_t k);

// Requires k = 0 or 1 <= k < n / 32, where k is the number of ones.
void EncodeGaps(const BitRow& bits, uint32_t k, std::string& out);
absl::StatusOr<BitRow> DecodeGaps(absl::string_view body, uint32_t n, uint32_t k);

// Inverts every bit.
BitRow Complement(BitRow bits);

}  // namespace blink::wire_internal

#endif  // BLINK_COMMON_WIRE_BIT_CODING_H_
