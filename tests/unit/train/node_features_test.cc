#include "aggregator_server/train/node_features.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "aggregator_server/train/data_warnings.h"
#include "aggregator_server/train/epoch_text.h"
#include "aggregator_server/train/evaluation.h"

namespace blink {
namespace {

// A star around node 0 of 5 nodes, node 4 isolated.
LinkWeights Star() { return LinkWeights::Unweighted(CsrGraph::FromLinks(5, {{0, 1}, {0, 2}, {0, 3}}).value()); }

NodeAttributes Attributes(FeatureMatrix features) {
  NodeAttributes attributes;
  attributes.node_count = 5;
  attributes.features = std::move(features);
  attributes.labels = {0, 1, 0, 1, -1};
  attributes.split = {Split::kTest, Split::kTest, Split::kTest, Split::kTest, Split::kTest};
  attributes.class_count = 3;
  return attributes;
}

TEST(NodeFeatures, DegreesAreALogarithmAndABin) {
  const FeatureMatrix x =
      MakeNodeFeatures(Star(), Attributes({.rows = 5}), NodeFeatures::kDegree, Model::kGcn, 1).value();
  EXPECT_EQ(x.cols, 4u);  // the logarithm; degree 0; 1 and 2; 3 to 6
  EXPECT_EQ(x.columns, (std::vector<int32_t>{0, 3, 0, 2, 0, 2, 0, 2, 0, 1}));
  EXPECT_FLOAT_EQ(x.values[0], static_cast<float>(std::log(4.0) / std::log(5.0)));
  EXPECT_EQ(x.values[1], 1);
  EXPECT_EQ(x.values[8], 0);
}

TEST(NodeFeatures, WhatStandsForNoneDependsOnTheNumberOfNodes) {
  NodeAttributes attributes = Attributes({.rows = 5, .cols = 1, .values = {1, 2, 3, 4, 5}});
  EXPECT_EQ(ResolveNodeFeatures(NodeFeatures::kAuto, attributes), NodeFeatures::kGiven);
  attributes.features = {};
  EXPECT_EQ(ResolveNodeFeatures(NodeFeatures::kAuto, attributes), NodeFeatures::kIdentity);
  attributes.node_count = kIdentityNodesMax + 1;
  EXPECT_EQ(ResolveNodeFeatures(NodeFeatures::kAuto, attributes), NodeFeatures::kDegree);
  EXPECT_EQ(ResolveNodeFeatures(NodeFeatures::kIdentity, attributes), NodeFeatures::kIdentity) << "asked for";
}

TEST(NodeFeatures, IdentityIsSparse) {
  const FeatureMatrix x =
      MakeNodeFeatures(Star(), Attributes({.rows = 5}), NodeFeatures::kIdentity, Model::kMlp, 1).value();
  EXPECT_EQ(x.columns, (std::vector<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(x.values.size(), 5u);
}

TEST(NodeFeatures, GivenAndDegreeJoinsSparseAndDense) {
  const FeatureMatrix dense{.rows = 5, .cols = 1, .values = {0, 2, 4, 8, 1}};
  FeatureMatrix x = MakeNodeFeatures(Star(), Attributes(dense), NodeFeatures::kGivenAndDegree, Model::kGcn, 1).value();
  EXPECT_FALSE(x.sparse);
  EXPECT_EQ(x.cols, 5u);
  EXPECT_EQ(x.values[5], 1);      // 2 / 2: normalised
  EXPECT_EQ(x.values[5 + 3], 1);  // degree 1
  const FeatureMatrix sparse{
      .rows = 5, .cols = 7, .sparse = true, .row_offsets = {0, 1, 1, 1, 1, 1}, .columns = {6}, .values = {3}};
  x = MakeNodeFeatures(Star(), Attributes(sparse), NodeFeatures::kGivenAndDegree, Model::kGcn, 1).value();
  EXPECT_TRUE(x.sparse);
  EXPECT_EQ(x.cols, 11u);
  EXPECT_EQ(std::vector<int32_t>(x.columns.begin(), x.columns.begin() + 3), (std::vector<int32_t>{6, 7, 10}));
}

TEST(NodeFeatures, GivenOnesThatAreNotThereAreRefused) {
  for (const NodeFeatures kind : {NodeFeatures::kGiven, NodeFeatures::kGivenAndDegree}) {
    EXPECT_EQ(MakeNodeFeatures(Star(), Attributes({.rows = 5}), kind, Model::kGcn, 1).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(NodeFeatures, ADegreeForTheMlpIsRefused) {
  const auto refused = MakeNodeFeatures(Star(), Attributes({.rows = 5}), NodeFeatures::kDegree, Model::kMlp, 1);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), ::testing::HasSubstr("identity"));
}

TEST(NodeFeatures, ASpanBeyondFloat32IsRefusedAndAsLargeAOneIsNot) {
  const auto made = [](FeatureMatrix features) {
    return MakeNodeFeatures(Star(), Attributes(std::move(features)), NodeFeatures::kGiven, Model::kGcn, 1).status();
  };
  EXPECT_TRUE(made({.rows = 5, .cols = 1, .values = {0, 3e38f, 1, 1, 1}}).ok());
  EXPECT_TRUE(made({.rows = 5, .cols = 1, .values = {3e38f, 3e38f, 3e38f, 3e38f, 3e38f}}).ok());
  const absl::Status refused = made({.rows = 5, .cols = 1, .values = {-3e38f, 3e38f, 1, 1, 1}});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr("span -3e+38 to 3e+38"));
}

// What a person is told of their data.

std::vector<std::string> WarningsOf(const NodeAttributes& attributes, TrainOptions options = {}) {
  return DataWarnings(Star(), attributes, options, ResolveNodeFeatures(options.node_features, attributes));
}

NodeAttributes Trained(FeatureMatrix features) {
  NodeAttributes attributes = Attributes(std::move(features));
  attributes.class_count = 2;
  for (Split& split : attributes.split) split = Split::kTrain;
  return attributes;
}

TEST(DataWarnings, CountRowsAndColumnsThatAreZero) {
  const FeatureMatrix dense{.rows = 5, .cols = 2, .values = {0, 0, 1, 0, 2, 0, 0, 0, 1, 0}};
  const FeatureMatrix sparse{.rows = 5,
                             .cols = 2,
                             .sparse = true,
                             .row_offsets = {0, 1, 2, 3, 3, 4},
                             .columns = {1, 0, 0, 0},
                             .values = {0, 1, 2, 1}};
  for (const FeatureMatrix& features : {dense, sparse}) {
    const auto warnings = WarningsOf(Trained(features));
    EXPECT_THAT(warnings, ::testing::Contains(::testing::HasSubstr("2 of 5 nodes have no feature that is not zero")));
    EXPECT_THAT(warnings, ::testing::Contains(::testing::HasSubstr("1 of 2 features are zero for every node")));
  }
}

TEST(DataWarnings, AreSilentAboutSoundData) {
  NodeAttributes attributes = Trained({.rows = 5, .cols = 1, .values = {1, 2, 3, 4, 5}});
  attributes.labels[4] = 0;
  EXPECT_THAT(WarningsOf(attributes), ::testing::ElementsAre(::testing::HasSubstr("have no link")))
      << "node 4 of the star";
}

TEST(DataWarnings, AskWhetherLabelsAreIds) {
  NodeAttributes attributes = Trained({.rows = 5, .cols = 1, .values = {1, 2, 3, 4, 5}});
  attributes.class_count = 5000;
  attributes.labels[0] = 4999;
  EXPECT_THAT(WarningsOf(attributes),
              ::testing::Contains(::testing::HasSubstr("5000 classes and 4 nodes to learn them from")));
}

TEST(DataWarnings, NameTheClassesThatAreNotTrained) {
  NodeAttributes attributes = Trained({.rows = 5, .cols = 1, .values = {1, 2, 3, 4, 5}});
  attributes.split[1] = attributes.split[3] = Split::kTest;
  EXPECT_THAT(WarningsOf(attributes),
              ::testing::Contains(::testing::HasSubstr("class 1 without a labelled node in the training split")));
  attributes.class_names = {"red", "green"};
  EXPECT_THAT(WarningsOf(attributes), ::testing::Contains(::testing::HasSubstr("class 1 (green)")));
}

TEST(DataWarnings, NameWhatStandsForFeaturesThatAreNotThere) {
  NodeAttributes attributes = Trained({.rows = 5});
  EXPECT_THAT(WarningsOf(attributes), ::testing::Contains(::testing::HasSubstr("(identity) stands for them")));
  EXPECT_THAT(DataWarnings(Star(), attributes, {}, NodeFeatures::kDegree),
              ::testing::Contains(::testing::HasSubstr("one feature per node (identity) is usually better")));
  TrainOptions chosen;
  chosen.node_features = NodeFeatures::kDegree;
  EXPECT_THAT(WarningsOf(attributes, chosen), ::testing::Not(::testing::Contains(::testing::HasSubstr("identity"))));
}

TEST(OneClassWarning, NamesTheClassThatIsPredictedForEveryNode) {
  NodeAttributes attributes = Attributes({.rows = 5});
  attributes.class_names = {"no", "yes", "perhaps"};
  TrainResult result;
  result.test = EvaluateSplit({1, 1, 1, 1, 0}, attributes, Split::kTest);
  EXPECT_THAT(
      OneClassWarning(result, attributes).value_or(""),
      ::testing::AllOf(::testing::HasSubstr("class 1 (yes) for every test node"), ::testing::HasSubstr("50.0 %")));
  result.validation = result.test;
  result.test = EvaluateSplit({1, 1, 1, 1, 0}, attributes, Split::kTrain);  // empty
  EXPECT_THAT(OneClassWarning(result, attributes).value_or(""), ::testing::HasSubstr("every validation node"));
}

TEST(OneClassWarning, IsNotGivenOfTwoClassesOfNoNodesAndWhereThereIsOneClassAtAll) {
  NodeAttributes attributes = Attributes({.rows = 5});
  TrainResult result;
  EXPECT_FALSE(OneClassWarning(result, attributes).has_value());
  result.test = EvaluateSplit({1, 1, 0, 1, 0}, attributes, Split::kTest);
  EXPECT_FALSE(OneClassWarning(result, attributes).has_value());
  attributes.class_count = 1;
  attributes.labels = {0, 0, 0, 0, 0};
  result.test = EvaluateSplit({0, 0, 0, 0, 0}, attributes, Split::kTest);
  EXPECT_FALSE(OneClassWarning(result, attributes).has_value());
}

TEST(Evaluation, FiguresAreThoseOfTheFormulas) {
  const NodeAttributes attributes = Attributes({});
  const std::vector<int32_t> predictions = {0, 0, 2, 1, 2};  // of labels 0 1 0 1 and none
  const SplitFigures figures = EvaluateSplit(predictions, attributes, Split::kTest);
  EXPECT_EQ(figures.nodes, 4u);
  EXPECT_DOUBLE_EQ(figures.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(figures.classes[0].F1(), 0.5);
  EXPECT_DOUBLE_EQ(figures.classes[1].F1(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(figures.classes[2].F1(), 0);
  EXPECT_TRUE(std::isnan(figures.classes[2].Recall()));
  EXPECT_DOUBLE_EQ(figures.macro_f1, (0.5 + 2.0 / 3) / 3);
  EXPECT_EQ(ConfusionMatrix(predictions, attributes, Split::kTest), (std::vector<uint32_t>{1, 0, 1, 1, 1, 0, 0, 0, 0}));
}

TEST(Evaluation, AnEmptySplitHasNoFigures) {
  const SplitFigures figures = EvaluateSplit({0, 0, 0, 0, 0}, Attributes({}), Split::kTrain);
  EXPECT_TRUE(std::isnan(figures.accuracy));
  EXPECT_TRUE(std::isnan(figures.macro_f1));
  EXPECT_TRUE(std::isnan(WilsonInterval(figures.accuracy, figures.nodes).first));
}

TEST(Evaluation, WilsonIntervalIsThePublishedOne) {
  const auto [low, high] = WilsonInterval(0.8, 100);  // statsmodels: proportion_confint(80, 100, method="wilson")
  EXPECT_NEAR(low, 0.711171, 1e-6);
  EXPECT_NEAR(high, 0.866633, 1e-6);
  EXPECT_EQ(WilsonInterval(1, 5).second, 1);
}

TEST(EpochText, TellsTheTimeLeftOnceItCanBeKnown) {
  EpochText text(300);
  const absl::Time start = absl::FromUnixSeconds(1000);
  EXPECT_EQ(text.At(20, start), "epoch 20 of 300");
  EXPECT_EQ(text.At(120, start + absl::Seconds(10)), "epoch 120 of 300, 18 s left");
  EXPECT_EQ(text.At(220, start + absl::Seconds(2000)), "epoch 220 of 300, 14 min left");
  EXPECT_EQ(text.At(300, start + absl::Seconds(3000)), "epoch 300 of 300");
}

}  // namespace
}  // namespace blink
