#include "tools/simulate/noise.h"

#include <algorithm>
#include <cstring>

namespace blink {

absl::Status InsecureSeededNoise::Fill(absl::Span<uint8_t> bytes) {
  for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
    const uint64_t word = generator_();
    std::memcpy(bytes.data() + i, &word, std::min(sizeof(word), bytes.size() - i));
  }
  return absl::OkStatus();
}

}  // namespace blink
