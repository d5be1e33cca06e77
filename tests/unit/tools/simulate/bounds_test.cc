// The bounds of a simulation and the share recovered, against values that were computed by hand.
#include "tools/simulate/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/unit/tools/simulate/simulate_fixture.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Tried FeaturesOnly(double accuracy, Model model = Model::kFeatureClassifier) {
  Tried tried;
  tried.candidate.options.model = model;
  tried.test_accuracy = accuracy;
  return tried;
}

Trial TrialWith(double accuracy, double features_only) {
  Trial trial;
  trial.training.test_accuracy = accuracy;
  trial.features_only = FeaturesOnly(features_only);
  trial.search = {FeaturesOnly(features_only)};
  return trial;
}

Simulation Simulated(std::vector<Trial> trials, double true_links) {
  Simulation simulation;
  simulation.trials = std::move(trials);
  simulation.true_links = Trial{};
  simulation.true_links->training.test_accuracy = true_links;
  simulation.true_links->trained.options.model = Model::kStacked;
  return simulation;
}

TEST(Bounds, TheShareRecoveredIsThatOfTheMeansAndItsDeviationThatOfTheDraws) {
  const Simulation simulation = Simulated({TrialWith(0.80, 0.70), TrialWith(0.86, 0.72)}, 0.91);
  const BoundsFigures figures = FiguresOfBounds(simulation).value();
  EXPECT_DOUBLE_EQ(*figures.features_only_accuracy_mean, 0.71);
  EXPECT_EQ(figures.features_only_name, "class-model");
  EXPECT_DOUBLE_EQ(*figures.true_links_accuracy_mean, 0.91);
  EXPECT_NEAR(*figures.recovered_mean, (0.83 - 0.71) / (0.91 - 0.71), 1e-12);
  EXPECT_NEAR(*figures.recovered_std, (0.7 - 0.5) / std::sqrt(2), 1e-12) << "0.10 and 0.14 of 0.20";
  EXPECT_EQ(figures.recovered_note, "");
  const auto train = SimulationJson(FiguresOf(simulation, 0))["train"];
  EXPECT_NEAR(train["recovered_mean"].get<double>(), 0.6, 1e-12);
  EXPECT_EQ(train["features_only_name"], "class-model");
  EXPECT_EQ(train["true_links_accuracy_mean"], 0.91);
  EXPECT_TRUE(train["recovered_note"].is_null());
  EXPECT_THAT(TextOf(simulation), HasSubstr("60.0 % +- 14.1 % (standard deviation"));
}

TEST(Bounds, ASearchWithoutTheTrueLinksHasTheFirstBoundAlone) {
  Simulation simulation = Simulated({TrialWith(0.80, 0.70)}, 0.91);
  simulation.true_links.reset();
  const auto train = SimulationJson(FiguresOf(simulation, 0))["train"];
  EXPECT_EQ(train["features_only_accuracy_mean"], 0.70);
  for (const char* key : {"true_links_accuracy_mean", "recovered_mean", "recovered_std"}) {
    EXPECT_FALSE(train.contains(key)) << key;
  }
  EXPECT_THAT(TextOf(simulation), HasSubstr("70.0 % (class-model)"));
}

TEST(Bounds, OneTrialHasNoDeviation) {
  const Simulation simulation = Simulated({TrialWith(0.80, 0.70)}, 0.90);
  EXPECT_TRUE(SimulationJson(FiguresOf(simulation, 0))["train"]["recovered_std"].is_null());
  EXPECT_THAT(TextOf(simulation), HasSubstr("50.0 % (one draw)"));
}

TEST(Bounds, AShareThatIsNotAboveZeroIsCalledSo) {
  for (const double accuracy : {0.70, 0.65}) {
    const BoundsFigures figures = FiguresOfBounds(Simulated({TrialWith(accuracy, 0.70)}, 0.90)).value();
    EXPECT_LE(*figures.recovered_mean, 0);
    EXPECT_THAT(figures.recovered_note, HasSubstr("not above zero"));
  }
  const auto spread = FiguresOfBounds(Simulated({TrialWith(0.80, 0.70), TrialWith(0.62, 0.70)}, 0.90));
  EXPECT_GT(*spread->recovered_mean, 0);
  EXPECT_THAT(spread->recovered_note, HasSubstr("less above zero than its deviation"));
}

TEST(Bounds, WhereTheTrueLinksHardlyHelpThereIsNoShare) {
  for (const double true_links : {0.50, 0.70, 0.709}) {
    const Simulation simulation = Simulated({TrialWith(0.75, 0.70), TrialWith(0.74, 0.70)}, true_links);
    const auto train = SimulationJson(FiguresOf(simulation, 0))["train"];
    EXPECT_TRUE(train["recovered_mean"].is_null()) << true_links;
    EXPECT_TRUE(train["recovered_std"].is_null()) << true_links;
    EXPECT_THAT(train["recovered_note"].get<std::string>(), HasSubstr("too little to divide by"));
    EXPECT_THAT(TextOf(simulation), HasSubstr("too little to divide by"));
  }
}

