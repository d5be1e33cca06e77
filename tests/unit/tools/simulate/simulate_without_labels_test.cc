// Graphs without labels, and trainings that nobody asks for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "aggregator_server/result/result_place.h"
#include "common/base/durable_file.h"
#include "tests/unit/tools/simulate/simulate_fixture.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WithoutLabels : public SimulateTest {
 protected:
  void SetUp() override {
    data_.attributes.labels.assign(200, -1);
    data_.attributes.split.assign(200, Split::kNone);
    data_.attributes.class_count = 0;
    data_.attributes.class_names.clear();
    SimulateTest::SetUp();
  }
  SimulateOptions Plain() const {
    SimulateOptions options = Options();
    options.training.Clear();
    return options;
  }
};

TEST_F(WithoutLabels, TrainsNothingAndSaysSo) {
  SimulateOptions options = Plain();
  options.output = folder_ + "/result";
  const auto simulation = Simulate(options);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  const auto json = JsonOf(*simulation);
  EXPECT_TRUE(json["train"].is_null());
  EXPECT_TRUE(json["trials"][1]["train"].is_null());
  for (const char* figure : {"mae", "degree_mae", "trained_links", "trained_precision", "trained_recall", "quality"}) {
    EXPECT_FALSE(json["estimate"][figure].is_null()) << figure;
  }
  EXPECT_GT(json["estimate"]["quality"]["auc"], 0.5);
  EXPECT_LT(json["estimate"]["quality"]["log_likelihood"], 0);
  const std::string text = TextOf(*simulation);
  EXPECT_THAT(text, HasSubstr("no node has a label, so nothing was trained (--model none)"));
  EXPECT_THAT(text, HasSubstr("links of hybrid"));
  EXPECT_THAT(text, HasSubstr("mean error of a degree"));
  EXPECT_THAT(text, Not(HasSubstr("accuracy")));
  EXPECT_TRUE(CheckIsResult(options.output).ok());
  EXPECT_FALSE(ReadFile(options.output + "/model.pt", 1 << 24).ok());
}

TEST_F(WithoutLabels, ThePriorAndTheVariantAreStillChosen) {
  SimulateOptions options = Plain();
  options.trials = 1;
  options.training.set_prior(v1::PRIOR_ATTRIBUTED);
  options.training.set_variant(v1::VARIANT_SOFT);
  const auto simulation = Simulate(options);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(JsonOf(*simulation)["estimate"]["prior"], "attributed");
  EXPECT_EQ(simulation->trials[0].trained.variant, Variant::kSoft);
}

TEST_F(WithoutLabels, ARoundThatTrainedIsReplayedWithoutATraining) {
  const auto simulation = Simulate(Replay());
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_FALSE(simulation->trials[0].has_model());
}

TEST_F(WithoutLabels, RefusesATrainingThatIsAskedFor) {
  const auto refused = [&](const std::function<void(v1::TrainingSpec&)>& ask) {
    SimulateOptions options = Plain();
    ask(options.training);
    const auto simulation = Simulate(options);
    EXPECT_EQ(simulation.status().code(), absl::StatusCode::kFailedPrecondition) << simulation.status();
    EXPECT_THAT(std::string(simulation.status().message()), HasSubstr("no node has a label"));
  };
  refused([](v1::TrainingSpec& spec) { spec.set_model(v1::MODEL_GCN); });
  refused([](v1::TrainingSpec& spec) { spec.set_candidates(5); });
  refused([](v1::TrainingSpec& spec) { spec.set_epochs(5); });
}

// Neither works with --model none, so that must not be the advice.
TEST_F(WithoutLabels, RefusesTheTrueLinksAndTheBoundsWithAdviceThatWorks) {
  SimulateOptions on_true = Plain(), bounds = Plain();
  on_true.epsilon_micro.reset();
  on_true.graph = SimulatedGraph::kTrue;
  bounds.bounds = true;
  for (const SimulateOptions& options : {on_true, bounds}) {
    const absl::Status refused = Simulate(options).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(std::string(refused.message()),
                AllOf(HasSubstr("no node has a label"), HasSubstr("labels.csv"), Not(HasSubstr("--model none"))));
  }
}

TEST_F(SimulateTest, RefusesTheBoundsOfARoundThatTrainsNothingBeforeItEstimates) {
  v1::Round round = ReadRound(folder_ + "/round").value();
  round.mutable_training()->Clear();
  round.mutable_training()->set_model(v1::MODEL_NONE);
  ASSERT_TRUE(WriteRoundJson(round, folder_ + "/round").ok());
  SimulateOptions options = Replay();
  options.bounds = true;
  ExpectRefused(options, "name a model, such as --model gcn, or leave out --bounds");
  options.training.set_model(v1::MODEL_GCN);
  options.training.set_epochs(5);
  EXPECT_TRUE(Simulate(options).ok()) << "as advised";
}

TEST_F(SimulateTest, TrainsNothingOfALabelledGraphWhereItIsAskedTo) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.training.Clear();
  options.training.set_model(v1::MODEL_NONE);
  const auto simulation = Simulate(options);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_THAT(TextOf(*simulation), HasSubstr("nothing was to be trained (--model none)"));
  options.epsilon_micro.reset();
  ExpectRefused(options, "--epsilon is missing");
  options.graph = SimulatedGraph::kTrue;
  ExpectRefused(options, "leave out one of them");
}

}  // namespace
}  // namespace blink
