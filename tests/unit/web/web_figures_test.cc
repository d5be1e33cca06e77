// What the page computes: sentences about privacy, figures of a result, histograms and curves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "aggregator_server/web/artifact_series.h"
#include "aggregator_server/web/privacy_words.h"
#include "aggregator_server/web/result_json.h"
#include "common/wire/artifact_digests.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Json WordsOf(Mechanism mechanism, uint64_t epsilon_micro = 1'000'000, uint32_t share_ppm = 100'000) {
  return PrivacyWords(*PrivacyParameters::Create(epsilon_micro, share_ppm, 101, mechanism));
}

TEST(PrivacyWordsTest, ALinkCostsTwiceWhatAnEntryCostsIfBothEndsReportIt) {
  const Json words = WordsOf(Mechanism::kBothEnds);
  EXPECT_NEAR(words["costs"][0]["epsilon"].get<double>(), 1, 1e-6);
  EXPECT_NEAR(words["costs"][1]["epsilon"].get<double>(), 2, 1e-6);
  EXPECT_THAT(words["costs"][0]["words"].get<std::string>(), HasSubstr("a factor of at most 2.72."));
  EXPECT_THAT(words["costs"][1]["words"].get<std::string>(), AllOf(HasSubstr("twice as much"), HasSubstr("7.39.")));
}

TEST(PrivacyWordsTest, ALinkCostsWhatAnEntryCostsIfOneEndReportsIt) {
  const Json words = WordsOf(Mechanism::kOneEnd);
  EXPECT_NEAR(words["costs"][1]["epsilon"].get<double>(), 1, 1e-6);
  EXPECT_THAT(words["costs"][1]["words"].get<std::string>(),
              AllOf(HasSubstr("only one of its ends"), Not(HasSubstr("twice"))));
  EXPECT_THAT(words["noise"][0].get<std::string>(), HasSubstr("about 50 other nodes"));
}

TEST(PrivacyWordsTest, AWholeListHasNoNumber) {
  EXPECT_TRUE(WordsOf(Mechanism::kBothEnds)["costs"][2]["epsilon"].is_null());
}

TEST(PrivacyWordsTest, SaysWhatTheDegreeShareLeavesOut) {
  EXPECT_THAT(TextOf(WordsOf(Mechanism::kBothEnds, 1'000'000, 0)["noise"]), HasSubstr("length of a list is not"));
  EXPECT_THAT(TextOf(WordsOf(Mechanism::kBothEnds, 1'000'000, 1'000'000)["noise"]), HasSubstr("no entry of a list"));
}

TEST(PrivacyWordsTest, AGroupRoundHasNoiseOnEachNumber) {
  const Json words = PrivacyWords(testing::MakeGroupParameters(20, 4));
  EXPECT_THAT(words["noise"][0].get<std::string>(), HasSubstr("each of 4 groups"));
  EXPECT_EQ(words["costs"][1]["epsilon"], 12);
}

TEST(PrivacyWordsTest, TheLargestBudgetNeedsNoInfiniteNumber) {
  const std::string text = TextOf(WordsOf(Mechanism::kBothEnds, 50'000'000));
  EXPECT_THAT(text, AllOf(HasSubstr("more than a million"), HasSubstr("more than 99.99 %")));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("inf")), Not(HasSubstr("nan"))));
}

TEST(PrivacyWordsTest, TheChanceAfterIsBayesWithTheFactorOfTheOdds) {
  for (const double before : {0.001, 0.01, 0.5}) {
    for (const double epsilon : {0.1, 1.0, 8.0}) {
      const double odds = before / (1 - before) * std::exp(epsilon);
      EXPECT_NEAR(ChanceAfter(before, epsilon), odds / (1 + odds), 1e-12);
    }
  }
  EXPECT_EQ(ChanceAfter(0.01, 1000), 1);
}