TEST(Bounds, WithoutTestNodesThereAreNoFiguresAndNoNumberThatIsNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Simulation simulation = Simulated({TrialWith(nan, nan)}, nan);
  const std::string json = SimulationJson(FiguresOf(simulation, 0)).dump();
  EXPECT_THAT(json, HasSubstr("\"features_only_accuracy_mean\":null"));
  EXPECT_THAT(json, HasSubstr("\"recovered_mean\":null"));
  EXPECT_THAT(json, Not(HasSubstr("nan")));
  constexpr char kWhy[] = "no node with a label is in the test split";
  EXPECT_THAT(json, HasSubstr(absl::StrCat("\"recovered_note\":\"no share: ", kWhy)));
  EXPECT_THAT(json, HasSubstr("split.csv")) << "what to do";
  EXPECT_THAT(TextOf(simulation), AllOf(HasSubstr(absl::StrCat("share recovered          no share: ", kWhy)),
                                        HasSubstr(absl::StrCat("test accuracy              none: ", kWhy))));
}

TEST(Bounds, WhereNothingCanBeTrainedOnFeaturesASearchSaysSo) {
  Simulation simulation = Simulated({TrialWith(0.80, 0.70), TrialWith(0.80, 0.70)}, 0.90);
  simulation.trials[1].features_only.reset();
  const auto train = SimulationJson(FiguresOf(simulation, 0))["train"];
  EXPECT_TRUE(train["features_only_accuracy_mean"].is_null());
  EXPECT_TRUE(train["features_only_name"].is_null());
  EXPECT_TRUE(train["recovered_mean"].is_null());
  EXPECT_THAT(train["recovered_note"].get<std::string>(), HasSubstr("features alone in 1 of 2 trials"));
  EXPECT_THAT(TextOf(simulation), HasSubstr("none: no model could be trained on them"));
}

TEST(Bounds, OneTrainingWithoutBoundsHasNone) {
  Simulation simulation;
  simulation.trials.resize(1);
  EXPECT_FALSE(FiguresOfBounds(simulation).has_value());
  EXPECT_FALSE(SimulationJson(FiguresOf(simulation, 0))["train"].contains("features_only_name"));
}

TEST(Bounds, TheNameIsOfTheModelThatWasTheBestMostOften) {
  Simulation simulation = Simulated({TrialWith(0.8, 0.7), TrialWith(0.8, 0.7), TrialWith(0.8, 0.7)}, 0.9);
  for (const int t : {1, 2}) simulation.trials[t].features_only = FeaturesOnly(0.7, Model::kMlp);
  EXPECT_THAT(FiguresOfBounds(simulation)->features_only_name, ::testing::StartsWith("mlp"));
}

TEST(LinkGain, ThePlainEstimateGivesEveryPairTheTrueShareOfLinks) {
  const LinkGain::Figures plain = FiguresOfDensity(4, 2);  // of 6 pairs
  EXPECT_DOUBLE_EQ(plain.log_likelihood, 2 * std::log(1.0 / 3) + 4 * std::log(2.0 / 3));
  EXPECT_EQ(plain.auc, 0.5);
  EXPECT_DOUBLE_EQ(plain.mae, 2 * (2 * (2.0 / 3) + 4 * (1.0 / 3)) / 16);
  for (const uint64_t links : {0, 6}) {
    EXPECT_EQ(FiguresOfDensity(4, links).log_likelihood, 0) << "it is certain";
    EXPECT_EQ(FiguresOfDensity(4, links).mae, 0);
  }
}

TEST(LinkGain, IsOverTheBetaPriorWhereThereIsAnother) {
  EstimateFigures figures;
  EXPECT_FALSE(GainOf(figures, 4, 2).has_value()) << "nothing was measured";
  figures.links.quality = PosteriorQuality{.log_likelihood = -3, .auc = 0.75};
  figures.links.mae = 0.25;
  EXPECT_EQ(GainOf(figures, 4, 2)->over, "density");
  figures.attributed.emplace();
  EXPECT_FALSE(GainOf(figures, 4, 2).has_value());
  figures.attributed->beta.quality = PosteriorQuality{.log_likelihood = -5, .auc = 0.5};
  figures.attributed->beta.mae = 0.375;
  const LinkGain gain = GainOf(figures, 4, 2).value();
  EXPECT_EQ(gain.over, "beta");
  EXPECT_EQ(gain.plain.log_likelihood, -5);
  EXPECT_EQ(gain.plain.mae, 0.375);
}

}  // namespace
}  // namespace blink
