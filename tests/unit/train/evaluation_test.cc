#include "aggregator_server/train/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace blink {
namespace {

NodeAttributes Labelled(std::vector<int32_t> labels, uint32_t classes) {
  NodeAttributes attributes;
  attributes.node_count = static_cast<uint32_t>(labels.size());
  attributes.class_count = classes;
  attributes.split.assign(labels.size(), Split::kTest);
  attributes.labels = std::move(labels);
  return attributes;
}

// The slow twin: all pairs of a node of the class and one of another, by the probability of the class.
double SlowRocAuc(const std::vector<float>& logits, const NodeAttributes& attributes) {
  const size_t classes = attributes.class_count;
  const auto probability = [&](size_t node, size_t c) {
    double sum = 0;
    for (size_t k = 0; k < classes; ++k) sum += std::exp(double{logits[node * classes + k]});
    return std::exp(double{logits[node * classes + c]}) / sum;
  };
  double total = 0;
  int defined = 0;
  for (size_t c = 0; c < classes; ++c) {
    double won = 0, pairs = 0;
    for (size_t i = 0; i < attributes.labels.size(); ++i) {
      for (size_t j = 0; j < attributes.labels.size(); ++j) {
        const int32_t of_i = attributes.labels[i], of_j = attributes.labels[j];
        if (of_i != static_cast<int32_t>(c) || of_j < 0 || of_j == of_i) continue;
        const double difference = probability(i, c) - probability(j, c);
        won += difference > 1e-12 ? 1 : difference > -1e-12 ? 0.5 : 0;
        ++pairs;
      }
    }
    if (pairs == 0) continue;
    total += won / pairs;
    ++defined;
  }
  return defined == 0 ? std::nan("") : total / defined;
}

TEST(RocAuc, IsTheOneOfScikitLearn) {
  // roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]) of its manual.
  std::vector<float> logits;
  for (const double p : {0.1, 0.4, 0.35, 0.8}) {
    logits.push_back(0);
    logits.push_back(static_cast<float>(std::log(p / (1 - p))));
  }
  EXPECT_DOUBLE_EQ(RocAuc(logits, Labelled({0, 0, 1, 1}, 2), Split::kTest), 0.75);
  // scikit-learn 1.9.1: roc_auc_score(labels, softmax(logits), multi_class="ovr", average="macro")
  const std::vector<float> three = {2, 1, 0, 1, 1, 0, 0, 2, 1, 1, 0, 1, 0, 0, 3, 1, 1, 1, 0, 1, 0, 2, 0, 2};
  EXPECT_NEAR(RocAuc(three, Labelled({0, 1, 1, 0, 2, 2, 0, 2}, 3), Split::kTest), 0.85, 1e-12);
}

TEST(RocAuc, IsTheShareOfPairsInOrderWithTiesAndClassesThatAreAbsent) {
  std::mt19937 random(3);
  for (const uint32_t classes : {2u, 3u, 6u}) {
    for (int repetition = 0; repetition < 20; ++repetition) {
      std::vector<int32_t> labels;
      std::vector<float> logits;
      for (int node = 0; node < 40; ++node) {
        labels.push_back(static_cast<int32_t>(random() % (classes + 1)) - 1);
        if (classes > 2 && labels.back() == 1) labels.back() = -1;  // a class that the split lacks
        for (uint32_t c = 0; c < classes; ++c) logits.push_back(static_cast<float>(random() % 4));
      }
      const NodeAttributes attributes = Labelled(labels, classes);
      EXPECT_NEAR(RocAuc(logits, attributes, Split::kTest), SlowRocAuc(logits, attributes), 1e-9);
    }
  }
}

TEST(RocAuc, TellsNodesApartWhoseProbabilityIsRoundedToOne) {
  const std::vector<float> logits = {0, 60, 0, 50, 0, 40, 0, 30};
  EXPECT_EQ(RocAuc(logits, Labelled({1, 1, 0, 0}, 2), Split::kTest), 1);
}

TEST(RocAuc, OfAModelThatSaysTheSameOfAllIsAHalf) {
  EXPECT_EQ(RocAuc({1, 2, 1, 2, 1, 2, 1, 2}, Labelled({1, 1, 1, 0}, 2), Split::kTest), 0.5);
}

TEST(RocAuc, IsUndefinedForOneClassAnEmptySplitOrNoSecondClass) {
  EXPECT_TRUE(std::isnan(RocAuc({1, 2, 3, 4}, Labelled({1, 1}, 2), Split::kTest)));
  EXPECT_TRUE(std::isnan(RocAuc({1, 2, 3, 4}, Labelled({1, 0}, 2), Split::kTrain)));
  EXPECT_TRUE(std::isnan(RocAuc({1, 2}, Labelled({0, 0}, 1), Split::kTest)));
  EXPECT_TRUE(std::isnan(RocAuc({}, Labelled({}, 2), Split::kTest)));
}

TEST(RocAuc, OfLogitsThatAreNoNumbersIsANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {0, 1, nan, nan, infinity, 0, 0, infinity, -infinity, -infinity, 1, nan};
  const double area = RocAuc(logits, Labelled({0, 1, 0, 1, 0, 1}, 2), Split::kTest);
  EXPECT_GE(area, 0);
  EXPECT_LE(area, 1);
}

TEST(RocAuc, IsLeftOutWhereItWouldTakeTooLong) {
  const NodeAttributes few = Labelled({0, 1}, 100'000'000);
  EXPECT_TRUE(std::isnan(RocAuc({}, few, Split::kTest)));
}

TEST(SplitFigures, HoldWhatASearchMayChooseBy) {
  const SplitFigures figures{.accuracy = 0.5, .macro_f1 = 0.25, .roc_auc = 0.75};
  EXPECT_EQ(figures.Of(Measure::kAccuracy), 0.5);
  EXPECT_EQ(figures.Of(Measure::kMacroF1), 0.25);
  EXPECT_EQ(figures.Of(Measure::kRocAuc), 0.75);
}

TEST(MacroF1, OfAModelThatPredictsOneClassIsThatOfScikitLearn) {
  // f1_score([0, 0, 0, 1], [0, 0, 0, 0], average="macro")
  const SplitFigures figures = EvaluateSplit({0, 0, 0, 0}, Labelled({0, 0, 0, 1}, 2), Split::kTest);
  EXPECT_DOUBLE_EQ(figures.macro_f1, 3.0 / 7);
  EXPECT_EQ(figures.accuracy, 0.75);
}

}  // namespace
}  // namespace blink
