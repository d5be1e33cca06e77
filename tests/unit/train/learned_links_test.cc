#include "aggregator_server/train/learned_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/train/small_data.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class LearnedLinks : public ::testing::TestWithParam<Model> {
 protected:
  static constexpr uint32_t kNodes = 80;

  LearnedLinks() : data_(testing::SmallDataset(kNodes)), links_(LinkWeights::Unweighted(data_.graph)) {
    options_.model = GetParam();
    options_.dropout = 0;
    options_.learning_rate = 0.05;
    options_.device = "cpu";
    options_.epochs = 20;
  }
  std::vector<float> DenseLinks() const {
    std::vector<float> dense(size_t{kNodes} * kNodes);
    for (NodeIndex i = 0; i < kNodes; ++i) FillRow(links_, i, &dense[size_t{i} * kNodes]);
    return dense;
  }

  Dataset data_;
  LinkWeights links_;
  TrainOptions options_;
};

// With links that hardly move, the odd epochs are a training on the weighted links: the trainer's own, of half as many
// epochs, is the twin.
TEST_P(LearnedLinks, TrainTheWeightsAsTheTrainerDoes) {
  const LearnedLinksOptions still{.rate = 1e-12, .closeness = 0, .sparsity = 0};
  const auto learned = TrainWithLinks(links_, data_.attributes, options_, still);
  ASSERT_TRUE(learned.ok()) << learned.status();
  LinkWeights weighted = links_;
  weighted.weighted = true;
  options_.epochs = 10;
  const auto twin = Train(weighted, data_.attributes, options_);
  ASSERT_TRUE(twin.ok()) << twin.status();
  for (int epoch = 0; epoch < 10; ++epoch) {
    EXPECT_NEAR(learned->validation_losses[2 * epoch], twin->validation_losses[epoch], 1e-4) << epoch;
    EXPECT_NEAR(learned->validation_losses[2 * epoch + 1], twin->validation_losses[epoch], 1e-4) << "nothing moved";
  }
}

// Where the loss of the model is too small to matter, the steps of A follow the two norms alone. Written out: Adam's
// first step moves every entry by its rate against the sign of the gradient, which is that of the entry.
TEST_P(LearnedLinks, MoveTheLinksAgainstTheirNorm) {
  options_.epochs = 2;
  std::vector<float> a;
  const LearnedLinksOptions sparse{.rate = 0.1, .closeness = 0, .sparsity = 1000};
  ASSERT_TRUE(TrainWithLinks(links_, data_.attributes, options_, sparse, &a).ok());
  const std::vector<float> reported = DenseLinks();
  for (size_t k = 0; k < a.size(); ++k) {
    if (reported[k] == 1) {
      ASSERT_NEAR(a[k], 0.9, 1e-4) << k;
    }
    if (k % (kNodes + 1) == 0) {
      ASSERT_EQ(a[k], 0) << "no gradient reaches the diagonal";
    }
  }
}

TEST_P(LearnedLinks, StayNearTheReportedOnesWhereThatCosts) {
  options_.epochs = 40;
  const auto distance = [&](double closeness) {
    std::vector<float> a;
    const LearnedLinksOptions links{.rate = 0.05, .closeness = closeness, .sparsity = 0};
    EXPECT_TRUE(TrainWithLinks(links_, data_.attributes, options_, links, &a).ok());
    const std::vector<float> reported = DenseLinks();
    double sum = 0;
    for (size_t k = 0; k < a.size(); ++k) sum += std::pow(a[k] - reported[k], 2);
    return std::sqrt(sum);
  };
  EXPECT_LT(distance(100), 0.7 * distance(0));
}

TEST_P(LearnedLinks, RepeatBitForBit) {
  options_.dropout = 0.3;
  const auto a = TrainWithLinks(links_, data_.attributes, options_, {}),
             b = TrainWithLinks(links_, data_.attributes, options_, {});
  EXPECT_EQ(a->logits, b->logits);
  EXPECT_FALSE(a->state.empty());
  options_.seed = 2;
  EXPECT_NE(a->logits, TrainWithLinks(links_, data_.attributes, options_, {})->logits);
}

INSTANTIATE_TEST_SUITE_P(Models, LearnedLinks, ::testing::Values(Model::kGcn, Model::kGraphSage, Model::kGat));

TEST(LearnedLinksOptions, AreRefusedOutOfTheirRange) {
  const auto refusal = [](const LearnedLinksOptions& options) {
    return std::string(ValidateLearnedLinks(options).message());
  };
  for (const double wrong : {0.0, -1.0, 10.1, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(refusal({.rate = wrong}), HasSubstr("rate"));
  }
  for (const double wrong : {-1e-9, 1000.1, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(refusal({.closeness = wrong}), HasSubstr("closeness"));
    EXPECT_THAT(refusal({.sparsity = wrong}), HasSubstr("sparsity"));
  }
  EXPECT_EQ(refusal({.closeness = 0, .sparsity = 0}), "");
}

TEST(LearnedLinksOptions, TakeNoModelWithoutLinksAndNoCheckpoint) {
  const Dataset data = testing::SmallDataset(40);
  const LinkWeights links = LinkWeights::Unweighted(data.graph);
  TrainOptions options;
  options.model = Model::kMlp;
  EXPECT_THAT(std::string(TrainWithLinks(links, data.attributes, options, {}).status().message()), HasSubstr("mlp"));
  options.model = Model::kGcn;
  options.checkpoint_file = "somewhere";
  EXPECT_EQ(TrainWithLinks(links, data.attributes, options, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace blink
