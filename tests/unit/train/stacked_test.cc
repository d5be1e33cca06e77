#include "aggregator_server/train/stacked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "aggregator_server/train/log_probabilities.h"
#include "tests/testing/no_more_threads.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// A symmetric list of weighted pairs, with the same as a matrix.
struct Pairs {
  LinkWeights kept;
  std::vector<double> matrix;  // [n, n]

  Pairs(uint32_t n, uint64_t seed) : matrix(size_t{n} * n, 0.0) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> uniform(0.02f, 1.0f);
    std::vector<std::pair<NodeIndex, NodeIndex>> links;
    for (NodeIndex i = 0; i < n; ++i) {
      for (NodeIndex j = i + 1; j < n; ++j) {
        if (random() % 4 != 0) continue;
        links.emplace_back(i, j);
        matrix[i * n + j] = matrix[j * n + i] = uniform(random);
      }
    }
    kept = LinkWeights::Unweighted(CsrGraph::FromLinks(n, links).value());
    kept.weighted = true;
    for (NodeIndex i = 0; i < n; ++i) {
      for (const NodeIndex j : kept.links.NeighboursOf(i)) kept.values.push_back(static_cast<float>(matrix[i * n + j]));
    }
  }
};

struct Case {
  static constexpr uint32_t kNodes = 40, kClasses = 3;
  Pairs pairs{kNodes, 5};
  ClassProbabilities classes{.node_count = kNodes, .class_count = kClasses};
  std::vector<float> sums = std::vector<float>(kNodes * kClasses, 0.0f);
  NodeAttributes attributes{.node_count = kNodes, .class_count = kClasses};

  Case() {
    std::mt19937_64 random(9);
    for (uint32_t i = 0; i < kNodes; ++i) {
      attributes.labels.push_back(static_cast<int32_t>(i % kClasses));
      attributes.split.push_back(i % 4 < 2 ? Split::kTrain : i % 4 == 2 ? Split::kValidation : Split::kTest);
      std::vector<float> row;
      for (uint32_t c = 0; c < kClasses; ++c)
        row.push_back(0.1f + static_cast<float>(random() % 100) / 100 + (c == i % kClasses ? 1.0f : 0.0f));
      const float total = row[0] + row[1] + row[2];
      for (uint32_t c = 0; c < kClasses; ++c) {
        classes.open.push_back(row[c] / total);
        classes.clamped.push_back(attributes.split[i] == Split::kTrain ? (c == i % kClasses ? 1.0f : 0.0f)
                                                                       : row[c] / total);
      }
    }
    for (uint32_t i = 0; i < kNodes; ++i) {
      for (uint32_t j = 0; j < kNodes; ++j) {
        for (uint32_t c = 0; c < kClasses; ++c) {
          sums[i * kClasses + c] +=
              static_cast<float>(pairs.matrix[i * kNodes + j] * classes.clamped[j * kClasses + c]);
        }
      }
    }
  }
  StackedInput Input() const { return {&classes, &sums, &pairs.kept}; }
};

TEST(StackedFeatures, AreTheFormulaTermByTerm) {
  const Case data;
  const uint32_t n = Case::kNodes, classes = Case::kClasses;
  const std::vector<float> features = StackedFeatures(data.Input(), 2).value();
  ASSERT_EQ(features.size(), n * 5 * classes);
  const auto& P = data.pairs.matrix;
  for (uint32_t i = 0; i < n; ++i) {
    std::vector<double> first(classes), second(classes);
    for (uint32_t c = 0; c < classes; ++c) {
      for (uint32_t j = 0; j < n; ++j) {
        first[c] += P[i * n + j] * data.classes.clamped[j * classes + c];
        for (uint32_t k = 0; k < n; ++k) {  // over the ways i - j - k that do not lead back
          if (k != i) second[c] += P[i * n + j] * P[j * n + k] * data.classes.clamped[k * classes + c];
        }
      }
    }
    const double total_first = first[0] + first[1] + first[2] + 3e-2,
                 total_second = second[0] + second[1] + second[2] + 3e-2;
    for (uint32_t c = 0; c < classes; ++c) {
      const float* row = &features[i * 5 * classes];
      EXPECT_NEAR(row[c], std::log(data.classes.open[i * classes + c] + 1e-3), 1e-5);
      EXPECT_NEAR(row[classes + c], std::log((first[c] + 1e-2) / total_first), 1e-4);
      EXPECT_NEAR(row[2 * classes + c], std::log(first[c] + 1e-2), 1e-4);
      EXPECT_NEAR(row[3 * classes + c], std::log((second[c] + 1e-2) / total_second), 1e-4);
      EXPECT_NEAR(row[4 * classes + c], std::log(second[c] + 1e-2), 1e-4);
    }
  }
}

