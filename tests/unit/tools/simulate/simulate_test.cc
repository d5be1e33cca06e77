// What a simulation prints, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "common/base/durable_file.h"
#include "common/base/program.h"
#include "common/wire/degree_share.h"
#include "tests/unit/tools/simulate/simulate_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(SimulateTest, PrintsEveryDocumentedFigure) {
  const auto simulation = Simulate(Options());
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  const auto json = JsonOf(*simulation);
  const std::map<std::string, std::vector<std::string>> documented = {
      {"dataset", {"nodes", "links", "features", "classes"}},
      {"privacy",
       {"private", "simulated", "noise", "mechanism", "epsilon", "degree_share", "epsilon_list", "epsilon_degree",
        "flip_probability", "achieved_epsilon"}},
      {"report", {"bytes_mean", "entropy_bytes", "privatize_us_mean"}},
      {"plausibility", {"policy", "false_alarm", "threshold_z", "tested", "flagged", "dropped", "symmetric"}},
      {"estimate",
       {"distinct_degrees", "mle_seconds", "mle_iterations", "mle_residual", "denoise_seconds", "mae", "expected_links",
        "links", "true_positives", "precision", "recall", "trained_links", "trained_weight", "trained_precision",
        "trained_recall"}},
      {"train", {"model", "variant", "device", "epoch_ms_mean", "test_accuracy_mean", "test_accuracy_std"}}};
  for (const auto& [part, keys] : documented) {
    for (const std::string& key : keys) EXPECT_FALSE(json[part][key].is_null()) << part << "." << key;
  }
  EXPECT_EQ(json["peak_rss_bytes"], 12345);
  EXPECT_EQ(json["privacy"]["private"], true);
  EXPECT_EQ(json["privacy"]["simulated"], true) << "one process saw every list";
  EXPECT_EQ(json["privacy"]["noise"], "cryptographic");
  ASSERT_EQ(json["trials"].size(), 2u);
  EXPECT_EQ(json["trials"][0]["seed"], 1);
  EXPECT_EQ(json["trials"][1]["seed"], 2);
  EXPECT_NE(json["trials"][0]["estimate"]["mae"], json["trials"][1]["estimate"]["mae"]) << "drawn anew";
  EXPECT_TRUE(json["trials"][0]["plausibility"]["flags"].is_array());
  EXPECT_EQ(json["trials"][0]["estimate"]["tie_seed"], "0000000000000001") << "of the seed";
  EXPECT_EQ(json["train"]["variant"], "hard");
  EXPECT_THAT(TextOf(*simulation), HasSubstr("achieved"));
  EXPECT_THAT(TextOf(*simulation), HasSubstr("2 trials of gcn, hard"));
  EXPECT_THAT(TextOf(*simulation), HasSubstr("of 200, 0 (policy flag)"));
}

TEST_F(SimulateTest, LeavesOutTheReportsOfMissingNodes) {
  SimulateOptions options = Options();
  options.missing = 0.25;
  options.insecure_seeded_noise = true;
  options.training.set_variant(v1::VARIANT_SOFT);
  const Simulation a = Simulate(options).value(), b = Simulate(options).value();
  const auto json = JsonOf(a);
  EXPECT_EQ(json["missing"], 0.25);
  EXPECT_EQ(json["estimate"]["nodes_without_report"], 50) << "of 200";
  EXPECT_THAT(TextOf(a), HasSubstr("never report"));
  EXPECT_EQ(a.trials[0].estimates->beta.mae, b.trials[0].estimates->beta.mae) << "chosen by the seed";
  EXPECT_NE(a.trials[0].estimates->beta.mae, a.trials[1].estimates->beta.mae) << "chosen by the trial's seed";
}

TEST_F(SimulateTest, RefusesToLeaveOutEveryNodeOrReportsThatAreNotDrawn) {
  SimulateOptions options = Options();
  for (const double missing : {1.0, -0.1, std::nan("")}) {
    options.missing = missing;
    ExpectRefused(options, "--missing");
  }
  options.missing = 0.5;
  options.graph = SimulatedGraph::kTrue;
  ExpectRefused(options, "--missing");
  options.graph = SimulatedGraph::kBlink;
  options.epsilon_micro.reset();
  options.reports = "somewhere";
  ExpectRefused(options, "--missing");
}

TEST_F(SimulateTest, SeededNoiseRepeatsAndIsNotPrivate) {
  SimulateOptions options = Options();
  options.insecure_seeded_noise = true;
  options.seed = 3;
  const Simulation a = Simulate(options).value(), b = Simulate(options).value();
  EXPECT_EQ(a.trials[1].training.logits, b.trials[1].training.logits);
  EXPECT_EQ(a.trials[1].estimates->beta.mae, b.trials[1].estimates->beta.mae);
  EXPECT_EQ(a.trials[1].seed, 4u);
  const auto json = JsonOf(a);
  EXPECT_EQ(json["privacy"]["private"], false);
  EXPECT_EQ(json["privacy"]["noise"], "seeded");
  EXPECT_TRUE(json["privacy"]["achieved_epsilon"].is_null());
  EXPECT_THAT(TextOf(a), HasSubstr("NOT PRIVATE"));
}

