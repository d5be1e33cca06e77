// The means over trials, against values that were computed by hand.
#include "tools/simulate/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tools/simulate/json_report.h"
#include "tools/simulate/text_report.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

EstimateFigures TrialFigures(double links, double true_positives, double mae) {
  EstimateFigures figures;
  figures.links.expected_links = links + 0.5;
  figures.links.links = links;
  figures.links.true_positives = true_positives;
  figures.links.mae = mae;
  figures.mle_residual = mae / 1000;
  figures.trained_links = links;
  figures.trained_precision = 0.5;
  return figures;
}

TEST(MeanOf, TakesMeansOfFiguresAndSharesOfAllTrialsTogether) {
  const EstimateFigures mean = MeanOf({TrialFigures(10, 5, 0.1), TrialFigures(40, 10, 0.3)}, 20);
  EXPECT_DOUBLE_EQ(mean.links.expected_links, 25.5);
  EXPECT_DOUBLE_EQ(mean.links.links, 25);
  EXPECT_DOUBLE_EQ(mean.links.true_positives, 7.5);
  EXPECT_DOUBLE_EQ(mean.links.mae, 0.2);
  EXPECT_DOUBLE_EQ(*mean.links.precision, 15.0 / 50) << "and not the mean of 1/2 and 1/4";
  EXPECT_DOUBLE_EQ(*mean.links.recall, 15.0 / 40);
  EXPECT_DOUBLE_EQ(mean.mle_residual, 0.0003) << "the largest";
  EXPECT_DOUBLE_EQ(*mean.trained_links, 25);
}

TEST(MeanOf, HasNoFigureThatOneTrialLacks) {
  std::vector<EstimateFigures> trials = {TrialFigures(10, 5, 0.1), TrialFigures(0, 0, 0.3)};
  trials[1].trained_links.reset();
  trials[1].mle_exists = false;
  trials[1].mle_regularised = true;
  const EstimateFigures mean = MeanOf(trials, 20);
  EXPECT_FALSE(mean.trained_links.has_value());
  EXPECT_TRUE(mean.trained_precision.has_value());
  EXPECT_FALSE(mean.links.quality.has_value());
  EXPECT_FALSE(mean.mle_exists);
  EXPECT_TRUE(mean.mle_regularised);
  EXPECT_FALSE(MeanOf({trials[1]}, 20).links.precision.has_value()) << "no link was estimated";
}

TEST(MeanOf, PoolsTheBinsOfTheQuality) {
  std::vector<EstimateFigures> trials = {TrialFigures(10, 5, 0.1), TrialFigures(10, 5, 0.1)};
  trials[0].links.quality = {.log_likelihood = -10, .auc = 0.8, .bins = {{0, 0.5, 30, 3, 0.1}, {0.5, 1, 0, 0, 0}}};
  trials[1].links.quality = {.log_likelihood = -20, .auc = 0.6, .bins = {{0, 0.5, 10, 2, 0.3}, {0.5, 1, 0, 0, 0}}};
  const PosteriorQuality quality = *MeanOf(trials, 20).links.quality;
  EXPECT_DOUBLE_EQ(quality.log_likelihood, -15);
  EXPECT_DOUBLE_EQ(quality.auc, 0.7);
  ASSERT_EQ(quality.bins.size(), 2u);
  EXPECT_EQ(quality.bins[0].pairs, 40u);
  EXPECT_EQ(quality.bins[0].links, 5u);
  EXPECT_DOUBLE_EQ(quality.bins[0].mean_p, 0.15);
  EXPECT_EQ(quality.bins[1].mean_p, 0);
}

TEST(MeanOf, AveragesCoefficientsByTheirNames) {
  std::vector<EstimateFigures> trials(2);
  trials[0].attributed = {.coefficients = {{"constant", 1}, {"cosine", 2}}, .training_links = 3};
  trials[1].attributed = {.coefficients = {{"cosine", 4}}, .training_links = 4};
  const EstimateFigures::Attributed mean = *MeanOf(trials, 20).attributed;
  ASSERT_EQ(mean.coefficients.size(), 2u);
  EXPECT_EQ(mean.coefficients[0], std::make_pair(std::string("constant"), 0.5));
  EXPECT_EQ(mean.coefficients[1], std::make_pair(std::string("cosine"), 3.0));
  EXPECT_DOUBLE_EQ(mean.training_links, 3.5);
}

Tried TriedWith(double learning_rate, double loss, const std::string& skipped = "") {
  Tried tried;
  tried.candidate.variant = Variant::kHard;
  tried.candidate.options.learning_rate = learning_rate;
  tried.validation_loss = loss;
  tried.validation_accuracy = 1 - loss;
  tried.skipped = skipped;
  return tried;
}