TEST(StackedFeatures, OfATrainingRowDoNotDependOnItsOwnLabel) {
  const Case before;
  Case after;
  const uint32_t classes = Case::kClasses;
  constexpr uint32_t kNode = 4;  // a training node
  std::rotate(&after.classes.clamped[kNode * classes], &after.classes.clamped[kNode * classes] + 1,
              &after.classes.clamped[kNode * classes] + classes);
  for (uint32_t i = 0; i < Case::kNodes; ++i) {
    for (uint32_t c = 0; c < classes; ++c) {
      after.sums[i * classes + c] += static_cast<float>(
          after.pairs.matrix[i * Case::kNodes + kNode] *
          (after.classes.clamped[kNode * classes + c] - before.classes.clamped[kNode * classes + c]));
    }
  }
  const std::vector<float> a = StackedFeatures(before.Input(), 1).value(),
                           b = StackedFeatures(after.Input(), 1).value();
  EXPECT_NE(a, b);
  for (uint32_t f = 0; f < 5 * classes; ++f)
    EXPECT_NEAR(a[kNode * 5 * classes + f], b[kNode * 5 * classes + f], 1e-4) << f;
}

TEST(StackedFeatures, OfWeightsThatHoldEveryPairAreThoseOfTheSamePairsListed) {
  const Case data;
  const uint32_t n = Case::kNodes;
  constexpr float kBackground = 0.03f;
  LinkWeights every = data.pairs.kept;  // a background and a list beyond it
  every.class_count = 1;
  every.class_of_node.assign(n, 0);
  every.background = {kBackground};
  std::vector<std::pair<NodeIndex, NodeIndex>> pairs;
  for (NodeIndex i = 0; i < n; ++i) {
    for (NodeIndex j = i + 1; j < n; ++j) pairs.emplace_back(i, j);
  }
  LinkWeights listed = LinkWeights::Unweighted(CsrGraph::FromLinks(n, pairs).value());
  listed.weighted = true;
  std::vector<float> sums(n * Case::kClasses, 0.0f);
  for (NodeIndex i = 0; i < n; ++i) {
    for (const NodeIndex j : listed.links.NeighboursOf(i)) {
      listed.values.push_back(static_cast<float>(data.pairs.matrix[i * n + j]) + kBackground);
      for (uint32_t c = 0; c < Case::kClasses; ++c)
        sums[i * Case::kClasses + c] += listed.values.back() * data.classes.clamped[j * Case::kClasses + c];
    }
  }
  const std::vector<float> of_listed = StackedFeatures({&data.classes, &sums, &listed}, 1).value();
  for (const int threads : {1, 3}) {
    const std::vector<float> of_every = StackedFeatures({.classes = &data.classes, .kept = &every}, threads).value();
    ASSERT_EQ(of_every.size(), of_listed.size());
    for (size_t k = 0; k < of_every.size(); ++k) EXPECT_NEAR(of_every[k], of_listed[k], 1e-4) << k;
    EXPECT_EQ(of_every, StackedFeatures({.classes = &data.classes, .kept = &every}, 1).value());
  }
}

TEST(StackedFeatures, AreTheSameWhereTheSystemStartsNoFurtherThreads) {
  Case data;
  data.pairs.kept.class_count = 1;
  data.pairs.kept.class_of_node.assign(Case::kNodes, 0);
  data.pairs.kept.background = {0.03f};
  const StackedInput input{.classes = &data.classes, .kept = &data.pairs.kept};
  const std::vector<float> expected = StackedFeatures(input, 1).value();
  const testing::NoMoreThreads limit;
  if (!limit.Holds()) GTEST_SKIP() << "the system starts threads all the same";
  EXPECT_EQ(StackedFeatures(input, 3).value(), expected);
}

TEST(StackedFeatures, RefuseWhatDoesNotFit) {
  Case data;
  data.sums.pop_back();
  EXPECT_EQ(StackedFeatures(data.Input(), 1).status().code(), kInvalid);
  Case background;
  background.pairs.kept.class_count = 1;
  EXPECT_THAT(std::string(StackedFeatures(background.Input(), 1).status().message()), HasSubstr("background"));
}

TEST(Stacked, LearnsAndSaysHowItsStateGivesItsLogits) {
  const Case data;
  const std::vector<float> features = StackedFeatures(data.Input(), 1).value();
  const TrainResult result = FitStacked(features, 15, data.attributes, {}).value();
  EXPECT_GT(result.validation_accuracy, 0.6);
  ASSERT_EQ(result.state.size(), 5u);
  const auto values = [&](const std::string& name) {
    for (const NamedValues& named : result.state) {
      if (named.name == name) return named.values;
    }
    return std::vector<float>();
  };
  const std::vector<float> weight = values("weight"), bias = values("bias"), mean = values("mean"),
                           scale = values("scale");
  std::vector<float> logits;
  for (uint32_t i = 0; i < Case::kNodes; ++i) {
    for (uint32_t c = 0; c < 3; ++c) {
      double score = bias[c];
      for (uint32_t f = 0; f < 15; ++f) score += (features[i * 15 + f] - mean[f]) * scale[f] * weight[c * 15 + f];
      logits.push_back(static_cast<float>(score));
    }
  }
  LogSoftmaxRows(logits, 3);
  for (size_t k = 0; k < logits.size(); ++k) EXPECT_NEAR(result.logits[k], logits[k], 1e-3);
}

