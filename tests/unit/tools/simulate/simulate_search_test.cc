// Searches (--tune), their scores and their bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/tools/simulate/simulate_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using SimulatedSearch = SimulateTest;

TEST_F(SimulatedSearch, SaysWhatTheTrialsOfASearchReallyTrained) {
  Simulation simulation = Simulate(Options()).value();
  simulation.trials[1].trained.options.model = Model::kGat;
  EXPECT_THAT(TextOf(simulation), HasSubstr("2 trials of gcn, hard (1) and gat, hard (1)"));
}

TEST_F(SimulatedSearch, RefusesBoundsOfATrainingThatSeesNoReports) {
  SimulateOptions options = Options();
  options.bounds = true;
  options.graph = SimulatedGraph::kTrue;
  options.epsilon_micro.reset();
  ExpectRefused(options, "--bounds measures between which bounds");
  options.graph = SimulatedGraph::kBlink;
  options.training.set_model(v1::MODEL_MLP);
  ExpectRefused(options, "--bounds measures between which bounds");
}

TEST_F(SimulatedSearch, RefusesAScoreWithoutASearch) {
  SimulateOptions options = Options();
  options.training.set_score(v1::MEASURE_MACRO_F1);
  ExpectRefused(options, "--score is macro-f1, but one training has nothing to choose from: ask for a search (--tune)");
}

TEST_F(SimulatedSearch, ASearchUnderTheBetaPriorKnowsTheClassModelToo) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.training.set_candidates(2);
  options.training.set_model(v1::MODEL_GCN);
  const Simulation simulation = Simulate(options).value();
  ASSERT_TRUE(simulation.trials[0].features_only.has_value());
  EXPECT_FALSE(ReadsReports(simulation.trials[0].features_only->candidate));
  EXPECT_EQ(simulation.trials[0].search.size(), 2u);
  const auto json = JsonOf(simulation);
  EXPECT_EQ(json["trials"][0]["train"]["features_only"]["name"], json["train"]["features_only_name"]);
  EXPECT_EQ(json["estimate"]["gain"]["over"], "density");
  EXPECT_GT(json["estimate"]["gain"]["log_likelihood"], 0) << "the bits say something at epsilon 6";
}

TEST_F(SimulatedSearch, BoundsOfOneTrainingAreMeasuredWithoutASearch) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.bounds = true;
  const Simulation simulation = Simulate(options).value();
  EXPECT_TRUE(simulation.trials[0].search.empty());
  EXPECT_TRUE(simulation.trials[0].features_only.has_value());
  EXPECT_EQ(simulation.true_links->trained.options.model, Model::kGcn);
  EXPECT_TRUE(JsonOf(simulation)["train"].contains("recovered_mean"));
}

TEST_F(SimulatedSearch, ChoosesByTheScoreThatItIsTold) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.insecure_seeded_noise = true;
  options.training.set_candidates(6);
  for (const v1::Measure score : {v1::MEASURE_MACRO_F1, v1::MEASURE_ROC_AUC}) {
    options.training.set_score(score);
    const Simulation simulation = Simulate(options).value();
    double best = -1e9;
    for (const Tried& tried : simulation.trials[0].search) {
      if (!tried.skipped.empty()) continue;
      ASSERT_TRUE(tried.validation_measure.has_value());
      best = std::max(best, Score(tried, Prior::kBeta));
    }
    const TrainResult& kept = simulation.trials[0].training;
    EXPECT_DOUBLE_EQ(kept.validation.Of(FromProto(score)) - LossWeight(Prior::kBeta) * kept.validation_loss, best);
    EXPECT_TRUE(JsonOf(simulation)["trials"][0]["train"]["candidates"][0].contains("validation_measure"));
  }
}

TEST_F(SimulatedSearch, AScoreThatIsNotDefinedGivesWayToAccuracyAndSaysSo) {
  for (uint32_t i = 0; i < data_.attributes.node_count; ++i) {
    if (data_.attributes.split[i] == Split::kValidation) data_.attributes.labels[i] = 0;
  }
  ASSERT_TRUE(WriteDataset(data_, folder_ + "/dataset").ok());
  SimulateOptions options = Options();
  options.trials = 1;
  options.training.set_candidates(2);
  options.training.set_score(v1::MEASURE_ROC_AUC);
  const Simulation simulation = Simulate(options).value();
  EXPECT_FALSE(simulation.trials[0].search[0].validation_measure.has_value());
  EXPECT_THAT(TextOf(simulation), HasSubstr("roc-auc is not defined for the validation nodes"));
  EXPECT_THAT(JsonOf(simulation).dump(), Not(HasSubstr("nan")));
}

TEST_F(SimulatedSearch, ASearchTakesTheLinksOfEachTrialsOneDraw) {
  SimulateOptions options = Options();
  options.training.clear_learning_rate();
  options.training.clear_dropout();
  options.training.set_variant(v1::VARIANT_HARD);
  options.training.set_candidates(5);
  const Simulation simulation = Simulate(options).value();
  for (const Trial& trial : simulation.trials) EXPECT_EQ(trial.search.size(), 5u);
  const auto json = JsonOf(simulation);
  const auto& train = json["trials"][0]["train"];
  EXPECT_EQ(train["chosen"], CandidateName(simulation.trials[0].trained));
  for (const auto& candidate : train["candidates"])
    EXPECT_TRUE(candidate.contains("test_accuracy") || candidate.contains("skipped"));
  EXPECT_EQ(json["train"]["weight_decay"], 0.0) << "asked for, so all trials agree on it";
  EXPECT_THAT(TextOf(simulation), HasSubstr("trial 2, best of 5"));
}

TEST_F(SimulatedSearch, ASearchSaysWhyItSkippedACandidateForAllTrialsToo) {
  SimulateOptions options = Options();
  options.training.set_candidates(3);
  Simulation simulation = Simulate(options).value();
  simulation.trials[1].search[0].skipped = "it diverged";
  const auto json = JsonOf(simulation);
  const auto& candidates = json["train"]["candidates"];
  EXPECT_EQ(candidates[0]["skipped"], "it diverged");
  EXPECT_EQ(candidates[0]["trials"], 1) << "in the other trial it was trained";
  EXPECT_FALSE(candidates[1].contains("skipped"));
}

TEST_F(SimulatedSearch, ASearchOnAReplayIsNotBoundByTheRoundsChoice) {
  SimulateOptions options = Replay();
  options.training.set_candidates(8);
  options.training.set_model(v1::MODEL_MLP);
  const Simulation simulation = Simulate(options).value();
  std::set<double> rates, decays;
  for (const Tried& tried : simulation.trials[0].search) {
    EXPECT_EQ(tried.candidate.options.model, Model::kMlp) << "given on the command line";
    EXPECT_EQ(tried.candidate.options.epochs, 20) << "the round's";
    rates.insert(tried.candidate.options.learning_rate);
    decays.insert(tried.candidate.options.weight_decay);
  }
  EXPECT_EQ(rates.count(0.05), 0u) << "the round's, which the search replaces";
  EXPECT_GT(decays.size(), 1u);
}

TEST_F(SimulatedSearch, ASearchOnTheTrueGraphHasNoVariants) {
  SimulateOptions options = OnTrueLinks();
  options.trials = 1;
  options.training.set_candidates(4);
  const Simulation simulation = Simulate(options).value();
  ASSERT_EQ(simulation.trials[0].search.size(), 4u) << "a setting is given, so one of each model";
  for (const Tried& tried : simulation.trials[0].search) EXPECT_FALSE(tried.candidate.variant.has_value());
}

}  // namespace
}  // namespace blink
