// Where the links come from, if not from reports that are drawn: sealed reports, the true graph, or nowhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/tools/simulate/simulate_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

using SimulatedSources = SimulateTest;

TEST_F(SimulatedSources, RefusesPartsOfAnEstimateThatTheTrueGraphDoesNotNeed) {
  for (const v1::Prior prior : {v1::PRIOR_ATTRIBUTED, v1::PRIOR_BETA}) {
    SimulateOptions options = OnTrueLinks();
    options.training.set_prior(prior);
    options.without = {"nearest"};
    ExpectRefused(options, "--without is about the estimate of the links");
    options.without.clear();
    options.network_rounds = 1;
    ExpectRefused(options, "--network-rounds is about the estimate of the links");
  }
}

TEST_F(SimulatedSources, TheTrueGraphIsNotPrivateAndHasNoReports) {
  const Simulation simulation = Simulate(OnTrueLinks()).value();
  const auto json = JsonOf(simulation);
  EXPECT_EQ(json["privacy"]["private"], false);
  EXPECT_TRUE(json["report"].is_null());
  EXPECT_TRUE(json["estimate"].is_null());
  EXPECT_TRUE(json["train"]["variant"].is_null()) << "nothing was estimated";
  EXPECT_EQ(json["train"]["model"], "gcn");
  EXPECT_GT(json["train"]["test_accuracy_mean"].get<double>(), 0.4);
  EXPECT_THAT(TextOf(simulation), HasSubstr("true graph"));
}

TEST_F(SimulatedSources, TheMlpAloneNeedsNoReportsAndTrainsAlikeWithThem) {
  SimulateOptions options = Options();
  options.training.set_model(v1::MODEL_MLP);
  const Simulation with = Simulate(options).value();
  options.epsilon_micro.reset();
  const Simulation without = Simulate(options).value();
  EXPECT_EQ(with.trials[1].training.logits, without.trials[1].training.logits);
  const auto json = JsonOf(without);
  EXPECT_EQ(json["privacy"]["private"], false);
  EXPECT_TRUE(json["privacy"].contains("achieved_epsilon") && json["privacy"]["achieved_epsilon"].is_null());
  EXPECT_TRUE(json["report"].is_null());
  EXPECT_TRUE(json["estimate"].is_null());
  EXPECT_THAT(TextOf(without), HasSubstr("no report drawn"));
  options.degree_share_ppm = 100'000;  // of reports, so they are wanted
  ExpectRefused(options, "--epsilon is missing");
  options.degree_share_ppm.reset();
  options.output = folder_ + "/result";
  ExpectRefused(options, "--epsilon is missing");
}

TEST_F(SimulatedSources, AReplayTakesTheRoundsTrainingAndWhatIsAskedForGoesFirst) {
  SimulateOptions options = Replay();
  options.training.set_weight_decay(0.5);
  const Simulation simulation = Simulate(options).value();
  EXPECT_EQ(simulation.trials[0].trained.options.weight_decay, 0.5);
  EXPECT_EQ(simulation.trials[0].trained.options.dropout, 0.25);
  EXPECT_EQ(simulation.trials[0].trained.options.epochs, 20);
  EXPECT_EQ(simulation.trials[0].seed, 7u);
  EXPECT_EQ(simulation.origin, ReportOrigin::kReplay);
  EXPECT_GT(simulation.trials[0].report->entropy_bytes, 0);
}

TEST_F(SimulatedSources, AReplayTakesTheRoundsPolicyUnlessAskedForAnother) {
  v1::Round round = ReadRoundFolder(folder_ + "/round").value().round;
  round.set_implausible(v1::IMPLAUSIBLE_DROP);
  ASSERT_TRUE(WriteRoundJson(round, folder_ + "/round").ok());
  SimulateOptions options = Replay();
  EXPECT_EQ(Simulate(options).value().trials[0].checks->policy, v1::IMPLAUSIBLE_DROP);
  options.implausible = v1::IMPLAUSIBLE_KEEP;
  EXPECT_EQ(Simulate(options).value().trials[0].checks->policy, v1::IMPLAUSIBLE_KEEP);
}

TEST_F(SimulatedSources, RefusesReportsOfAnotherGraph) {
  SyntheticOptions synthetic;
  synthetic.nodes = 90;
  synthetic.classes = 2;
  synthetic.features = 20;
  synthetic.words_per_node = 4;
  std::filesystem::create_directories(folder_ + "/other");
  ASSERT_TRUE(WriteDataset(GenerateDataset(synthetic).value(), folder_ + "/other").ok());
  SimulateOptions options;
  options.dataset = folder_ + "/other";
  options.reports = folder_ + "/round";
  options.progress = false;
  ExpectRefused(options, "90");
}

}  // namespace
}  // namespace blink
