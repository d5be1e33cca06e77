// On a machine with a GPU; skips visibly elsewhere.
#include <gtest/gtest.h>

#include "aggregator_server/train/trainer.h"
#include "tests/unit/train/small_data.h"

namespace blink {
namespace {

class Gpu : public ::testing::TestWithParam<Model> {
 protected:
  void SetUp() override {
    options_.model = GetParam();
    options_.device = "cuda:0";
    options_.epochs = 50;
    options_.learning_rate = 0.05;
    options_.dropout = 0;
    gpu_ = Train(LinkWeights::Unweighted(data_.graph), data_.attributes, options_);
    if (absl::IsFailedPrecondition(gpu_.status())) GTEST_SKIP() << gpu_.status().message();
    ASSERT_TRUE(gpu_.ok()) << gpu_.status();
  }
  const Dataset data_ = testing::SmallDataset(400);
  TrainOptions options_;
  absl::StatusOr<TrainResult> gpu_ = absl::UnknownError("not run");
};

TEST_P(Gpu, TrainsAsTheCpuDoes) {
  options_.device = "cpu";
  const TrainResult cpu = Train(LinkWeights::Unweighted(data_.graph), data_.attributes, options_).value();
  EXPECT_EQ(gpu_->device.compare(0, 6, "cuda:0"), 0) << gpu_->device;
  for (int e = 0; e < 50; ++e) EXPECT_NEAR(gpu_->validation_losses[e], cpu.validation_losses[e], 2e-3) << "epoch " << e + 1;
  EXPECT_NEAR(gpu_->test_accuracy, cpu.test_accuracy, 0.03);
}

TEST_P(Gpu, AutoChoosesTheGpuAndDropoutWorksThere) {
  options_.device = "auto";
  options_.dropout = 0.3;
  const auto result = Train(LinkWeights::Unweighted(data_.graph), data_.attributes, options_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->device.compare(0, 6, "cuda:0"), 0) << result->device;
  EXPECT_GT(result->test_accuracy, 0.5);
}

INSTANTIATE_TEST_SUITE_P(Models, Gpu, ::testing::Values(Model::kGcn, Model::kMlp));

}  // namespace
}  // namespace blink