TEST(FiguresOfSearches, JoinsTheTrialsByTheNamesOfTheCandidates) {
  std::vector<Trial> trials(2);
  trials[0].search = {TriedWith(0.1, 0.5), TriedWith(0.2, 0.25)};
  trials[0].trained = trials[0].search[1].candidate;
  trials[1].search = {TriedWith(0.2, 0.75), TriedWith(0.3, 0, "too costly")};
  trials[1].trained = trials[1].search[0].candidate;
  const std::vector<CandidateFigures> figures = FiguresOfSearches(trials);
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_EQ(figures[0].name, CandidateName(trials[0].search[0].candidate));
  EXPECT_EQ(figures[0].trials, 1);
  EXPECT_EQ(figures[0].chosen, 0);
  EXPECT_EQ(figures[1].trials, 2);
  EXPECT_EQ(figures[1].chosen, 2);
  EXPECT_DOUBLE_EQ(*figures[1].validation_loss, 0.5);
  EXPECT_DOUBLE_EQ(*figures[1].validation_accuracy, 0.5);
  EXPECT_EQ(figures[2].trials, 0);
  EXPECT_EQ(figures[2].skipped, "too costly");
  EXPECT_FALSE(figures[2].validation_loss.has_value());
}

std::string WordsOf(const std::vector<std::string>& lines) {
  std::string words = absl::StrJoin(lines, " ");
  absl::RemoveExtraAsciiWhitespace(&words);
  return words;
}

TEST(SimulationText, FoldsWhatASearchTriedToTheTerminal) {
  Simulation simulation;
  simulation.trials.resize(2);
  for (Trial& trial : simulation.trials) {
    trial.search = {TriedWith(0.125, 0.25), TriedWith(0.0625, 0.5)};
    trial.trained = trial.search[0].candidate;
  }
  const std::string name = CandidateName(simulation.trials[0].trained);
  const auto lines_at = [&](size_t columns) -> std::vector<std::string> {
    const std::string text = SimulationText(FiguresOf(simulation, 0), columns);
    const size_t begin = text.find("  trial 1, best of 2"), end = text.find("  test accuracy");
    return absl::StrSplit(text.substr(begin, end - begin), '\n', absl::SkipEmpty());
  };
  const std::vector<std::string> wide = lines_at(200);
  ASSERT_EQ(wide.size(), 4u) << "two trials and two candidates";
  EXPECT_THAT(wide[2], AllOf(HasSubstr(name), HasSubstr("loss 0.25; test 0.0 %; chosen 2 of 2")));
  for (const size_t columns : {60, 80, 100, 140}) {
    const std::vector<std::string> folded = lines_at(columns);
    for (const std::string& line : folded) EXPECT_LE(line.size(), columns) << line;
    EXPECT_EQ(WordsOf(folded), WordsOf(wide)) << "nothing is lost";
  }
  EXPECT_GT(lines_at(80).size(), wide.size());
  const auto candidates = SimulationJson(FiguresOf(simulation, 0))["train"]["candidates"];
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[0]["name"], name) << "JSON has the whole";
}

TEST(FiguresOf, LeavesOutWhatTheTrialsDoNotAgreeOn) {
  Simulation simulation;
  simulation.trials.resize(2);
  for (int t = 0; t < 2; ++t) {
    Trial& trial = simulation.trials[t];
    trial.trained.options.model = Model::kGcn;
    trial.trained.options.learning_rate = 0.01 * (t + 1);
    trial.trained.options.dropout = 0.5;
    trial.training.test_accuracy = 0.6 + 0.2 * t;
    trial.training.warnings = {"the same"};
  }
  const TrainFigures train = FiguresOf(simulation, 0).train.value();
  EXPECT_EQ(train.model, Model::kGcn);
  EXPECT_FALSE(train.learning_rate.has_value());
  EXPECT_EQ(train.dropout, 0.5);
  EXPECT_DOUBLE_EQ(train.test_accuracy_mean, 0.7);
  EXPECT_NEAR(*train.test_accuracy_std, 0.2 / std::sqrt(2), 1e-12);
  EXPECT_EQ(train.warnings, std::vector<std::string>{"the same"});
  simulation.trials[1].trained.options.model = Model::kMlp;
  EXPECT_FALSE(FiguresOf(simulation, 0).train->model.has_value());
  simulation.trials.resize(1);
  EXPECT_FALSE(FiguresOf(simulation, 0).train->test_accuracy_std.has_value());
  EXPECT_TRUE(SimulationJson(FiguresOf(simulation, 0))["estimate"].is_null());
}

}  // namespace
}  // namespace blink
