#include "aggregator_server/prior/tile_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/testing/instruction_sets.h"

namespace blink {
namespace {

class TileKernels : public testing::EveryInstructionSet {};

TEST_P(TileKernels, ProbabilitiesAreThoseOfTheFormula) {
  for (const float scale : {0.01f, 0.3f, 1.0f, 7.0f, 1e27f}) {
    std::vector<float> evidence(kTileNodes), log_odds(kTileNodes), probability(kTileNodes);
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      log_odds[j] = scale * (static_cast<float>(j) - 100);
      evidence[j] = static_cast<float>(j % 5) * 3 - 6;
    }
    log_odds[17] = kNever;
    const std::vector<float> before = log_odds;
    const float total = ProbabilityRow(evidence.data(), log_odds.data(), probability.data());
    double sum = 0;
    for (uint32_t j = 0; j < kTileNodes; ++j) {
      const double x = before[j] + evidence[j], expected = 1 / (1 + std::exp(-x));
      EXPECT_EQ(log_odds[j], before[j] + evidence[j]);
      EXPECT_NEAR(probability[j], expected, 5e-7 * expected + 1e-37) << x;
      sum += probability[j];
    }
    EXPECT_EQ(probability[17], 0);
    EXPECT_NEAR(total, sum, 1e-5 * sum);
  }
}

BLINK_INSTANTIATE_FOR_INSTRUCTION_SETS(TileKernels);

}  // namespace
}  // namespace blink
