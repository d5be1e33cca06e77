#include "aggregator_server/train/attention_cost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace blink {
namespace {

TEST(AttentionCost, RefusesWhatWouldTakeHoursAndNamesTheTime) {
  LinkWeights weights;
  weights.node_count = 100'000;
  weights.class_count = 1;  // a background
  TrainOptions options{.model = Model::kGat, .threads = 2};
  const absl::Status refused = CheckAttentionCost(weights, 4, options);
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              ::testing::AllOf(::testing::HasSubstr("s an epoch"), ::testing::HasSubstr("Hybrid")));
  options.allow_slow_attention = true;
  EXPECT_TRUE(CheckAttentionCost(weights, 4, options).ok());
}

TEST(AttentionCost, AllowsSmallGraphsOtherModelsAndOtherWeights) {
  LinkWeights weights;
  weights.node_count = 100'000;
  TrainOptions options{.model = Model::kGat, .threads = 2};
  EXPECT_TRUE(CheckAttentionCost(weights, 4, options).ok());  // links alone
  weights.class_count = 1;
  options.model = Model::kGcn;
  EXPECT_TRUE(CheckAttentionCost(weights, 4, options).ok());
  options.model = Model::kGat;
  weights.node_count = 2708;
  EXPECT_TRUE(CheckAttentionCost(weights, 7, options).ok());
}

}  // namespace
}  // namespace blink
