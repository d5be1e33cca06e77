#include "aggregator_server/train/feature_classifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/unit/train/small_data.h"

namespace blink {
namespace {

// The features themselves, with rows of norm 1, in place of the profiles.
NodeProfiles ProfilesOf(const NodeAttributes& attributes) {
  NodeProfiles profiles{.scaled = attributes.features};
  FeatureMatrix& scaled = profiles.scaled;
  for (uint32_t i = 0; i < scaled.rows; ++i) {
    double squares = 0;
    for (int64_t k = scaled.row_offsets[i]; k < scaled.row_offsets[i + 1]; ++k)
      squares += scaled.values[k] * scaled.values[k];
    for (int64_t k = scaled.row_offsets[i]; k < scaled.row_offsets[i + 1]; ++k) {
      scaled.values[k] = static_cast<float>(scaled.values[k] / std::sqrt(squares));
    }
  }
  return profiles;
}

class FeatureClassifierTest : public ::testing::Test {
 protected:
  FeatureClassifierTest() : attributes_(testing::SmallDataset().attributes), profiles_(ProfilesOf(attributes_)) {}
  std::vector<float> Row(const std::vector<float>& matrix, uint32_t node) const {
    return {matrix.begin() + node * attributes_.class_count, matrix.begin() + (node + 1) * attributes_.class_count};
  }
  uint32_t FirstTrainingNode() const {
    for (uint32_t i = 0; i < attributes_.node_count; ++i) {
      if (attributes_.split[i] == Split::kTrain && attributes_.labels[i] >= 0) return i;
    }
    return 0;
  }
  NodeAttributes attributes_;
  NodeProfiles profiles_;
};

TEST_F(FeatureClassifierTest, RowsAreProbabilitiesAndTellMoreThanFrequencies) {
  const FeatureClassifier model = FitFeatureClassifier(attributes_, profiles_, {.seed = 3}).value();
  for (uint32_t i = 0; i < attributes_.node_count; ++i) {
    double sum = 0;
    for (const float p : Row(model.probabilities.open, i)) sum += p;
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  const TrainResult result = ResultOfFeatureClassifier(model, attributes_, false);
  EXPECT_LT(result.validation_loss, std::log(3.0));
  EXPECT_GT(result.test_accuracy, 0.4);
}

TEST_F(FeatureClassifierTest, OnFoldsTheValidationNodesTrainTooAndEachIsPredictedByAModelThatDidNot) {
  const Folds folds = DealFolds(attributes_, 1);
  const FeatureClassifier model = FitFeatureClassifier(attributes_, profiles_, {.folds = &folds}).value();
  for (const int64_t node : NodesOf(folds)) {
    EXPECT_EQ(Row(model.probabilities.clamped, node)[attributes_.labels[node]], 1) << "also of a validation node";
    EXPECT_LT(Row(model.probabilities.open, node)[attributes_.labels[node]], 1);
  }
  const TrainResult result =
      ResultOfFolds(ResultOfFeatureClassifier(model, attributes_, false).logits, folds, attributes_, false);
  EXPECT_GT(result.validation_accuracy, 0.4);
  EXPECT_LT(result.validation_accuracy, 0.99) << "no node was predicted by a model of its own label";
}

TEST_F(FeatureClassifierTest, ClampsTheTrainingNodesAndNobodyElse) {
  const ClassProbabilities classes = FitFeatureClassifier(attributes_, profiles_, {})->probabilities;
  for (uint32_t i = 0; i < attributes_.node_count; ++i) {
    if (attributes_.split[i] != Split::kTrain || attributes_.labels[i] < 0) {
      EXPECT_EQ(Row(classes.clamped, i), Row(classes.open, i));
      continue;
    }
    EXPECT_EQ(classes.clamped[i * 3 + attributes_.labels[i]], 1);
    EXPECT_NE(Row(classes.clamped, i), Row(classes.open, i));
  }
}

TEST_F(FeatureClassifierTest, ATrainingNodesOpenRowDoesNotChangeWithItsOwnLabel) {
  // But for the temperature, which is everybody's.
  const auto logits = [&](const FeatureClassifier& model, uint32_t node) {
    std::vector<double> result;
    for (const float p : Row(model.probabilities.open, node)) result.push_back(model.temperature * std::log(p));
    for (double& value : result) value -= result.back();
    return result;
  };
  const FeatureClassifier before = FitFeatureClassifier(attributes_, profiles_, {}).value();
  const uint32_t node = FirstTrainingNode();
  attributes_.labels[node] = (attributes_.labels[node] + 1) % 3;
  const FeatureClassifier after = FitFeatureClassifier(attributes_, profiles_, {}).value();
  for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(logits(after, node)[c], logits(before, node)[c], 1e-4);
  EXPECT_NE(after.probabilities.open, before.probabilities.open);
}

TEST_F(FeatureClassifierTest, TheNearestNodesAddWhatTheirClassesTell) {
  // Nodes are alike as their labels are: every node's nearest are ten of its own class, whatever its features.
  NearestNodes nearest;
  Nearest& list = nearest.scaled;
  list.node_count = attributes_.node_count;
  list.count = 10;
  for (uint32_t i = 0; i < attributes_.node_count; ++i) {
    uint32_t j = i;
    for (int k = 0; k < 10; ++k) {
      do j = (j + 1) % attributes_.node_count;
      while (j != i && attributes_.labels[j] != attributes_.labels[i]);
      list.nodes.push_back(j);
      list.cosines.push_back(j == i ? 0.0f : 0.5f);
    }
  }
  const FeatureClassifier first = FitFeatureClassifier(attributes_, profiles_, {}).value();
  const FeatureClassifier both = FitFeatureClassifier(attributes_, profiles_, {.nearest = &nearest}).value();
  const TrainResult without = ResultOfFeatureClassifier(first, attributes_, false),
                    with = ResultOfFeatureClassifier(both, attributes_, false);
  EXPECT_LT(with.validation_loss, without.validation_loss - 0.1);
  EXPECT_GT(with.test_accuracy, without.test_accuracy);
  std::vector<double> told;
  const FeatureClassifier one =
      FitFeatureClassifier(attributes_, profiles_,
                           {.nearest = &nearest, .threads = 1, .progress = [&](double f) { told.push_back(f); }})
          .value();
  EXPECT_EQ(one.probabilities.open, both.probabilities.open);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_NEAR(told.back(), 1, 1e-9);
  EXPECT_GE(std::count_if(told.begin(), told.end(), [](double f) { return f > 0.5; }), 5)
      << "the second stage tells of its folds";
}

TEST_F(FeatureClassifierTest, WithoutANearestNodeThereIsNoSecondStage) {
  const NearestNodes none;
  EXPECT_EQ(FitFeatureClassifier(attributes_, profiles_, {.nearest = &none})->probabilities.open,
            FitFeatureClassifier(attributes_, profiles_, {})->probabilities.open);
}

TEST_F(FeatureClassifierTest, IsTheSameOnAnyNumberOfThreadsAndDoesNotLookAtTestLabels) {
  const FeatureClassifier one = FitFeatureClassifier(attributes_, profiles_, {.threads = 1}).value();
  for (uint32_t i = 0; i < attributes_.node_count; ++i) {
    if (attributes_.split[i] == Split::kTest) attributes_.labels[i] = 0;
  }
  const FeatureClassifier three = FitFeatureClassifier(attributes_, profiles_, {.threads = 3}).value();
  EXPECT_EQ(one.probabilities.open, three.probabilities.open);
  EXPECT_NE(FitFeatureClassifier(attributes_, profiles_, {.seed = 2})->probabilities.open, one.probabilities.open);
}

TEST_F(FeatureClassifierTest, WithoutFeaturesEveryNodeHasTheFrequenciesOfTheTrainingLabels) {
  const FeatureClassifier model = FitFeatureClassifier(attributes_, NodeProfiles{}, {}).value();
  std::vector<double> counts(3, 1.0);
  double nodes = 3;
  for (uint32_t i = 0; i < attributes_.node_count; ++i) {
    if (attributes_.split[i] != Split::kTrain || attributes_.labels[i] < 0) continue;
    ++counts[attributes_.labels[i]];
    ++nodes;
  }
  std::set<std::vector<float>> rows;
  for (uint32_t i = 0; i < attributes_.node_count; ++i) rows.insert(Row(model.probabilities.open, i));
  ASSERT_EQ(rows.size(), 1u) << "a row without its own label would tell the label";
  for (int c = 0; c < 3; ++c) EXPECT_NEAR((*rows.begin())[c], counts[c] / nodes, 1e-6);
}

TEST_F(FeatureClassifierTest, OfFewerThanFiveTrainingNodesItTakesTheFrequencies) {
  int kept = 0;
  for (uint32_t i = 0; i < attributes_.node_count; ++i) {
    if (attributes_.split[i] == Split::kTrain && attributes_.labels[i] >= 0 && ++kept > 4) attributes_.labels[i] = -1;
  }
  const FeatureClassifier model = FitFeatureClassifier(attributes_, profiles_, {}).value();
  EXPECT_EQ(Row(model.probabilities.open, 0), Row(model.probabilities.open, 1));
}

TEST_F(FeatureClassifierTest, AClassThatAFoldLacksIsNoObstacle) {
  bool kept = false;  // one node of class 0 alone
  int others = 0;
  for (uint32_t i = 0; i < attributes_.node_count; ++i) {
    if (attributes_.split[i] != Split::kTrain || attributes_.labels[i] < 0) continue;
    if (attributes_.labels[i] == 0 ? std::exchange(kept, true) : ++others > 6) attributes_.labels[i] = -1;
  }
  const FeatureClassifier model = FitFeatureClassifier(attributes_, profiles_, {}).value();
  for (const float p : model.probabilities.open) ASSERT_TRUE(std::isfinite(p));
  EXPECT_TRUE(std::isfinite(ResultOfFeatureClassifier(model, attributes_, true).validation_loss));
}

TEST_F(FeatureClassifierTest, TellsAProgressThatOnlyGrowsToOne) {
  std::vector<double> told;
  ASSERT_TRUE(
      FitFeatureClassifier(attributes_, profiles_, {.threads = 2, .progress = [&](double f) { told.push_back(f); }})
          .ok());
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_NEAR(told.back(), 1, 1e-9);
}

TEST_F(FeatureClassifierTest, RefusesASplitWithoutLabelsAndSizesThatDoNotFit) {
  NodeProfiles of_others = profiles_;
  of_others.scaled.rows -= 1;
  EXPECT_EQ(FitFeatureClassifier(attributes_, of_others, {}).status().code(), absl::StatusCode::kInvalidArgument);
  for (const Split split : {Split::kTrain, Split::kValidation}) {
    NodeAttributes without = attributes_;
    for (uint32_t i = 0; i < without.node_count; ++i) {
      if (without.split[i] == split) without.labels[i] = -1;
    }
    EXPECT_EQ(FitFeatureClassifier(without, profiles_, {}).status().code(), absl::StatusCode::kInvalidArgument)
        << SplitName(split);
  }
}

}  // namespace
}  // namespace blink
