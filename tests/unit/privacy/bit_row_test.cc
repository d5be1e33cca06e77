// The count of ones, which is made without an instruction for it, against a loop over the bits.
#include "common/privacy/bit_row.h"

#include <gtest/gtest.h>

#include <random>

namespace blink {
namespace {

TEST(BitRow, CountsTheOnesThatALoopFinds) {
  std::mt19937_64 random(1);
  for (const uint32_t size : {0u, 1u, 63u, 64u, 65u, 1984u, 1985u, 4000u, 100'003u}) {
    for (const double density : {0.0, 0.001, 0.2, 0.999, 1.0}) {
      std::bernoulli_distribution one(density);
      BitRow row(size);
      uint32_t ones = 0;
      for (uint32_t j = 0; j < size; ++j) {
        if (!one(random)) continue;
        row.Set(j);
        ++ones;
      }
      EXPECT_EQ(row.Count(), ones) << size << ' ' << density;
    }
  }
}

}  // namespace
}  // namespace blink
