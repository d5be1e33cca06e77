#include "tests/testing/random_doubles.h"

#include <algorithm>
#include <cstring>

namespace blink {

absl::Status SeededRandom::Fill(absl::Span<uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size(); i += 8) {
    const uint64_t word = engine_();
    std::memcpy(bytes.data() + i, &word, std::min<size_t>(8, bytes.size() - i));
  }
  return absl::OkStatus();
}

absl::Status TapeRandom::Fill(absl::Span<uint8_t> bytes) {
  const size_t left = words_.size() * 8 - next_byte_;
  const size_t taken = std::min(left, bytes.size());
  if (taken > 0) std::memcpy(bytes.data(), reinterpret_cast<const uint8_t*>(words_.data()) + next_byte_, taken);
  std::memset(bytes.data() + taken, 0, bytes.size() - taken);
  next_byte_ += taken;
  return absl::OkStatus();
}

absl::Status FailingRandom::Fill(absl::Span<uint8_t> bytes) {
  if (calls_++ < good_calls_) return good_.Fill(bytes);
  return absl::UnavailableError("this random source fails, as the test asks");
}

absl::Status CountingRandom::Fill(absl::Span<uint8_t> bytes) {
  ++calls_;
  bytes_ += bytes.size();
  return source_.Fill(bytes);
}

}  // namespace blink