// The sum over the discrete Laplace distribution itself.
TEST(PrivacyWordsTest, TheNoiseStaysWithinItsBoundInNinetyFiveOfHundred) {
  for (const double epsilon : {0.05, 0.1, 0.6, 1.0, 5.0, 20.0}) {
    const double q = std::exp(-epsilon), zero = (1 - q) / (1 + q);
    double within = zero;
    uint64_t k = 0;
    while (within < 0.95) within += 2 * zero * std::pow(q, static_cast<double>(++k));
    EXPECT_EQ(DegreeNoise95(epsilon), k) << epsilon;
  }
}

Json Trained() {
  return Json::parse(R"({"train": {"model": "gcn", "prior": "beta", "variant": "hard", "validation_accuracy": 0.8,
      "test_accuracy": 0.7, "test_accuracy_95": [0.6, 0.8]}, "classes": {"test": [], "confusion": [[1, 2], [3, 4]]},
      "plausibility": {"tested": 5, "flagged": 1}})");
}

TEST(ResultJsonTest, SaysHowToGetAFigureOfTheFeaturesAloneIfThereIsNone) {
  const Json accuracy = ResultJson(Trained())["accuracy"];
  EXPECT_TRUE(accuracy["features_only"].is_null());
  EXPECT_THAT(accuracy["advice"].get<std::string>(), AllOf(HasSubstr("--tune"), HasSubstr("--model mlp")));
}

TEST(ResultJsonTest, ComparesWithTheFeaturesAlone) {
  Json metrics = Trained();
  metrics["train"]["features_only"] = {{"name", "mlp"}, {"validation_accuracy", 0.75}};
  EXPECT_THAT(ResultJson(metrics)["accuracy"]["advice"].get<std::string>(), HasSubstr("validates better"));
  metrics["train"]["features_only"]["validation_accuracy"] = 0.8;
  EXPECT_THAT(ResultJson(metrics)["accuracy"]["advice"].get<std::string>(), HasSubstr("does not validate better"));
}

TEST(ResultJsonTest, AModelOfTheFeaturesAloneIsNotComparedWithItself) {
  Json metrics = Trained();
  metrics["train"]["model"] = "mlp";
  EXPECT_THAT(ResultJson(metrics)["accuracy"]["advice"].get<std::string>(), HasSubstr("no report"));
}

TEST(ResultJsonTest, RefusesNothingThatAnotherVersionMayHaveWritten) {
  for (const char* text : {"{}", "[]", "3", R"({"train": 3, "classes": []})", R"({"train": {"model": [1]}})",
                           R"({"train": {"candidates": {"a": 1}, "features_only": 3}})"}) {
    const Json metrics = Json::parse(text);
    EXPECT_FALSE(TextOf(ResultJson(metrics)).empty()) << text;
    EXPECT_EQ(ConfusionJson(metrics).status().code(), absl::StatusCode::kNotFound) << text;
    EXPECT_EQ(PlausibilityFiguresJson(metrics).status().code(), absl::StatusCode::kNotFound) << text;
  }
}

TEST(ResultJsonTest, RefusesAMatrixOfTooManyClasses) {
  Json metrics = Trained();
  EXPECT_TRUE(ConfusionJson(metrics).ok());
  metrics["classes"]["confusion"] = Json::array();
  EXPECT_THAT(std::string(ConfusionJson(metrics).status().message()), HasSubstr("predictions.csv"));
}

TEST(DegreesJsonTest, CountsEveryValueOnce) {
  std::vector<float> noisy, estimated;
  for (int k = -40; k < 160; ++k) noisy.push_back(static_cast<float>(k));
  for (int k = 0; k < 50; ++k) estimated.push_back(static_cast<float>(k) / 3);
  const Json json = DegreesJson(noisy, estimated);
  EXPECT_LE(json["bins"].get<size_t>(), kDegreeBinsMax);
  for (const char* name : {"noisy", "estimated"}) {
    uint64_t sum = json[name]["below"].get<uint64_t>() + json[name]["above"].get<uint64_t>();
    for (const auto& count : json[name]["counts"]) sum += count.get<uint64_t>();
    EXPECT_EQ(sum, json[name]["total"].get<uint64_t>()) << name;
  }
}

