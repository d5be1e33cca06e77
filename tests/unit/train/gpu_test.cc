// On a machine with a GPU; skips visibly elsewhere, where network_test runs the same operations on the CPU.
#include <gtest/gtest.h>

#include "aggregator_server/train/trainer.h"
#include "tests/unit/train/small_data.h"
#include "tests/unit/train/small_weights.h"

namespace blink {
namespace {

using testing::Kind;

struct Case {
  Model model;
  Kind kind;
  friend void PrintTo(const Case& value, std::ostream* out) {
    *out << ModelName(value.model) << " over " << testing::KindName(value.kind);
  }
};

class Gpu : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    weights_ = testing::SmallWeights(GetParam().kind, data_.graph);
    options_.model = GetParam().model;
    options_.device = "cuda:0";
    options_.epochs = 50;
    options_.learning_rate = 0.05;
    options_.dropout = 0;
    gpu_ = Train(weights_, data_.attributes, options_);
    if (absl::IsFailedPrecondition(gpu_.status())) GTEST_SKIP() << gpu_.status().message();
    ASSERT_TRUE(gpu_.ok()) << gpu_.status();
  }
  const Dataset data_ = testing::SmallDataset(400);
  LinkWeights weights_;
  TrainOptions options_;
  absl::StatusOr<TrainResult> gpu_ = absl::UnknownError("not run");
};

TEST_P(Gpu, TrainsAsTheCpuDoes) {
  options_.device = "cpu";
  const TrainResult cpu = Train(weights_, data_.attributes, options_).value();
  EXPECT_EQ(gpu_->device.compare(0, 6, "cuda:0"), 0) << gpu_->device;
  for (int e = 0; e < 50; ++e)
    EXPECT_NEAR(gpu_->validation_losses[e], cpu.validation_losses[e], 2e-3) << "epoch " << e + 1;
  EXPECT_NEAR(gpu_->test_accuracy, cpu.test_accuracy, 0.03);
}

TEST_P(Gpu, AutoChoosesTheGpuAndDropoutWorksThere) {
  options_.device = "auto";
  options_.dropout = 0.3;
  const auto result = Train(weights_, data_.attributes, options_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->device.compare(0, 6, "cuda:0"), 0) << result->device;
  EXPECT_GT(result->test_accuracy, 0.45);  // chance is a third
}

TEST_P(Gpu, GivesTheSameBitsWhereItSaysThatItIsDeterministic) {
  EXPECT_FALSE(gpu_->deterministic) << "nobody asked for it";
  options_.deterministic = true;
  const TrainResult a = Train(weights_, data_.attributes, options_).value();
  const TrainResult b = Train(weights_, data_.attributes, options_).value();
  EXPECT_EQ(a.deterministic, b.deterministic);
  if (a.deterministic) {
    EXPECT_EQ(a.logits, b.logits);
  } else {
    EXPECT_NE(a.warnings.back().find("not deterministic"), std::string::npos) << a.warnings.back();
  }
}

std::vector<Case> Cases() {
  std::vector<Case> cases = {{Model::kMlp, Kind::kUnweighted}};
  for (const Model model : {Model::kGcn, Model::kGraphSage, Model::kGat}) {
    for (const Kind kind : {Kind::kUnweighted, Kind::kLinks, Kind::kBackgroundAndLinks, Kind::kBackgroundAndOnes}) {
      cases.push_back({model, kind});
    }
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Models, Gpu, ::testing::ValuesIn(Cases()));

}  // namespace
}  // namespace blink
