// The attributed prior.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "aggregator_server/result/result_place.h"
#include "common/base/durable_file.h"
#include "common/graph/numpy_file.h"
#include "tests/unit/tools/simulate/simulate_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(SimulateTest, RefusesPartsOfTheAttributedPriorWithoutIt) {
  for (const v1::Prior prior : {v1::PRIOR_UNSPECIFIED, v1::PRIOR_BETA}) {
    SimulateOptions options = Options();
    options.training.set_prior(prior);
    options.without = {"features"};
    ExpectRefused(options, "--without is about the attributed prior, and the prior is beta");
    options.without.clear();
    options.network_rounds = 1;
    ExpectRefused(options, "--network-rounds is about the attributed prior");
  }
  SimulateOptions replay = Replay();
  replay.without = {"features"};
  ExpectRefused(replay, "--without is about the attributed prior");  // the round's prior is known when it has been read
}

TEST_F(SimulateTest, RefusesPartsOfTheAttributedPriorThatItDoesNotHave) {
  SimulateOptions options = Options();
  options.training.set_prior(v1::PRIOR_ATTRIBUTED);
  for (const char* unknown : {"", "feature", "features latent"}) {
    options.without = {"latent", unknown};
    ExpectRefused(options, absl::StrCat("--without names '", unknown, "', which is none of degrees, total, features"));
  }
  options.without.clear();
  for (const int rounds : {-1, 3}) {
    options.network_rounds = rounds;
    ExpectRefused(options, "--network-rounds is");
  }
  options.network_rounds = 1;
  options.without = {"network"};
  ExpectRefused(options, "leaves out what --network-rounds counts");
}

TEST_F(SimulateTest, RefusesModelsThatAPriorDoesNotHave) {
  SimulateOptions options = Options();
  for (const v1::Model model : {v1::MODEL_STACKED, v1::MODEL_CLASS_MODEL}) {
    options.training.set_model(model);
    ExpectRefused(options, "which the attributed prior alone has");
  }
  SimulateOptions replay = Replay();
  replay.training.set_model(v1::MODEL_STACKED);
  ExpectRefused(replay, "training.model is stacked, which the attributed prior alone has");
}

class AttributedSimulation : public SimulateTest {
 protected:
  AttributedSimulation() {
    options_ = Options();
    options_.insecure_seeded_noise = true;
    options_.epsilon_micro = 3'000'000;
    options_.training.set_prior(v1::PRIOR_ATTRIBUTED);
  }
  SimulateOptions options_;
};

TEST_F(AttributedSimulation, PrintsBothPriorsAndEveryCandidate) {
  const auto simulation = Simulate(options_);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  const auto json = JsonOf(*simulation);
  EXPECT_EQ(json["privacy"]["degree_share"], 0.02) << "by the rule of this prior";
  const auto& estimate = json["estimate"];
  EXPECT_EQ(estimate["prior"], "attributed");
  for (const char* key : {"distinct_degrees", "mle_seconds", "mle_iterations", "mle_residual", "denoise_seconds", "mae",
                          "expected_links", "links", "true_positives", "precision", "recall", "network_rounds",
                          "left_out_links", "attributed_seconds", "training"}) {
    EXPECT_FALSE(estimate[key].is_null()) << key;
  }
  for (const auto& of : {estimate, estimate["beta"]}) {
    for (const char* key : {"mae", "true_positives", "precision", "recall", "expected_links", "links"})
      EXPECT_TRUE(of[key].is_number()) << key;
    EXPECT_GT(of["quality"]["auc"], 0.5);
    EXPECT_LT(of["quality"]["log_likelihood"], 0);
    uint64_t pairs = 0, links = 0;
    for (const auto& bin : of["quality"]["bins"]) {
      pairs += bin["pairs"].get<uint64_t>();
      links += bin["links"].get<uint64_t>();
    }
    EXPECT_EQ(pairs, 2 * 199 * 100) << "of both trials together";
    EXPECT_EQ(links, 2 * data_.graph.link_count());
  }
  EXPECT_NE(estimate["mae"], estimate["beta"]["mae"]);
  EXPECT_EQ(estimate["gain"]["over"], "beta");
  EXPECT_DOUBLE_EQ(estimate["gain"]["auc"].get<double>(),
                   estimate["quality"]["auc"].get<double>() - estimate["beta"]["quality"]["auc"].get<double>());
  EXPECT_FALSE(estimate["coefficients"].empty());
  const auto& train = json["train"];
  int chosen = 0;
  for (const auto& candidate : train["candidates"]) {
    chosen += candidate["chosen"].get<int>();
    EXPECT_LE(candidate["trials"], 2);
    EXPECT_TRUE(candidate["name"] != train["chosen"] || candidate["chosen"] >= 1);
    if (candidate["trials"] == 0) continue;
    for (const char* key : {"validation_loss", "validation_accuracy", "test_accuracy"})
      EXPECT_TRUE(candidate[key].is_number()) << key;
  }
  EXPECT_EQ(chosen, 2);
  EXPECT_TRUE(train["features_only_accuracy_mean"].is_number());
  EXPECT_THAT(train["features_only_name"].get<std::string>(),
              ::testing::AnyOf(HasSubstr("class-model"), HasSubstr("mlp")));
  EXPECT_FALSE(train.contains("recovered_mean")) << "without --bounds";
  const std::string table = TextOf(*simulation);
  EXPECT_THAT(table, HasSubstr("attributed prior"));
  EXPECT_THAT(table, HasSubstr("(beta prior: "));
  EXPECT_THAT(table, HasSubstr("trial 2, best of"));
}

