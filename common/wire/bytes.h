// Integers as bytes, little endian.
#ifndef BLINK_COMMON_WIRE_BYTES_H_
#define BLINK_COMMON_WIRE_BYTES_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace blink::wire_internal {

static_assert(std::endian::native == std::endian::little, "the codings are little endian, and so must be the machine");

inline void AppendLittleEndian(uint64_t value, int bytes, std::string& out) {
  out.append(reinterpret_cast<const char*>(&value), static_cast<size_t>(bytes));
}

// Reads all of `bytes`, which are at most 8.
inline uint64_t LoadLittleEndian(absl::string_view bytes) {
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}

}  // namespace blink::wire_internal

#endif  // BLINK_COMMON_WIRE_BYTES_H_
