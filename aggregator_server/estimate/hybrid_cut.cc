#include "aggregator_server/estimate/hybrid_cut.h"

#include <cmath>

namespace blink {
namespace {

constexpr double kSlack = 1e-6;  // links

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection in which every bit depends on every bit.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

uint64_t HybridLinkCount(double expected_links) { return static_cast<uint64_t>(std::floor(expected_links + kSlack)); }

uint64_t TieHash(uint64_t tie_seed, NodeIndex i, NodeIndex j) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;
  return Mix(Mix(tie_seed + kGolden) ^ Mix((uint64_t{i} << 32 | j) + kGolden));
}

}  // namespace blink
