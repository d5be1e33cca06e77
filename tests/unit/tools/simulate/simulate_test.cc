#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "aggregator_server/result/result_place.h"
#include "common/base/durable_file.h"
#include "common/base/program.h"
#include "common/graph/numpy_file.h"
#include "common/wire/degree_share.h"
#include "common/wire/training_spec.h"
#include "tests/unit/worker/small_round.h"
#include "tools/simulate/figures.h"
#include "tools/simulate/json_report.h"
#include "tools/simulate/run.h"
#include "tools/simulate/text_report.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

nlohmann::ordered_json JsonOf(const Simulation& simulation) { return SimulationJson(FiguresOf(simulation, 12345)); }
std::string TextOf(const Simulation& simulation) { return SimulationText(FiguresOf(simulation, 12345)); }

class SimulateTest : public testing::SmallRound {
 protected:
  SimulateOptions Options() const {
    SimulateOptions options;
    options.dataset = folder_ + "/dataset";
    options.epsilon_micro = 6'000'000;
    options.trials = 2;
    options.training = testing::SmallSpec();
    options.progress = false;
    return options;
  }
  SimulateOptions Replay() const {
    SimulateOptions options;
    options.dataset = folder_ + "/dataset";
    options.reports = folder_ + "/round";
    options.progress = false;
    return options;
  }
  void ExpectRefused(const SimulateOptions& options, const std::string& text) const {
    const auto simulation = Simulate(options);
    EXPECT_EQ(simulation.status().code(), absl::StatusCode::kInvalidArgument) << simulation.status();
    EXPECT_THAT(std::string(simulation.status().message()), HasSubstr(text));
  }
};

