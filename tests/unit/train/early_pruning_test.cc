#include "aggregator_server/train/early_pruning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace blink {
namespace {

struct Curve {
  std::vector<float> losses, accuracies;
  Curve(int epochs, const std::function<double(int epoch)>& loss, const std::function<double(int epoch)>& accuracy) {
    for (int epoch = 1; epoch <= epochs; ++epoch) {
      losses.push_back(static_cast<float>(loss(epoch)));
      accuracies.push_back(static_cast<float>(accuracy(epoch)));
    }
  }
  bool HopelessOf(double score) const { return ShouldPrune(losses, accuracies, {.score = score, .loss_weight = 0.5}); }
};

// Slows down: after 25 epochs `kept` of what is missing to 0.5 is still missing. The score is this accuracy - 0.5.
Curve Slowing(int epochs, double kept) {
  return {epochs, [](int) { return 1.0; }, [=](int epoch) { return 0.5 * (1 - std::pow(kept, epoch / 25.0)); }};
}

TEST(Outlook, WhatHasStoppedToImproveBelowTheTargetIsHopeless) {
  EXPECT_TRUE(Slowing(100, 0.1).HopelessOf(0.05));
  EXPECT_FALSE(Slowing(100, 0.1).HopelessOf(-0.05)) << "it is there";
}

TEST(Outlook, WhatWouldGetThereIsNeverHopelessWhenEach25EpochsGainNoMoreThanFourFifthsOfTheLast) {
  for (const double kept : {0.3, 0.5, 0.7, 0.79}) {
    for (int epochs = 1; epochs <= 300; ++epochs)
      EXPECT_FALSE(Slowing(epochs, kept).HopelessOf(-0.001)) << kept << ", " << epochs;
  }
}

TEST(Outlook, WhatGathersPaceIsNotHopeless) {
  const Curve curve(
      100, [](int) { return 1.0; }, [](int epoch) { return epoch * epoch * 1e-5; });
  EXPECT_FALSE(curve.HopelessOf(10));
}

TEST(Outlook, TheScoreAtTheLowestLossCountsWhereLaterOnesFall) {
  const Curve curve(
      150, [](int epoch) { return epoch < 60 ? 1 : 1.4; }, [](int epoch) { return epoch < 60 ? 0.8 : 0.6; });
  EXPECT_FALSE(curve.HopelessOf(0.29));
  EXPECT_TRUE(curve.HopelessOf(0.31));
}

TEST(Outlook, IsNotAskedEarlyAndOnlyEveryTenEpochs) {
  for (int epochs = 1; epochs <= 130; ++epochs) {
    EXPECT_EQ(Slowing(epochs, 0.01).HopelessOf(1), epochs >= 100 && epochs % 10 == 0) << epochs;
  }
}

TEST(Outlook, OfLossesThatAreNoNumbersItSaysNothing) {
  const Curve curve(
      100, [](int) { return std::numeric_limits<double>::quiet_NaN(); }, [](int) { return 0.1; });
  EXPECT_FALSE(curve.HopelessOf(1));
  EXPECT_FALSE(ShouldPrune({}, {}, {.score = 1}));
}

}  // namespace
}  // namespace blink