TEST_F(AttributedSimulation, MeasuresBothBoundsByTheSameSearchAndSplits) {
  options_.bounds = true;
  const Simulation simulation = Simulate(options_).value();
  ASSERT_TRUE(simulation.true_links.has_value());
  SimulateOptions on_true = options_;
  on_true.bounds = false;
  on_true.graph = SimulatedGraph::kTrue;
  on_true.epsilon_micro.reset();
  on_true.insecure_seeded_noise = false;
  on_true.trials = 1;
  const Simulation alone = Simulate(on_true).value();
  EXPECT_EQ(alone.trials[0].training.logits, simulation.true_links->training.logits) << "of --graph true";
  std::set<std::string> names;
  for (const Tried& tried : alone.trials[0].search) names.insert(PairName(tried.candidate));
  for (const char* name : {"mlp", "class-model", "stacked attributed", "gcn attributed", "gcn"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
  const auto train = JsonOf(simulation)["train"];
  EXPECT_EQ(train["true_links_accuracy_mean"], alone.trials[0].training.test_accuracy);
  double features_only = 0;
  for (const Trial& trial : simulation.trials) {
    features_only += trial.features_only->test_accuracy / 2;
    EXPECT_FALSE(ReadsReports(trial.features_only->candidate));
  }
  EXPECT_DOUBLE_EQ(train["features_only_accuracy_mean"].get<double>(), features_only);
  if (train["recovered_mean"].is_number()) {
    EXPECT_NEAR(train["recovered_mean"].get<double>(),
                (train["test_accuracy_mean"].get<double>() - features_only) /
                    (alone.trials[0].training.test_accuracy - features_only),
                1e-9);
  } else {
    EXPECT_THAT(train["recovered_note"].get<std::string>(), HasSubstr("no share"));
  }
  EXPECT_EQ(JsonOf(simulation)["true_links"]["train"]["chosen"], CandidateName(simulation.true_links->trained));
  EXPECT_THAT(TextOf(simulation), HasSubstr("on the true links"));
}

TEST_F(AttributedSimulation, ASearchOfOtherModelsIsComparedWithTheSameBestOfTheFeatures) {
  options_.trials = 1;
  const Tried all = *Simulate(options_)->trials[0].features_only;
  options_.training.set_model(v1::MODEL_STACKED);
  const Simulation restricted = Simulate(options_).value();
  for (const Tried& tried : restricted.trials[0].search) EXPECT_TRUE(ReadsReports(tried.candidate));
  const Tried& measured = *restricted.trials[0].features_only;
  EXPECT_FALSE(ReadsReports(measured.candidate));
  EXPECT_GE(measured.validation_accuracy, all.validation_accuracy - 0.1);
  EXPECT_NE(restricted.trials[0].trained.options.model, Model::kFeatureClassifier) << "it bounds, and is not chosen";
}

TEST_F(AttributedSimulation, DoesNotDependOnTheThreads) {
  options_.trials = 1;
  options_.threads = 1;
  const Simulation a = Simulate(options_).value();
  options_.threads = 3;
  const Simulation b = Simulate(options_).value();
  EXPECT_EQ(a.trials[0].estimates->attributed->BestGuess().mae, b.trials[0].estimates->attributed->BestGuess().mae);
  EXPECT_EQ(a.trials[0].training.logits, b.trials[0].training.logits);
  EXPECT_EQ(CandidateName(a.trials[0].trained), CandidateName(b.trials[0].trained));
}

TEST_F(AttributedSimulation, LeavesOutWhatItIsTold) {
  options_.trials = 1;
  options_.training.set_model(v1::MODEL_CLASS_MODEL);
  options_.training.set_candidates(1);
  const auto coefficients = [&](const std::vector<std::string>& without) {
    options_.without = without;
    const auto simulation = Simulate(options_);
    EXPECT_TRUE(simulation.ok()) << simulation.status();
    return simulation->trials[0].estimates->attributed->attributed_fit->coefficients.size();
  };
  const size_t all = coefficients({});
  for (const char* part : {"features", "latent", "classes", "network"}) EXPECT_LT(coefficients({part}), all) << part;
  for (const char* part : {"degrees", "total"}) EXPECT_EQ(coefficients({part}), all) << part;
  EXPECT_EQ(coefficients({"features", "latent", "classes", "network"}), 1u) << "the constant";
  options_.without.clear();
  options_.network_rounds = 0;
  EXPECT_EQ(Simulate(options_)->trials[0].estimates->attributed->attributed_fit->network_rounds, 0);
  options_.network_rounds = 2;
  EXPECT_EQ(Simulate(options_)->trials[0].estimates->attributed->attributed_fit->network_rounds, 2);
}

TEST_F(AttributedSimulation, MakesDoWithoutFeatures) {
  data_.attributes.features = {};
  data_.attributes.features.rows = data_.attributes.node_count;
  std::filesystem::remove_all(folder_ + "/dataset");
  std::filesystem::create_directories(folder_ + "/dataset");
  ASSERT_TRUE(WriteDataset(data_, folder_ + "/dataset").ok());
  std::filesystem::remove(folder_ + "/dataset/features.npz");
  options_.trials = 1;
  options_.training.set_candidates(4);
  const auto simulation = Simulate(options_);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  for (const auto& [feature, theta] : simulation->trials[0].estimates->attributed->attributed_fit->coefficients) {
    EXPECT_THAT(feature, Not(HasSubstr("cosine")));
    EXPECT_TRUE(std::isfinite(theta)) << feature;
  }
  options_.training.set_node_features(v1::NODE_FEATURES_GIVEN);
  options_.training.set_model(v1::MODEL_GCN);
  ExpectRefused(options_, "there are no node features");
}

TEST_F(AttributedSimulation, WritesTheLinksThatWhatItChoseHasSeen) {
  options_.trials = 1;
  options_.training.set_model(v1::MODEL_STACKED);
  options_.training.set_candidates(1);  // the first is on its own links
  options_.output = folder_ + "/result";
  const auto simulation = Simulate(options_);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  const auto metrics = nlohmann::json::parse(ReadFile(options_.output + "/metrics.json", 1 << 20).value());
  EXPECT_EQ(metrics["train"]["model"], "stacked");
  EXPECT_EQ(metrics["train"]["prior"], "attributed");
  EXPECT_EQ(metrics["train"]["variant"], "soft");
  EXPECT_TRUE(metrics["train"]["learning_rate"].is_null());
  EXPECT_TRUE(metrics["train"]["epoch_ms_mean"].is_null()) << "it has no epochs";
  const auto json = JsonOf(*simulation);
  EXPECT_TRUE(json["train"]["epoch_ms_mean"].is_null());
  EXPECT_THAT(TextOf(*simulation), Not(HasSubstr("an epoch")));
  const FeatureMatrix seen = ReadSparseNpz(options_.output + "/links.npz").value();
  EXPECT_EQ(seen.values.size(), 2 * metrics["estimate"]["trained_links"].get<size_t>());
  for (const float weight : seen.values) EXPECT_GT(weight, kKeptMin);
  EXPECT_EQ(ReadFile(options_.output + "/curves.csv", 1 << 20).value(),
            "epoch,train_loss,validation_loss,validation_accuracy\n");
  EXPECT_FALSE(std::filesystem::exists(options_.output + "/model.ts"));
  EXPECT_TRUE(CheckIsResult(options_.output).ok());
}

TEST_F(SimulateTest, TheAttributedPriorNeedsReportsWhateverIsTrained) {
  SimulateOptions options = Options();
  options.epsilon_micro.reset();
  options.training.set_prior(v1::PRIOR_ATTRIBUTED);
  options.training.set_model(v1::MODEL_MLP);
  ExpectRefused(options, "--epsilon is missing");
}

TEST_F(AttributedSimulation, TheStackedModelOnTheBetaPriorsLinksIsTriedBesideItsOwn) {
  options_.trials = 1;
  options_.training.set_model(v1::MODEL_STACKED);
  options_.training.set_candidates(24);
  const Simulation simulation = Simulate(options_).value();
  std::vector<std::string> names;
  for (const Tried& tried : simulation.trials[0].search) {
    EXPECT_EQ(tried.skipped, "");
    names.push_back(CandidateName(tried.candidate));
  }
  EXPECT_THAT(names, ::testing::ElementsAre("stacked soft attributed", "stacked soft",
                                            "mean of stacked soft + stacked soft attributed"));
}

}  // namespace
}  // namespace blink
