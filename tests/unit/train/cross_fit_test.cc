#include "aggregator_server/train/cross_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/train/small_data.h"

namespace blink {
namespace {

class LinearFeatureClassifierTest : public ::testing::Test {
 protected:
  LinearFeatureClassifierTest()
      : attributes_(testing::SmallDataset(600).attributes),
        profiles_(MakeNodeProfiles(attributes_.features, 1)),
        nearest_(FindNearest(profiles_, kNearestCount, 1, [](double) {})) {}
  std::vector<float> Row(const std::vector<float>& matrix, uint32_t node) const {
    return {matrix.begin() + node * attributes_.class_count, matrix.begin() + (node + 1) * attributes_.class_count};
  }
  double LogLikelihoodOfTestNodes(const ClassProbabilities& classes) const {
    double sum = 0;
    for (uint32_t i = 0; i < attributes_.node_count; ++i) {
      if (attributes_.split[i] == Split::kTest) sum += std::log(Row(classes.open, i)[attributes_.labels[i]]);
    }
    return sum;
  }
  NodeAttributes attributes_;
  NodeProfiles profiles_;
  NearestNodes nearest_;
};

TEST_F(LinearFeatureClassifierTest, RowsAreProbabilitiesThatTellMoreThanFrequencies) {
  const auto model = FitLinearFeatureClassifier(attributes_, profiles_, {.nearest = &nearest_}).value();
  for (uint32_t i = 0; i < attributes_.node_count; ++i) {
    double sum = 0;
    for (const float p : Row(model.probabilities.open, i)) sum += p;
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  const auto frequencies = FitLinearFeatureClassifier(attributes_, NodeProfiles{}, {}).value();
  EXPECT_EQ(frequencies.state[0].name, "frequencies");
  EXPECT_GT(LogLikelihoodOfTestNodes(model.probabilities), LogLikelihoodOfTestNodes(frequencies.probabilities) + 5);
}

TEST_F(LinearFeatureClassifierTest, ATrainingNodesOpenRowDoesNotChangeWithItsOwnLabel) {
  uint32_t node = 0;
  while (attributes_.split[node] != Split::kTrain) ++node;
  const auto ratio = [&](const FeatureClassifier& model) {  // without the temperature, which is everybody's
    const std::vector<float> row = Row(model.probabilities.open, node);
    return model.temperature * std::log(row[0] / row[1]);
  };
  const auto before = FitLinearFeatureClassifier(attributes_, profiles_, {}).value();
  attributes_.labels[node] = (attributes_.labels[node] + 1) % 3;
  const auto after = FitLinearFeatureClassifier(attributes_, profiles_, {}).value();
  EXPECT_NEAR(ratio(after), ratio(before), 1e-4);
  EXPECT_NE(after.probabilities.open, before.probabilities.open);
}

TEST_F(LinearFeatureClassifierTest, IsTheSameOnAnyNumberOfThreadsAndDoesNotLookAtTestLabels) {
  const auto one = FitLinearFeatureClassifier(attributes_, profiles_, {.nearest = &nearest_, .threads = 1}).value();
  for (uint32_t i = 0; i < attributes_.node_count; ++i) {
    if (attributes_.split[i] == Split::kTest) attributes_.labels[i] = 0;
  }
  const auto many = FitLinearFeatureClassifier(attributes_, profiles_, {.nearest = &nearest_, .threads = 4}).value();
  EXPECT_EQ(one.probabilities.open, many.probabilities.open);
  EXPECT_EQ(one.probabilities.clamped, many.probabilities.clamped);
}

TEST_F(LinearFeatureClassifierTest, TellsItsProgressFromBothStages) {
  std::vector<double> told;
  FitLinearFeatureClassifier(attributes_, profiles_,
                             {.nearest = &nearest_, .progress = [&](double fraction) { told.push_back(fraction); }})
      .value();
  EXPECT_EQ(told.size(), 10u);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_NEAR(told.back(), 1, 1e-9);
}

TEST_F(LinearFeatureClassifierTest, RefusesWhereNothingValidates) {
  for (Split& split : attributes_.split) {
    if (split == Split::kValidation) split = Split::kNone;
  }
  EXPECT_EQ(FitLinearFeatureClassifier(attributes_, profiles_, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(LinearFeatureClassifierTest, TheErrorOfAFirstStageIsTheError) {
  const auto failed = CrossFit(attributes_, profiles_, {}, [](const AttributesOfFold&) {
    return absl::StatusOr<std::vector<TrainResult>>(absl::ResourceExhaustedError("no memory"));
  });
  EXPECT_EQ(failed.status(), absl::ResourceExhaustedError("no memory"));
}

}  // namespace
}  // namespace blink
