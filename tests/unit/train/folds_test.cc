#include "aggregator_server/train/folds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "aggregator_server/train/labelled_nodes.h"
#include "aggregator_server/train/log_probabilities.h"

namespace blink {
namespace {

// 60 nodes of 3 classes, of which the last is rare; 30 to train, 20 to validate, 10 to test, every seventh unlabelled.
NodeAttributes Sixty() {
  NodeAttributes attributes{.node_count = 60, .class_count = 3};
  for (int i = 0; i < 60; ++i) {
    attributes.labels.push_back(i % 7 == 6 ? -1 : i % 10 == 0 ? 2 : i % 2);
    attributes.split.push_back(i < 30 ? Split::kTrain : i < 50 ? Split::kValidation : Split::kTest);
  }
  return attributes;
}

TEST(Folds, HoldTheLabelledTrainingAndValidationNodesAndNoOther) {
  const NodeAttributes attributes = Sixty();
  const Folds folds = DealFolds(attributes, 1);
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(folds.of[i] >= 0, i < 50 && attributes.labels[i] >= 0) << i;
    EXPECT_LT(folds.of[i], kFolds);
  }
}

TEST(Folds, AreOfOneSizeAndEachHasItsShareOfEveryClass) {
  const NodeAttributes attributes = Sixty();
  const Folds folds = DealFolds(attributes, 1);
  for (int c = -1; c < 3; ++c) {  // -1: all
    std::vector<int> sizes(kFolds);
    for (const int64_t node : NodesOf(folds)) sizes[folds.of[node]] += c < 0 || attributes.labels[node] == c ? 1 : 0;
    EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()) - *std::min_element(sizes.begin(), sizes.end()), 1) << c;
  }
}

TEST(Folds, DependOnTheSeedAndNeverOnTheTestNodes) {
  NodeAttributes attributes = Sixty();
  const Folds folds = DealFolds(attributes, 1);
  EXPECT_NE(DealFolds(attributes, 2).of, folds.of);
  for (int i = 50; i < 60; ++i) attributes.labels[i] = 0;
  EXPECT_EQ(DealFolds(attributes, 1).of, folds.of);
}

TEST(Folds, OneValidatesAndTheOthersTrain) {
  const NodeAttributes attributes = Sixty();
  const Folds folds = DealFolds(attributes, 1);
  const NodeAttributes third = OfFold(attributes, folds, 2);
  EXPECT_EQ(LabelledNodes(third, Split::kValidation), NodesOf(folds, 2, 3));
  EXPECT_EQ(LabelledNodes(third, Split::kTrain).size() + NodesOf(folds, 2, 3).size(), NodesOf(folds).size());
  EXPECT_EQ(LabelledNodes(third, Split::kTest), LabelledNodes(attributes, Split::kTest));
  EXPECT_EQ(third.labels, attributes.labels);
}

// [60, 3] logits with which model k says class k % 3 of every node, and the surer the larger k is.
std::vector<std::vector<float>> FiveOpinions() {
  std::vector<std::vector<float>> logits(kFolds, std::vector<float>(size_t{60} * 3, 0.0f));
  for (int k = 0; k < kFolds; ++k) {
    for (int i = 0; i < 60; ++i) logits[k][i * 3 + k % 3] = 1.0f + static_cast<float>(k);
  }
  return logits;
}