TEST_F(SimulateTest, PrintsEveryDocumentedFigure) {
  const auto simulation = Simulate(Options());
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  const auto json = JsonOf(*simulation);
  const std::map<std::string, std::vector<std::string>> documented = {
      {"dataset", {"nodes", "links", "features", "classes"}},
      {"privacy",
       {"private", "simulated", "noise", "epsilon", "degree_share", "epsilon_list", "epsilon_degree",
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

// The result folder is what leaves the machine: it says itself what it is.
TEST_F(SimulateTest, TheResultFolderSaysWhereItsReportsCameFrom) {
  const auto privacy = [&](SimulateOptions options, const std::string& name) {
    options.output = folder_ + "/" + name;
    options.trials = 1;
    EXPECT_TRUE(Simulate(options).ok());
    return nlohmann::json::parse(ReadFile(options.output + "/metrics.json", 1 << 20).value());
  };
  const auto drawn = privacy(Options(), "drawn");
  EXPECT_EQ(drawn["kind"], "simulation");
  EXPECT_EQ(drawn["privacy"]["private"], true);
  EXPECT_EQ(drawn["privacy"]["simulated"], true);
  EXPECT_EQ(drawn["privacy"]["noise"], "cryptographic");
  EXPECT_LE(drawn["privacy"]["achieved_epsilon"], 6.0);
  SimulateOptions seeded_options = Options();
  seeded_options.insecure_seeded_noise = true;
  const auto seeded = privacy(seeded_options, "seeded");
  EXPECT_EQ(seeded["kind"], "simulation");
  EXPECT_EQ(seeded["privacy"]["private"], false);
  EXPECT_EQ(seeded["privacy"]["noise"], "seeded");
  EXPECT_TRUE(seeded["privacy"]["achieved_epsilon"].is_null());
  EXPECT_TRUE(seeded["privacy"]["achieved_epsilon_per_undirected_link"].is_null());
  const auto replay = privacy(Replay(), "replay");
  EXPECT_EQ(replay["kind"], "replay");
  EXPECT_EQ(replay["privacy"]["private"], true);
  EXPECT_EQ(replay["privacy"]["noise"], "nodes");
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
  EXPECT_THAT(TextOf(simulation), ::testing::ContainsRegex("test accuracy +none\n"));
}

TEST_F(SimulateTest, SaysWhatTheTrialsOfASearchReallyTrained) {
  Simulation simulation = Simulate(Options()).value();
  simulation.trials[1].trained.options.model = Model::kGat;
  EXPECT_THAT(TextOf(simulation), HasSubstr("2 trials of gcn, hard (1) and gat, hard (1)"));
}

// --output: said before anything is done, and nothing of a stranger's is touched.

TEST_F(SimulateTest, RefusesAnOutputThatHoldsSomethingElseBeforeItTrains) {
  SimulateOptions options = Options();
  options.dataset = folder_ + "/nowhere";  // it is not even read
  options.output = folder_ + "/mine";
  std::filesystem::create_directories(options.output);
  std::ofstream(options.output + "/thesis.tex") << "x";
  for (const bool replace : {false, true}) {
    options.replace_output = replace;
    ExpectRefused(options, "holds thesis.tex, which is not part of a result");
  }
  EXPECT_EQ(ReadFile(options.output + "/thesis.tex", 10).value(), "x");
  EXPECT_FALSE(std::filesystem::exists(options.output + ".tmp"));
  options.output = folder_ + "/mine/thesis.tex";
  ExpectRefused(options, "is not a folder");
  options.output = folder_ + "/no/parent";
  EXPECT_EQ(Simulate(options).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SimulateTest, ReplacesAnEarlierResultOnlyWhenItIsTold) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.output = folder_ + "/result";
  ASSERT_TRUE(Simulate(options).ok());
  const std::string first = ReadFile(options.output + "/predictions.csv", 1 << 20).value();
  ExpectRefused(options, "--replace");
  EXPECT_EQ(ReadFile(options.output + "/predictions.csv", 1 << 20).value(), first);
  options.replace_output = true;
  options.training.set_epochs(3);
  ASSERT_TRUE(Simulate(options).ok());
  EXPECT_EQ(nlohmann::json::parse(ReadFile(options.output + "/metrics.json", 1 << 20).value())["train"]["epochs"], 3);
  EXPECT_FALSE(std::filesystem::exists(options.output + ".tmp"));
  options.output.clear();
  ExpectRefused(options, "--replace");
}

TEST_F(SimulateTest, AFailedSimulationLeavesNoOutputBehind) {
  SimulateOptions options = Options();
  options.dataset = folder_ + "/nowhere";
  options.output = folder_ + "/result";
  EXPECT_FALSE(Simulate(options).ok());
  EXPECT_FALSE(std::filesystem::exists(options.output));
  EXPECT_FALSE(std::filesystem::exists(options.output + ".tmp"));
}

TEST_F(SimulateTest, GoesOnFromItsCheckpointsWhereTheLinksAreTheSame) {
  SimulateOptions options = Options();
  options.graph = SimulatedGraph::kTrue;
  options.epsilon_micro.reset();
  options.checkpoint = folder_ + "/checkpoints";
  const Simulation a = Simulate(options).value(), b = Simulate(options).value();
  ASSERT_EQ(a.trials.size(), b.trials.size());
  for (size_t t = 0; t < a.trials.size(); ++t) {
    EXPECT_EQ(a.trials[t].training.resumed_from_epoch, 0);
    EXPECT_EQ(b.trials[t].training.resumed_from_epoch, static_cast<int>(b.trials[t].training.validation_losses.size()));
    EXPECT_EQ(a.trials[t].training.logits, b.trials[t].training.logits);
  }
}

TEST_F(SimulateTest, RefusesACheckpointFolderWhereItsResultGoes) {
  SimulateOptions options = Options();
  options.insecure_seeded_noise = true;
  options.output = folder_ + "/out";
  for (const char* checkpoint :
       {"/out", "/out/", "/out/states", "/./out/../out/states", "/out.tmp", "/out.tmp/states", "/out.old"}) {
    options.checkpoint = folder_ + checkpoint;
    ExpectRefused(options, "name a folder apart from --output");
  }
  for (const char* checkpoint : {"/outer", "/out.states"}) {
    options.checkpoint = folder_ + checkpoint;
    EXPECT_TRUE(ValidateSimulateOptions(options).ok()) << checkpoint;
  }
}

TEST_F(SimulateTest, RefusesACheckpointFolderThatIsNotThisSimulations) {
  SimulateOptions options = Options();
  options.graph = SimulatedGraph::kTrue;
  options.epsilon_micro.reset();
  options.trials = 1;
  options.checkpoint = folder_ + "/dataset/labels.csv";
  const std::string labels = ReadFile(options.checkpoint, 1 << 20).value();
  ExpectRefused(options, "is not a folder");
  EXPECT_EQ(ReadFile(options.checkpoint, 1 << 20).value(), labels);
  options.checkpoint = "/dev/zero";
  ExpectRefused(options, "is not a folder");
  options.checkpoint = folder_ + "/dataset";
  ExpectRefused(options, "holds something else");
  options.checkpoint = folder_ + "/checkpoints";
  ASSERT_TRUE(Simulate(options).ok());
  options.training.set_dropout(0.5);
  ExpectRefused(options, "is of another simulation");
  options.training.set_dropout(0.25);
  options.seed = 2;
  ExpectRefused(options, "is of another simulation");
  options.seed.reset();
  options.trials = 2;  // more of the same
  EXPECT_EQ(Simulate(options).value().trials[0].training.resumed_from_epoch, 20);
}

TEST_F(SimulateTest, RefusesStatesThatAreNoneBeforeItTrains) {
  SimulateOptions options = Options();
  options.graph = SimulatedGraph::kTrue;
  options.epsilon_micro.reset();
  options.trials = 1;
  options.checkpoint = folder_ + "/checkpoints";
  ASSERT_TRUE(Simulate(options).ok());
  const std::string state = options.checkpoint + "/trial-1/training.checkpoint";
  const std::string good = ReadFile(state, 1 << 24).value();
  std::ofstream(state, std::ios::binary | std::ios::trunc) << good.substr(0, good.size() / 2);
  ExpectRefused(options, "truncated");
  std::ofstream(state, std::ios::binary | std::ios::trunc) << "my own notes";
  ExpectRefused(options, "remove it");
  EXPECT_EQ(ReadFile(state, 100).value(), "my own notes");
  std::filesystem::remove(state);
  ASSERT_EQ(::mkfifo(state.c_str(), 0600), 0);
  ExpectRefused(options, "not a regular file");
  std::filesystem::remove(state);
  std::filesystem::create_directories(state);
  ExpectRefused(options, "is a folder");
}

TEST_F(SimulateTest, KeepsAStateAsOftenAsItIsTold) {
  SimulateOptions options = Options();
  options.graph = SimulatedGraph::kTrue;
  options.epsilon_micro.reset();
  options.checkpoint = folder_ + "/checkpoints";
  for (const double bad : {-1.0, 86'401.0, std::nan("")}) {
    options.checkpoint_every_s = bad;
    ExpectRefused(options, "--checkpoint-every");
  }
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

// The attributed prior.

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

TEST_F(SimulateTest, RefusesPartsOfAnEstimateThatTheTrueGraphDoesNotNeed) {
  SimulateOptions options = Options();
  options.graph = SimulatedGraph::kTrue;
  options.epsilon_micro.reset();
  options.training.set_prior(v1::PRIOR_ATTRIBUTED);
  options.without = {"nearest"};
  ExpectRefused(options, "--without is about the estimate of the links");
  options.without.clear();
  options.network_rounds = 1;
  ExpectRefused(options, "--network-rounds is about the estimate of the links");
}

TEST_F(SimulateTest, RefusesBoundsOfATrainingThatSeesNoReports) {
  SimulateOptions options = Options();
  options.bounds = true;
  options.graph = SimulatedGraph::kTrue;
  options.epsilon_micro.reset();
  ExpectRefused(options, "--bounds measures between which bounds");
  options.graph = SimulatedGraph::kBlink;
  options.training.set_model(v1::MODEL_MLP);
  ExpectRefused(options, "--bounds measures between which bounds");
}

TEST_F(SimulateTest, RefusesAScoreWithoutASearch) {
  SimulateOptions options = Options();
  options.training.set_score(v1::MEASURE_MACRO_F1);
  ExpectRefused(options, "--score is macro-f1, by which a search chooses");
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

TEST_F(SimulateTest, ASearchUnderTheBetaPriorKnowsTheClassModelToo) {
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

TEST_F(SimulateTest, BoundsOfOneTrainingAreMeasuredWithoutASearch) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.bounds = true;
  const Simulation simulation = Simulate(options).value();
  EXPECT_TRUE(simulation.trials[0].search.empty());
  EXPECT_TRUE(simulation.trials[0].features_only.has_value());
  EXPECT_EQ(simulation.true_links->trained.options.model, Model::kGcn);
  EXPECT_TRUE(JsonOf(simulation)["train"].contains("recovered_mean"));
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

TEST_F(SimulateTest, ChoosesByTheScoreThatItIsTold) {
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

TEST_F(SimulateTest, AScoreThatIsNotDefinedGivesWayToAccuracyAndSaysSo) {
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

mode_t ModeOf(const std::string& path) {
  struct stat state {};
  EXPECT_EQ(::stat(path.c_str(), &state), 0) << path;
  return state.st_mode & 07777;
}

TEST_F(SimulateTest, GoesOnWithTheReportsThatItKept) {
  SimulateOptions options = Options();
  options.missing = 0.1;
  options.checkpoint = folder_ + "/checkpoints";
  const Simulation a = Simulate(options).value(), b = Simulate(options).value();
  EXPECT_EQ(b.origin, ReportOrigin::kSimulation);
  for (size_t t = 0; t < a.trials.size(); ++t) {
    EXPECT_EQ(b.trials[t].training.resumed_from_epoch, 20);
    EXPECT_EQ(a.trials[t].training.logits, b.trials[t].training.logits);
    EXPECT_EQ(a.trials[t].estimates->beta.expected_links, b.trials[t].estimates->beta.expected_links);
    EXPECT_DOUBLE_EQ(a.trials[t].report->bytes_mean, b.trials[t].report->bytes_mean);
  }
  EXPECT_NE(a.trials[0].estimates->beta.expected_links, a.trials[1].estimates->beta.expected_links) << "drawn anew";
  options.trials = 3;
  EXPECT_EQ(Simulate(options).value().trials[2].training.resumed_from_epoch, 0) << "a trial more is drawn";
  const RoundFolder kept = ReadRoundFolder(options.checkpoint + "/trial-1").value();
  EXPECT_EQ(kept.reports.report_count(), 180u) << "a round's folder, which a replay takes";
}

TEST_F(SimulateTest, ShowsTheReportsThatItKeepsToTheirOwnerAlone) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.checkpoint = folder_ + "/checkpoints";
  std::filesystem::create_directories(options.checkpoint);
  ASSERT_EQ(::chmod(options.checkpoint.c_str(), 0755), 0);
  ASSERT_TRUE(Simulate(options).ok());
  EXPECT_EQ(ModeOf(options.checkpoint), 0700u);
  EXPECT_EQ(ModeOf(options.checkpoint + "/trial-1"), 0700u);
  for (const char* file : {"reports.blr", "round.json"}) {
    EXPECT_EQ(ModeOf(options.checkpoint + "/trial-1/" + file), 0600u) << file;
  }
}

TEST_F(SimulateTest, RefusesKeptReportsThatAreDamagedOrOfAnotherDraw) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.checkpoint = folder_ + "/checkpoints";
  ASSERT_TRUE(Simulate(options).ok());
  options.insecure_seeded_noise = true;
  ExpectRefused(options, "is of another simulation");
  options.insecure_seeded_noise = false;
  options.epsilon_micro = 5'000'000;
  ExpectRefused(options, "is of another simulation");
  options.epsilon_micro = 6'000'000;
  const std::string reports = options.checkpoint + "/trial-1/reports.blr";
  const std::string good = ReadFile(reports, 1 << 24).value();
  std::ofstream(reports, std::ios::binary | std::ios::trunc) << good.substr(0, good.size() / 2);
  ExpectRefused(options, "its trial is drawn anew");
  std::filesystem::remove_all(options.checkpoint + "/trial-1");
  EXPECT_EQ(Simulate(options).value().trials[0].training.resumed_from_epoch, 0);
}

TEST_F(SimulateTest, DrawsAnewWhereNotAllReportsWereKept) {
  SimulateOptions options = Options();
  options.trials = 1;
  options.checkpoint = folder_ + "/checkpoints";
  ASSERT_TRUE(Simulate(options).ok());
  std::filesystem::remove(options.checkpoint + "/trial-1/round.json");  // written last
  std::filesystem::remove(options.checkpoint + "/trial-1/training.checkpoint");
  EXPECT_TRUE(Simulate(options).ok());
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
  EXPECT_THAT(TextOf(simulation), HasSubstr("PARTIAL: interrupted after 1 of 2 trials"));
  simulation.trials.clear();
  EXPECT_TRUE(JsonOf(simulation)["train"].is_null());
  EXPECT_THAT(TextOf(simulation), HasSubstr("PARTIAL: interrupted after 0 of 2 trials"));
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

TEST_F(SimulateTest, TheTrueGraphIsNotPrivateAndHasNoReports) {
  SimulateOptions options = Options();
  options.graph = SimulatedGraph::kTrue;
  options.epsilon_micro.reset();
  const Simulation simulation = Simulate(options).value();
  const auto json = JsonOf(simulation);
  EXPECT_EQ(json["privacy"]["private"], false);
  EXPECT_TRUE(json["report"].is_null());
  EXPECT_TRUE(json["estimate"].is_null());
  EXPECT_TRUE(json["train"]["variant"].is_null()) << "nothing was estimated";
  EXPECT_EQ(json["train"]["model"], "gcn");
  EXPECT_GT(json["train"]["test_accuracy_mean"].get<double>(), 0.4);
  EXPECT_THAT(TextOf(simulation), HasSubstr("true graph"));
}

TEST_F(SimulateTest, TheMlpAloneNeedsNoReportsAndTrainsAlikeWithThem) {
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

TEST_F(SimulateTest, AReplayTakesTheRoundsTrainingAndWhatIsAskedForGoesFirst) {
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

TEST_F(SimulateTest, AReplayTakesTheRoundsPolicyUnlessAskedForAnother) {
  v1::Round round = ReadRoundFolder(folder_ + "/round").value().round;
  round.set_implausible(v1::IMPLAUSIBLE_DROP);
  ASSERT_TRUE(WriteRoundJson(round, folder_ + "/round").ok());
  SimulateOptions options = Replay();
  EXPECT_EQ(Simulate(options).value().trials[0].checks->policy, v1::IMPLAUSIBLE_DROP);
  options.implausible = v1::IMPLAUSIBLE_KEEP;
  EXPECT_EQ(Simulate(options).value().trials[0].checks->policy, v1::IMPLAUSIBLE_KEEP);
}

TEST_F(SimulateTest, ASearchTakesTheLinksOfEachTrialsOneDraw) {
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

TEST_F(SimulateTest, ASearchSaysWhyItSkippedACandidateForAllTrialsToo) {
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

TEST_F(SimulateTest, ASearchOnAReplayIsNotBoundByTheRoundsChoice) {
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

TEST_F(SimulateTest, ASearchOnTheTrueGraphHasNoVariants) {
  SimulateOptions options = Options();
  options.graph = SimulatedGraph::kTrue;
  options.epsilon_micro.reset();
  options.trials = 1;
  options.training.set_candidates(4);
  const Simulation simulation = Simulate(options).value();
  ASSERT_EQ(simulation.trials[0].search.size(), 4u) << "a setting is given, so one of each model";
  for (const Tried& tried : simulation.trials[0].search) EXPECT_FALSE(tried.candidate.variant.has_value());
}

TEST_F(SimulateTest, TheShareOfTheDegreesIsByEpsilonUnlessItIsGiven) {
  SimulateOptions options = Options();
  options.trials = 1;
  EXPECT_EQ(Simulate(options).value().parameters->degree_share_ppm(), DefaultDegreeSharePpm(6'000'000, Prior::kBeta));
  options.degree_share_ppm = 250'000;
  EXPECT_EQ(Simulate(options).value().parameters->degree_share_ppm(), 250'000u);
}

// ---- without labels ----

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
  SimulateOptions options = Plain();
  options.epsilon_micro.reset();
  options.graph = SimulatedGraph::kTrue;
  EXPECT_EQ(Simulate(options).status().code(), absl::StatusCode::kFailedPrecondition);
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

TEST_F(SimulateTest, RefusesReportsOfAnotherGraph) {
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

TEST_F(SimulateTest, AMissingDataSetIsNotFound) {
  SimulateOptions options = Options();
  options.dataset = folder_ + "/nowhere";
  EXPECT_EQ(Simulate(options).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace blink