TEST_F(SimulateTest, TellsTheLinksOfHardFromThoseThatWereTrainedOn) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.insecure_seeded_noise = true;
  const auto estimate = [&](v1::Variant variant) {
    options.training.set_variant(variant);
    return JsonOf(Simulate(options).value())["estimate"];
  };
  const auto hard = estimate(v1::VARIANT_HARD), soft = estimate(v1::VARIANT_SOFT),
             hybrid = estimate(v1::VARIANT_HYBRID);
  EXPECT_EQ(hard["trained_links"], hard["links"]);
  EXPECT_EQ(hard["trained_precision"], hard["precision"]);
  EXPECT_EQ(hard["trained_recall"], hard["recall"]);
  EXPECT_EQ(hybrid["links"], hard["links"]) << "the same reports";
  EXPECT_EQ(hybrid["trained_links"], std::floor(hybrid["expected_links"].get<double>()));
  EXPECT_LT(hybrid["trained_weight"], hybrid["trained_links"]);
  EXPECT_TRUE(soft["trained_links"].is_null()) << "every pair";
  EXPECT_TRUE(soft["trained_precision"].is_null());
  EXPECT_EQ(soft["trained_weight"], soft["expected_links"]);
}

TEST_F(SimulateTest, OneTrialHasNoDeviationAndNoTestNodesNoAccuracy) {
  SimulateOptions options = Options();
  options.trials = 1;
  Simulation simulation = Simulate(options).value();
  auto json = JsonOf(simulation);
  EXPECT_TRUE(json["train"]["test_accuracy_std"].is_null());
  EXPECT_THAT(TextOf(simulation), Not(HasSubstr("+-")));
  for (Split& split : data_.attributes.split) split = split == Split::kTest ? Split::kNone : split;
  std::filesystem::remove_all(folder_ + "/dataset");
  std::filesystem::create_directories(folder_ + "/dataset");
  ASSERT_TRUE(WriteDataset(data_, folder_ + "/dataset").ok());
  options.trials = 2;
  simulation = Simulate(options).value();
  json = JsonOf(simulation);
  EXPECT_TRUE(std::isnan(json["train"]["test_accuracy_mean"].get<double>()));
  EXPECT_THAT(TextOf(simulation), Not(HasSubstr("+-")));
  EXPECT_THAT(TextOf(simulation), HasSubstr("none: no node with a label is in the test split\n"));
}

TEST_F(SimulateTest, RefusesTheDegreeAsFeatureOfAModelThatSeesNoLink) {
  for (const v1::NodeFeatures features : {v1::NODE_FEATURES_DEGREE, v1::NODE_FEATURES_GIVEN_AND_DEGREE}) {
    SimulateOptions options = Options();
    options.training.set_model(v1::MODEL_MLP);
    options.training.set_node_features(features);
    EXPECT_THAT(std::string(ValidateSimulateOptions(options).message()), HasSubstr("--node-features"));
    options.graph = SimulatedGraph::kTrue;
    ExpectRefused(options, "--node-features");
  }
}

TEST_F(SimulateTest, WarnsOfAModelThatPredictsOneClass) {
  for (uint32_t i = 0; i < data_.attributes.node_count; ++i) data_.attributes.labels[i] = i % 50 == 0 ? 0 : 1;
  ASSERT_TRUE(WriteDataset(data_, folder_ + "/dataset").ok());
  SimulateOptions options = Options();
  options.trials = 1;
  options.insecure_seeded_noise = true;
  const Simulation simulation = Simulate(options).value();
  const SplitFigures& test = simulation.trials[0].training.test;
  ASSERT_EQ(test.classes[1].predicted, test.nodes);
  EXPECT_THAT(TextOf(simulation), HasSubstr("predicts class 1 (class-1) for every test node"));
  EXPECT_THAT(JsonOf(simulation)["train"]["warnings"].dump(), HasSubstr("macro-F1 and ROC-AUC"));
}

