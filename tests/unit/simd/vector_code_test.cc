// The parts of vector_code.h against the standard library, at every instruction set.
#include "common/simd/vector_code.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/testing/instruction_sets.h"

namespace blink {
namespace {

struct ExpBody {
  BLINK_INLINE static void Run(const float* x, float* out) { Store(out, ExpOfNegative(Load(x))); }
};
struct MaskBody {
  BLINK_INLINE static void Run(uint32_t bits, int32_t* out) {
    const Ints mask = MaskOf(bits);
    __builtin_memcpy(out, &mask, sizeof(mask));
  }
};

float ExpOf(float x) {
  float in[kLanes], out[kLanes];
  for (float& lane : in) lane = x;
  CodeOf<ExpBody, ExpBody, ExpBody>()(in, out);
  for (const float lane : out) EXPECT_TRUE(lane == out[0] || std::isnan(x)) << x;
  return out[kLanes - 1];
}

class VectorCode : public testing::EveryInstructionSet {};

TEST_P(VectorCode, TheExponentialIsThatOfTheLibrary) {
  for (float x = 0; x > -87; x -= 0.0137f) {
    EXPECT_NEAR(ExpOf(x) / std::exp(static_cast<double>(x)), 1.0, 3e-7) << x;
  }
}

TEST_P(VectorCode, TheExponentialIsZeroWhereAFloatWouldBeDenormal) {
  EXPECT_EQ(ExpOf(-87.5f), 0.0f);
  EXPECT_EQ(ExpOf(-1e30f), 0.0f);
  EXPECT_EQ(ExpOf(-std::numeric_limits<float>::infinity()), 0.0f);
}

TEST_P(VectorCode, TheExponentialOfWhatIsNotBelowZeroIsOne) {
  EXPECT_EQ(ExpOf(0.0f), 1.0f);
  EXPECT_EQ(ExpOf(1e-30f), 1.0f);
  EXPECT_EQ(ExpOf(1e30f), 1.0f);
  EXPECT_EQ(ExpOf(std::numeric_limits<float>::infinity()), 1.0f);
}

TEST_P(VectorCode, TheExponentialOfNoNumberIsNone) {
  EXPECT_TRUE(std::isnan(ExpOf(std::numeric_limits<float>::quiet_NaN()))) << "of a training that diverges";
}

TEST_P(VectorCode, AMaskHasTheLanesWhoseBitsAreSet) {
  for (uint32_t bits = 0; bits < 512; ++bits) {
    int32_t mask[kLanes];
    CodeOf<MaskBody, MaskBody, MaskBody>()(bits, mask);
    for (int lane = 0; lane < kLanes; ++lane) EXPECT_EQ(mask[lane], (bits >> lane & 1) ? -1 : 0) << bits;
  }
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(VectorCode);

}  // namespace
}  // namespace blink