TEST(Stacked, KeepsTheRidgeOfLowestValidationLoss) {
  const Case data;
  const std::vector<float> features = StackedFeatures(data.Input(), 1).value();
  const TrainResult chosen = FitStacked(features, 15, data.attributes, {}).value();
  for (const double ridge : {1e-4, 1e-3, 1e-2, 1e-1}) {
    const TrainResult one = FitStacked(features, 15, data.attributes, {.ridges = {ridge}}).value();
    EXPECT_LE(chosen.validation_loss, one.validation_loss + 1e-4) << ridge;
  }
}

TEST(Stacked, DoesNotLookAtTestLabelsAndIsTheSameOnAnyThreads) {
  Case data;
  const std::vector<float> features = StackedFeatures(data.Input(), 1).value();
  const TrainResult before = FitStacked(features, 15, data.attributes, {.threads = 1}).value();
  for (uint32_t i = 0; i < Case::kNodes; ++i) {
    if (data.attributes.split[i] == Split::kTest) data.attributes.labels[i] = -1;
  }
  EXPECT_EQ(FitStacked(features, 15, data.attributes, {.threads = 3})->logits, before.logits);
}

TEST(Stacked, GivesAClassThatNoTrainingNodeHasASmallProbability) {
  Case data;
  uint32_t train = 0;
  for (uint32_t i = 0; i < Case::kNodes; ++i) {
    if (data.attributes.split[i] != Split::kTrain) continue;
    if (data.attributes.labels[i] == 1) data.attributes.labels[i] = -1;
    train += data.attributes.labels[i] >= 0 ? 1 : 0;
  }
  const std::vector<float> features = StackedFeatures(data.Input(), 1).value();
  const TrainResult result = FitStacked(features, 15, data.attributes, {}).value();
  EXPECT_TRUE(std::isfinite(result.validation_loss));
  for (uint32_t i = 0; i < Case::kNodes; ++i) EXPECT_LE(std::exp(result.logits[i * 3 + 1]), 0.5 / train * 1.001) << i;
}

TEST(Stacked, LeavesAColumnThatDoesNotVaryAlone) {
  Case data;
  std::vector<float> features = StackedFeatures(data.Input(), 1).value();
  for (uint32_t i = 0; i < Case::kNodes; ++i) features[i * 15] = -1.9459f;
  const TrainResult result = FitStacked(features, 15, data.attributes, {}).value();
  for (const float logit : result.logits) ASSERT_TRUE(std::isfinite(logit));
  for (const NamedValues& named : result.state) {
    if (named.name == "scale") {
      EXPECT_EQ(named.values[0], 0);
    }
  }
}

TEST(Stacked, RefusesASplitWithoutLabelsAndSizesThatDoNotFit) {
  Case data;
  const std::vector<float> features = StackedFeatures(data.Input(), 1).value();
  EXPECT_EQ(FitStacked(features, 14, data.attributes, {}).status().code(), kInvalid);
  EXPECT_EQ(FitStacked(features, 15, data.attributes, {.ridges = {}}).status().code(), kInvalid);
  for (const Split split : {Split::kTrain, Split::kValidation}) {
    NodeAttributes without = data.attributes;
    for (uint32_t i = 0; i < Case::kNodes; ++i) {
      if (without.split[i] == split) without.labels[i] = -1;
    }
    EXPECT_EQ(FitStacked(features, 15, without, {}).status().code(), kInvalid) << SplitName(split);
  }
}

TEST(LogProbabilities, TheMeanIsOfProbabilitiesWhateverTheLogitsAreShiftedBy) {
  const std::vector<float> a = {5, 5 + std::log(3.0f)}, b = {std::log(0.5f), std::log(0.5f)};  // 1/4, 3/4; 1/2, 1/2
  const std::vector<float> mean = LogOfMeanProbabilities({&a, &b}, 2);
  EXPECT_NEAR(std::exp(mean[0]), 0.375, 1e-6);
  EXPECT_NEAR(std::exp(mean[1]), 0.625, 1e-6);
}

TEST(LogProbabilities, AProbabilityOfZeroIsANumber) {
  const std::vector<float> certain = {0, -2000};
  EXPECT_TRUE(std::isfinite(LogOfMeanProbabilities({&certain, &certain}, 2)[1]));
}

TEST(LogProbabilities, TheLossOfASplitWithoutLabelsIsNoNumber) {
  NodeAttributes attributes{
      .node_count = 2, .labels = {0, -1}, .split = {Split::kTrain, Split::kTest}, .class_count = 2};
  const std::vector<float> logs = {std::log(0.25f), std::log(0.75f), 0, 0};
  EXPECT_NEAR(CrossEntropy(logs, attributes, Split::kTrain, {}), std::log(4.0), 1e-6);
  EXPECT_TRUE(std::isnan(CrossEntropy(logs, attributes, Split::kTest, {})));
  EXPECT_TRUE(std::isnan(ResultOfLogProbabilities(logs, attributes, false).test_accuracy));
}

}  // namespace
}  // namespace blink