TEST_F(SimulateTest, APartialResultIsMarkedAndSaysHowManyTrialsItHas) {
  SimulateOptions options = Options();
  Simulation simulation = Simulate(options).value();
  EXPECT_EQ(JsonOf(simulation)["partial"], false);
  EXPECT_THAT(TextOf(simulation), Not(HasSubstr("PARTIAL")));
  EXPECT_THAT(TextOf(simulation), HasSubstr("% (standard deviation over the trials)"));
  simulation.trials.pop_back();
  const auto json = JsonOf(simulation);
  EXPECT_EQ(json["partial"], true);
  EXPECT_EQ(json["trials_asked"], 2);
  EXPECT_EQ(json["trials_done"], 1);
  EXPECT_EQ(json["trials"].size(), 1u);
  EXPECT_THAT(TextOf(simulation), HasSubstr("PARTIAL: ended after 1 of 2 trials"));
  simulation.trials.clear();
  EXPECT_TRUE(JsonOf(simulation)["train"].is_null());
  EXPECT_THAT(TextOf(simulation), HasSubstr("PARTIAL: ended after 0 of 2 trials"));
}

TEST_F(SimulateTest, NamesTheDataSetAndTheProgram) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.output = folder_ + "/result";
  const auto json = JsonOf(Simulate(options).value());
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["program"]["version"], ProgramVersion());
  EXPECT_EQ(json["program"]["commit"], "unknown") << "tests do not link it";
  EXPECT_FALSE(json["program"]["arguments"].empty());
  EXPECT_EQ(json["dataset"]["name"], "dataset");
  const auto metrics = nlohmann::json::parse(ReadFile(options.output + "/metrics.json", 1 << 24).value());
  EXPECT_EQ(metrics["dataset"]["name"], "dataset");
  EXPECT_EQ(metrics["dataset"]["attributes_sha256"], json["dataset"]["attributes_sha256"]);
  data_.attributes.labels[5] = (data_.attributes.labels[5] + 1) % 3;
  ASSERT_TRUE(WriteDataset(data_, folder_ + "/dataset").ok());
  options.output.clear();
  const auto other = JsonOf(Simulate(options).value());
  EXPECT_NE(other["dataset"]["attributes_sha256"], json["dataset"]["attributes_sha256"]);
  EXPECT_NE(other["dataset"]["sha256"], json["dataset"]["sha256"]);
}

TEST_F(SimulateTest, RefusesWhatCanNeverBeTrainedBeforeAReportIsDrawn) {
  SimulateOptions options = Options();
  options.training.set_model(v1::MODEL_MLP);
  options.training.set_node_features(v1::NODE_FEATURES_DEGREE);
  ExpectRefused(options, "the degree cannot be its feature");
  options = Options();
  options.training.set_device("cuda:127");
  absl::Status refused = Simulate(options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("training.device is cuda:127"));
  for (uint32_t i = 0; i < data_.attributes.node_count; ++i) {
    if (data_.attributes.split[i] == Split::kValidation) data_.attributes.labels[i] = -1;
  }
  ASSERT_TRUE(WriteDataset(data_, folder_ + "/dataset").ok());
  for (const SimulatedGraph graph : {SimulatedGraph::kBlink, SimulatedGraph::kTrue}) {
    options = Options();
    options.graph = graph;
    refused = Simulate(options).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("validation split"));
  }
}

TEST_F(SimulateTest, TheShareOfTheDegreesIsByEpsilonUnlessItIsGiven) {
  SimulateOptions options = Options();
  options.trials = 1;
  EXPECT_EQ(Simulate(options).value().parameters->degree_share_ppm(), DefaultDegreeSharePpm(6'000'000, Prior::kBeta));
  options.degree_share_ppm = 250'000;
  EXPECT_EQ(Simulate(options).value().parameters->degree_share_ppm(), 250'000u);
}

TEST_F(SimulateTest, RefusesOptionsThatContradictEachOther) {
  SimulateOptions options = Options();
  options.epsilon_micro.reset();
  ExpectRefused(options, "--epsilon is missing");
  options = Options();
  options.reports = folder_ + "/round";
  ExpectRefused(options, "--reports replays");
  options = Options();
  options.graph = SimulatedGraph::kTrue;
  options.insecure_seeded_noise = true;
  ExpectRefused(options, "--insecure-seeded-noise");
  options.insecure_seeded_noise = false;
  options.reports = folder_ + "/round";
  ExpectRefused(options, "leave out --reports");
}

TEST_F(SimulateTest, RefusesABudgetOutOfRange) {
  SimulateOptions options = Options();
  options.epsilon_micro = 0;
  ExpectRefused(options, "--epsilon is 0: it must be in (0, 50]");
  options.epsilon_micro = 50'000'001;
  ExpectRefused(options, "--epsilon is 50.000001: it must be in (0, 50]");
  options = Options();
  options.degree_share_ppm = 1'000'001;
  ExpectRefused(options, "--degree-share is 1.000001: it must be in [0, 1]");
  options = Options();
  options.trials = 0;
  ExpectRefused(options, "--trials");
}

TEST_F(SimulateTest, AMissingDataSetIsNotFound) {
  SimulateOptions options = Options();
  options.dataset = folder_ + "/nowhere";
  EXPECT_EQ(Simulate(options).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace blink