TEST(DegreesJsonTest, DrawsEqualValuesNoValuesAndWildNoise) {
  EXPECT_EQ(DegreesJson(std::vector<float>(10, 3), std::nullopt)["noisy"]["total"], 10);
  EXPECT_TRUE(DegreesJson(std::nullopt, std::nullopt)["noisy"].is_null());
  EXPECT_EQ(DegreesJson(std::vector<float>{}, std::vector<float>{})["estimated"]["total"], 0);
  const Json wild = DegreesJson(std::vector<float>{-1e18F, -1e12F, 0, 1e12F, 9e18F}, std::vector<float>{1, 2, 3});
  EXPECT_LE(wild["bins"].get<size_t>(), kDegreeBinsMax + 1);
}

class SeriesTest : public testing::FolderTest {
 protected:
  void WriteCurves(size_t epochs) {
    std::string csv = "epoch,train_loss,validation_loss,validation_accuracy\n";
    for (size_t k = 1; k <= epochs; ++k) absl::StrAppend(&csv, k, ",", 1.0 / k, ",nan,0.5\n");
    Write("curves.csv", csv);
    Seal();
  }
  void Seal() { Write("metrics.json", SealMetrics({{"files", *DigestArtifacts(folder_)}})); }
};

TEST_F(SeriesTest, KeepsTheFirstAndTheLastOfManyEpochs) {
  WriteCurves(5000);
  const auto curves = CurvesJson(folder_);
  ASSERT_TRUE(curves.ok()) << curves.status();
  EXPECT_EQ((*curves)["points"].size(), kCurvePointsMax);
  EXPECT_EQ((*curves)["points"].front()[0], 1);
  EXPECT_EQ((*curves)["points"].back()[0], 5000);
  EXPECT_TRUE((*curves)["points"].front()[2].is_null()) << "NaN is no number of JSON";
}

TEST_F(SeriesTest, AModelWithoutEpochsHasNoPoint) {
  WriteCurves(0);
  EXPECT_EQ((*CurvesJson(folder_))["points"].size(), 0u);
}

TEST_F(SeriesTest, RefusesAFileThatWasChanged) {
  WriteCurves(10);
  Write("curves.csv", "epoch,train_loss,validation_loss,validation_accuracy\n1,2,3,4\n");
  EXPECT_EQ(CurvesJson(folder_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SeriesTest, RefusesFilesOfAnotherForm) {
  for (const char* text : {"", "epoch\n1\n", "epoch,train_loss,validation_loss,validation_accuracy\n1,2,3\n",
                           "epoch,train_loss,validation_loss,validation_accuracy\n1,2,3,x\n",
                           "epoch,train_loss,validation_loss,validation_accuracy\n1,2,3,4"}) {
    Write("curves.csv", text);
    Seal();
    EXPECT_EQ(CurvesJson(folder_).status().code(), absl::StatusCode::kDataLoss) << text;
  }
  Write("curves.csv", std::string(100'000, 'x'));
  Seal();
  EXPECT_EQ(CurvesJson(folder_).status().code(), absl::StatusCode::kDataLoss) << "a line without an end";
}

TEST_F(SeriesTest, RefusesWhatIsNotThere) {
  EXPECT_EQ(CurvesJson(folder_).status().code(), absl::StatusCode::kDataLoss) << "there is no metrics.json";
  Seal();
  EXPECT_EQ(CurvesJson(folder_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SeriesTest, ReadsDegreesWithAndWithoutIds) {
  Write("degrees.csv", "node,degree,deviation,id\n0,1.5,0.2,\"a,b\"\n1,2.5,0.1,c\n");
  Seal();
  EXPECT_THAT(*ReadEstimatedDegrees(folder_), ::testing::ElementsAre(1.5F, 2.5F));
  Write("degrees.csv", "node,degree,deviation\n0,nan,0.2\n");
  Seal();
  EXPECT_EQ(ReadEstimatedDegrees(folder_).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace blink