TEST(Folds, ANodeIsPredictedByTheModelThatDidNotSeeItsLabelAndAnyOtherByTheMeanOfAll) {
  const Folds folds = DealFolds(Sixty(), 1);
  const std::vector<std::vector<float>> logits = FiveOpinions();
  std::vector<const std::vector<float>*> pointers;
  for (const std::vector<float>& of_model : logits) pointers.push_back(&of_model);
  const std::vector<float> joined = JoinLogits(pointers, folds, 3), mean = LogOfMeanProbabilities(pointers, 3);
  for (int i = 0; i < 60; ++i) {
    double sum = 0;
    for (int c = 0; c < 3; ++c) sum += std::exp(joined[i * 3 + c]);
    EXPECT_NEAR(sum, 1, 1e-5);
    if (folds.of[i] < 0) {
      EXPECT_EQ(joined[i * 3], mean[i * 3]);
      continue;
    }
    std::vector<float> own(logits[folds.of[i]].begin(), logits[folds.of[i]].begin() + 3);
    LogSoftmaxRows(own, 3);
    EXPECT_EQ(joined[i * 3 + 1], own[1]);
  }
}

TEST(Folds, TheValidationFiguresAreOfAllNodesInFoldsAndTheTestFiguresOfTheTestNodes) {
  const NodeAttributes attributes = Sixty();
  const Folds folds = DealFolds(attributes, 1);
  std::vector<float> right(size_t{60} * 3, std::log(0.05f));
  for (int i = 0; i < 60; ++i) right[i * 3 + std::max(0, attributes.labels[i])] = std::log(0.9f);
  const TrainResult result = ResultOfFolds(right, folds, attributes, false);
  EXPECT_EQ(result.validation.nodes, NodesOf(folds).size());
  EXPECT_EQ(result.validation_accuracy, 1);
  EXPECT_NEAR(result.validation_loss, -std::log(0.9), 1e-6);
  EXPECT_EQ(result.test.nodes, LabelledNodes(attributes, Split::kTest).size());
  const std::vector<double> scores = NodeScores(right, folds, attributes, 0.5, 1, 3);
  EXPECT_EQ(scores.size(), NodesOf(folds, 1, 3).size());
  for (const double score : scores) EXPECT_NEAR(score, 1 + 0.5 * std::log(0.9), 1e-6);
}

TEST(Folds, OnlyADifferenceBeyondItsStandardErrorExceedsLuck) {
  const std::vector<double> none(10, 0.0);
  std::vector<double> some = none;
  some[3] = 1;
  some[7] = -0.5;
  EXPECT_FALSE(ExceedsLuck(some, none)) << "0.05 +- 0.12";
  some[4] = some[5] = 1;
  EXPECT_TRUE(ExceedsLuck(some, none)) << "0.25 +- 0.17";
  EXPECT_FALSE(ExceedsLuck(none, some));
  EXPECT_FALSE(ExceedsLuck(none, none));
  EXPECT_FALSE(ExceedsLuck({1}, {0})) << "nothing is known of the error of one";
}

TEST(Folds, AJoinedResultHasTheStatesOfAllItsModelsAndWhatSeveralWarnOfOnce) {
  const NodeAttributes attributes = Sixty();
  const Folds folds = DealFolds(attributes, 1);
  std::vector<TrainResult> results(kFolds);
  for (int k = 0; k < kFolds; ++k) {
    results[k].logits = FiveOpinions()[k];
    results[k].state = {{"lin.weight", {1}, {static_cast<float>(k)}}};
    results[k].warnings = {k == 2 ? "of one fold" : "of all others"};
    results[k].best_epoch = 10 * k;
    results[k].deterministic = k != 3;
  }
  const TrainResult joined = JoinFolds(std::move(results), folds, attributes, false);
  ASSERT_EQ(joined.state.size(), 5u);
  EXPECT_EQ(joined.state[4].name, "fold5.lin.weight");
  EXPECT_EQ(joined.warnings, std::vector<std::string>{"of all others"});
  EXPECT_EQ(joined.best_epoch, 20);
  EXPECT_FALSE(joined.deterministic);
}

TEST(Folds, AreEmptyWithoutALabelledNode) {
  NodeAttributes attributes = Sixty();
  std::fill(attributes.labels.begin(), attributes.labels.end(), -1);
  EXPECT_TRUE(NodesOf(DealFolds(attributes, 1)).empty());
}

}  // namespace
}  // namespace blink
