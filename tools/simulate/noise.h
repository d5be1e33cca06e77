// NOT PRIVATE. Noise from a seed, so that a simulation can be repeated exactly. It lives in the `blink` command only:
// `blink-node` does not link it, and `blink simulate` uses it only with --insecure-seeded-noise, and then claims no
// privacy.
#ifndef BLINK_TOOLS_SIMULATE_NOISE_H_
#define BLINK_TOOLS_SIMULATE_NOISE_H_

#include <cstdint>
#include <random>

#include "common/privacy/random_source.h"

namespace blink {

class InsecureSeededNoise : public RandomSource {
 public:
  explicit InsecureSeededNoise(uint64_t seed) : generator_(seed) {}
  absl::Status Fill(absl::Span<uint8_t> bytes) override;

 private:
  std::mt19937_64 generator_;
};

}  // namespace blink

#endif  // BLINK_TOOLS_SIMULATE_NOISE_H_
