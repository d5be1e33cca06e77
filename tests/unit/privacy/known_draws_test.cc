// What is drawn from a fixed tape, as numbers that were written down once. They are the same on every processor, since
// nothing but integers decides a draw. When a draw is meant to change, these numbers do.
#include <gtest/gtest.h>

#include <cstdint>

#include "common/privacy/discrete_laplace.h"
#include "common/privacy/parameters.h"
#include "common/privacy/privatizer.h"
#include "common/privacy/random_bits.h"
#include "tests/testing/random_doubles.h"

namespace blink {
namespace {

// FNV-1a, byte by byte, so that the order of bytes in memory does not matter.
class Mixed {
 public:
  void Add(uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) hash_ = (hash_ ^ (value >> (8 * byte) & 255)) * 0x100000001b3u;
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

// The flip probability and the noise of 50 reports.
uint64_t MixedNoise(const PrivacyParameters& parameters) {
  Mixed mixed;
  mixed.Add(parameters.flip_numerator());
  SeededRandom random(42);
  for (NodeIndex self = 0; self < 50; ++self) {
    const ReportNoise noise = *DrawNoise(parameters, self, random);
    for (const uint64_t word : noise.flips.words()) mixed.Add(word);
    mixed.Add(static_cast<uint64_t>(noise.degree_noise.value_or(0)));
    for (const int64_t of_group : noise.group_noise) mixed.Add(static_cast<uint64_t>(of_group));
  }
  return mixed.value();
}

uint64_t MixedNoise(uint64_t epsilon_micro, uint32_t share, Mechanism mechanism = Mechanism::kBothEnds) {
  return MixedNoise(*PrivacyParameters::Create(epsilon_micro, share, 5000, mechanism));
}

TEST(KnownDraws, OfWordsAreTheSameOnEveryProcessor) {
  EXPECT_EQ(MixedNoise(1'000'000, 100'000), 4266791275752159600u);
  EXPECT_EQ(MixedNoise(4'000'000, 0), 2623351897396407206u);
  EXPECT_EQ(MixedNoise(2'500'000, 300'000, Mechanism::kOneEnd), 16247167057453836281u);
}

TEST(KnownDraws, OfGapsAreTheSameOnEveryProcessor) {
  EXPECT_EQ(MixedNoise(6'000'000, 100'000), 3113344126364577627u);
  EXPECT_EQ(MixedNoise(8'000'000, 10'000), 10433520828257582654u);
  EXPECT_EQ(MixedNoise(20'000'000, 200'000, Mechanism::kOneEnd), 12222035018354868809u);
}

TEST(KnownDraws, OfDegreesAloneAreTheSameOnEveryProcessor) {
  EXPECT_EQ(MixedNoise(500'000, 1'000'000), 15432518038121128168u);
  EXPECT_EQ(MixedNoise(*PrivacyParameters::CreateForGroups(1'000'000, 5000, {.count = 7})), 3298755623327995499u);
}

TEST(KnownDraws, OfTheDiscreteLaplaceLawAreTheSameOnEveryProcessor) {
  SeededRandom source(7);
  RandomBits random(source);
  Mixed mixed;
  for (const uint64_t numerator : {1, 3, 999'999, 12'345'678}) {
    for (int k = 0; k < 500; ++k) mixed.Add(static_cast<uint64_t>(DrawDiscreteLaplace(numerator, 1'000'000, random)));
  }
  EXPECT_EQ(mixed.value(), 3487774350460936644u);
}

}  // namespace
}  // namespace blink
