#include "aggregator_server/analysis/analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "common/base/durable_file.h"
#include "tests/unit/analysis/small_round.h"

namespace blink {
namespace {

using AnalysisTest = testing::SmallRound;

size_t Lines(const std::string& path) {
  const std::string text = ReadFile(path, 1 << 24).value();
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_F(AnalysisTest, EstimatesAndTrainsAndTellsItsProgress) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  std::vector<std::pair<Stage, double>> steps;
  AnalysisOptions options;
  options.progress = [&](Stage stage, double fraction, const std::string&) { steps.emplace_back(stage, fraction); };
  const auto analysis = Analyse(round.reports, data_.attributes, round.round.training(), options);
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_EQ(analysis->estimate.links.node_count(), 200u);
  EXPECT_EQ(analysis->estimate.nodes_without_report, 20u);
  EXPECT_EQ(analysis->training.predictions.size(), 200u);
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end())) << "stages and fractions only grow";
  EXPECT_EQ(steps.back(), std::make_pair(Stage::kTraining, 1.0));
}

TEST_F(AnalysisTest, WritesAWholeResultFolder) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  const Analysis analysis = Analyse(round.reports, data_.attributes, round.round.training(), {}).value();
  const std::string out = folder_ + "/result";
  ASSERT_TRUE(WriteResultFolder(out, parameters_, 180, analysis, data_.attributes, round.round.training()).ok());
  EXPECT_EQ(Lines(out + "/predictions.csv"), 201u);
  EXPECT_EQ(Lines(out + "/curves.csv"), 21u);
  EXPECT_EQ(Lines(out + "/links.csv"), analysis.estimate.links.link_count() + 1);
  EXPECT_EQ(ReadFile(out + "/model.pt", 1 << 24).value(), analysis.training.model_bytes);
  const auto metrics = nlohmann::json::parse(ReadFile(out + "/metrics.json", 1 << 20).value());
  EXPECT_EQ(metrics["privacy"]["epsilon"], 6.0);
  EXPECT_EQ(metrics["privacy"]["degree_share"], 0.1);
  EXPECT_LE(metrics["privacy"]["achieved_epsilon"].get<double>(), 6.0);
  EXPECT_EQ(metrics["reports"]["received"], 180);
  EXPECT_EQ(metrics["reports"]["missing"], 20);
  EXPECT_EQ(metrics["train"]["seed"], 7);
  EXPECT_EQ(metrics["train"]["weight_decay"], 0.0);  // asked for, not the default
  EXPECT_EQ(metrics["train"]["device"], "cpu");
  EXPECT_EQ(metrics["train"]["test_accuracy"], analysis.training.test_accuracy);
  EXPECT_FALSE(metrics["estimate"].contains("mae")) << "an aggregator cannot know it";
}

TEST_F(AnalysisTest, RefusesAttributesOfAnotherSize) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  NodeAttributes attributes = data_.attributes;
  attributes.node_count = 199;
  const auto analysis = Analyse(round.reports, attributes, round.round.training(), {});
  EXPECT_EQ(analysis.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(analysis.status().message()), ::testing::HasSubstr("199"));
}

TEST_F(AnalysisTest, RefusesATrainingSpecOutOfRange) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  v1::TrainingSpec spec = testing::SmallSpec();
  spec.set_dropout(1.0);
  EXPECT_EQ(Analyse(round.reports, data_.attributes, spec, {}).status().code(), absl::StatusCode::kInvalidArgument);
  spec = testing::SmallSpec();
  spec.set_learning_rate(std::nan(""));
  EXPECT_EQ(Analyse(round.reports, data_.attributes, spec, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace blink
