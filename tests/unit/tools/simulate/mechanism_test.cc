// The other mechanisms in a simulation: what they print, what a link costs, and which flags they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/testing/random_doubles.h"
#include "tests/unit/worker/small_round.h"
#include "tools/simulate/figures.h"
#include "tools/simulate/json_report.h"
#include "tools/simulate/mechanism_trial.h"
#include "tools/simulate/run.h"
#include "tools/simulate/text_report.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

nlohmann::ordered_json JsonOf(const Simulation& simulation) { return SimulationJson(FiguresOf(simulation, 12345)); }
std::string TextOf(const Simulation& simulation) { return SimulationText(FiguresOf(simulation, 12345), 100); }

class MechanismTest : public testing::SmallRound {
 protected:
  SimulateOptions Options(MechanismKind kind) const {
    SimulateOptions options;
    options.dataset = folder_ + "/dataset";
    options.mechanism = kind;
    if (FactsOf(kind).draws_noise) options.epsilon_micro = 4'000'000;
    options.trials = 2;
    options.training = testing::SmallSpec();
    options.progress = false;
    return options;
  }
  void ExpectRefused(const SimulateOptions& options, const std::string& flag) const {
    const absl::Status status = ValidateSimulateOptions(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << flag;
    EXPECT_THAT(std::string(status.message()), HasSubstr(flag));
    EXPECT_THAT(std::string(status.message()), HasSubstr(FactsOf(options.mechanism).name));
  }
};

TEST_F(MechanismTest, SaysItsNameAndWhatALinkCosts) {
  for (const MechanismFacts& facts : kMechanisms) {
    const auto simulation = Simulate(Options(facts.kind));
    ASSERT_TRUE(simulation.ok()) << facts.name << ": " << simulation.status();
    const auto json = JsonOf(*simulation);
    EXPECT_EQ(json["mechanism"]["name"], facts.name);
    ASSERT_EQ(json["trials"].size(), 2u) << facts.name;
    EXPECT_GT(json["train"]["test_accuracy_mean"], 0.2) << facts.name;
    if (!facts.draws_noise) {
      EXPECT_TRUE(json["mechanism"]["epsilon_per_link"].is_null()) << facts.name;
      EXPECT_EQ(json["privacy"]["private"], false) << facts.name;
      continue;
    }
    const double entry = json["mechanism"]["epsilon_per_entry"], link = json["mechanism"]["epsilon_per_link"];
    EXPECT_NEAR(entry, 4, 1e-6) << facts.name;
    EXPECT_NEAR(link, facts.reports_once ? 4 : 8, 1e-6) << facts.name;
    EXPECT_EQ(json["privacy"]["achieved_epsilon_per_undirected_link"], link) << facts.name;
    EXPECT_GT(json["report"]["bytes_mean"], 0) << facts.name;
    EXPECT_NE(json["estimate"].is_null(), facts.estimates_links) << facts.name;
    if (facts.kind == MechanismKind::kBlink) continue;
    EXPECT_NE(json["plausibility"].is_null(), facts.estimates_links) << facts.name;
    EXPECT_THAT(TextOf(*simulation), HasSubstr(absl::StrCat("Mechanism ", facts.name, "\n")));
    if (facts.estimates_links) continue;
    for (const char* key : {"links", "precision", "recall"})
      EXPECT_FALSE(json["mechanism"][key].is_null()) << facts.name;
    EXPECT_NE(simulation->trials[0].mechanism->links, simulation->trials[1].mechanism->links)
        << facts.name << " draws anew";
  }
}

TEST_F(MechanismTest, RepeatsWithSeededNoiseAndIsNotPrivate) {
  for (const MechanismFacts& facts : kMechanisms) {
    if (!facts.draws_noise || facts.kind == MechanismKind::kBlink) continue;
    SimulateOptions options = Options(facts.kind);
    options.trials = 1;
    options.insecure_seeded_noise = true;
    const Simulation a = Simulate(options).value(), b = Simulate(options).value();
    EXPECT_EQ(a.trials[0].training.logits, b.trials[0].training.logits) << facts.name;
    const auto json = JsonOf(a);
    EXPECT_TRUE(json["mechanism"]["epsilon_per_link"].is_null()) << facts.name;
    EXPECT_EQ(json["privacy"]["private"], false) << facts.name;
    EXPECT_THAT(TextOf(a), HasSubstr("NOT PRIVATE")) << facts.name;
  }
}

// The figures of the links against the matrices they are made of.
TEST_F(MechanismTest, CountsTrueLinksAsTheyRead) {
  SimulateOptions options = Options(MechanismKind::kRr);
  const Dataset& data = data_;
  SeededRandom random(4);
  const MechanismRun run{.options = &options,
                         .dataset = &data,
                         .spec = options.training,
                         .parameters = PrivacyParameters::Create(4'000'000, 0, 200).value(),
                         .random = &random};
  const MechanismLinks made = MakeMechanismLinks(run).value();
  double entries = 0, found = 0, wanted = 0;
  std::vector<float> row(200);
  for (NodeIndex i = 0; i < 200; ++i) {
    FillRow(made.weights, i, row.data());
    for (NodeIndex j = 0; j < 200; ++j) {
      entries += row[j];
      wanted += data.graph.HasLink(i, j) ? 1 : 0;
      found += row[j] == 1 && data.graph.HasLink(i, j) ? 1 : 0;
    }
  }
  EXPECT_EQ(made.figures.links, entries / 2);
  EXPECT_DOUBLE_EQ(*made.figures.precision, found / entries);
  EXPECT_DOUBLE_EQ(*made.figures.recall, found / wanted);
}

TEST_F(MechanismTest, SearchesAndMeasuresItsBounds) {
  SimulateOptions options = Options(MechanismKind::kSymRr);
  options.trials = 1;
  options.bounds = true;
  options.training.set_candidates(4);
  options.training.clear_learning_rate();
  options.training.clear_weight_decay();
  options.training.clear_dropout();
  const auto simulation = Simulate(options);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  const auto json = JsonOf(*simulation);
  EXPECT_FALSE(json["train"]["features_only_accuracy_mean"].is_null());
  EXPECT_FALSE(json["train"]["true_links_accuracy_mean"].is_null());
  EXPECT_GE(json["train"]["candidates"].size(), 4u);
}

TEST_F(MechanismTest, OneEndTakesBothPriorsAndAllVariants) {
  for (const v1::Prior prior : {v1::PRIOR_BETA, v1::PRIOR_ATTRIBUTED}) {
    for (const v1::Variant variant : {v1::VARIANT_HARD, v1::VARIANT_SOFT, v1::VARIANT_HYBRID}) {
      SimulateOptions options = Options(MechanismKind::kOneEnd);
      options.trials = 1;
      options.training.set_prior(prior);
      options.training.set_variant(variant);
      const auto simulation = Simulate(options);
      ASSERT_TRUE(simulation.ok()) << simulation.status();
      EXPECT_GT(simulation->trials[0].estimates->BestGuess().expected_links, 0);
    }
  }
}

TEST_F(MechanismTest, ReportsOfOneEndAreThoseOfARound) {
  SimulateOptions options = Options(MechanismKind::kOneEnd);
  options.trials = 1;
  options.missing = 0.1;
  options.implausible = v1::IMPLAUSIBLE_DROP;
  options.save_reports = folder_ + "/saved";
  const auto drawn = Simulate(options);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  SimulateOptions replay = Options(MechanismKind::kBlink);
  replay.epsilon_micro.reset();
  replay.reports = folder_ + "/saved/trial-1";
  replay.implausible = v1::IMPLAUSIBLE_DROP;
  replay.trials = 1;
  const auto again = Simulate(replay);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->mechanism, MechanismKind::kOneEnd) << "the reports say so";
  EXPECT_EQ(drawn->trials[0].estimates->BestGuess().expected_links,
            again->trials[0].estimates->BestGuess().expected_links);
  const auto json = JsonOf(*drawn), replayed = JsonOf(*again);
  EXPECT_EQ(json["report"]["bytes_mean"], replayed["report"]["bytes_mean"]);
  EXPECT_EQ(json["report"]["entropy_bytes"], replayed["report"]["entropy_bytes"]);
  EXPECT_EQ(json["privacy"]["mechanism"], "one-end");
  EXPECT_EQ(replayed["mechanism"]["epsilon_per_link"], json["mechanism"]["epsilon_per_link"]);
  replay.mechanism = MechanismKind::kOneEnd;
  ExpectRefused(replay, "--reports replays stored reports, which say by which mechanism they were drawn");
  SimulateOptions true_graph = Options(MechanismKind::kOneEnd);
  true_graph.graph = SimulatedGraph::kTrue;
  ExpectRefused(true_graph, "--graph true");
}

TEST_F(MechanismTest, BoundsAreWhatTheirFlagsAre) {
  const Simulation none = Simulate(Options(MechanismKind::kNone)).value();
  SimulateOptions options = Options(MechanismKind::kNone);
  options.mechanism = MechanismKind::kBlink;
  options.graph = SimulatedGraph::kTrue;
  EXPECT_EQ(none.trials[1].training.logits, Simulate(options)->trials[1].training.logits);
  const Simulation mlp = Simulate(Options(MechanismKind::kMlp)).value();
  options.graph = SimulatedGraph::kBlink;
  options.training.set_model(v1::MODEL_MLP);
  EXPECT_EQ(mlp.trials[1].training.logits, Simulate(options)->trials[1].training.logits);
  const Simulation features = Simulate(Options(MechanismKind::kFeaturesOnly)).value();
  EXPECT_FALSE(ReadsReports(features.trials[0].trained));
  EXPECT_EQ(features.trials[0].training.test_accuracy, features.trials[0].features_only->test_accuracy);
}

TEST_F(MechanismTest, RefusesFlagsThatItFixes) {
  for (const MechanismFacts& facts : kMechanisms) {
    if (facts.kind == MechanismKind::kBlink) continue;
    SimulateOptions options = Options(facts.kind);
    EXPECT_TRUE(ValidateSimulateOptions(options).ok()) << facts.name;
    if (!facts.estimates_links) {
      options.degree_share_ppm = 100'000;
      ExpectRefused(options, "--degree-share");
      options = Options(facts.kind);
      options.training.set_variant(v1::VARIANT_SOFT);
      ExpectRefused(options, "--variant");
      for (const v1::Prior prior : {v1::PRIOR_BETA, v1::PRIOR_ATTRIBUTED}) {
        options = Options(facts.kind);
        options.training.set_prior(prior);
        ExpectRefused(options, "--prior");
      }
    }
    if (!facts.draws_noise) {
      options = Options(facts.kind);
      options.epsilon_micro = 1;
      ExpectRefused(options, "--epsilon");
      options = Options(facts.kind);
      options.bounds = true;
      ExpectRefused(options, "--bounds");
    }
  }
}

TEST_F(MechanismTest, RefusesWhatBelongsToARound) {
  for (const MechanismFacts& facts : kMechanisms) {
    if (facts.estimates_links) continue;  // these are of rounds
    const SimulateOptions good = Options(facts.kind);
    for (const auto& [flag, set] : std::vector<std::pair<std::string, std::function<void(SimulateOptions&)>>>{
             {"--graph true", [](SimulateOptions& options) { options.graph = SimulatedGraph::kTrue; }},
             {"--reports", [](SimulateOptions& options) { options.reports = "folder"; }},
             {"--output", [](SimulateOptions& options) { options.output = "folder"; }},
             {"--checkpoint", [](SimulateOptions& options) { options.checkpoint = "folder"; }},
             {"--missing", [](SimulateOptions& options) { options.missing = 0.1; }},
             {"--implausible", [](SimulateOptions& options) { options.implausible = v1::IMPLAUSIBLE_DROP; }}}) {
      SimulateOptions options = good;
      set(options);
      ExpectRefused(options, flag);
    }
  }
}

TEST_F(MechanismTest, RefusesABudgetThatIsMissingOrOutOfRange) {
  for (const MechanismFacts& facts : kMechanisms) {
    if (!facts.draws_noise) continue;
    SimulateOptions options = Options(facts.kind);
    options.epsilon_micro.reset();
    EXPECT_THAT(std::string(ValidateSimulateOptions(options).message()), HasSubstr("--epsilon is missing"))
        << facts.name;
    for (const uint64_t epsilon : {uint64_t{0}, uint64_t{50'000'001}}) {
      options.epsilon_micro = epsilon;
      EXPECT_THAT(std::string(ValidateSimulateOptions(options).message()), HasSubstr("--epsilon is")) << facts.name;
    }
  }
}

TEST_F(MechanismTest, RefusesModelsThatDoNotSuit) {
  SimulateOptions options = Options(MechanismKind::kRr);
  options.training.set_model(v1::MODEL_MLP);
  ExpectRefused(options, "--model mlp");
  options = Options(MechanismKind::kMlp);
  options.training.set_model(v1::MODEL_GCN);
  ExpectRefused(options, "--model");
  options = Options(MechanismKind::kFeaturesOnly);
  options.training.set_model(v1::MODEL_GCN);
  ExpectRefused(options, "--model");
  options = Options(MechanismKind::kSolitude);
  options.training.set_model(v1::MODEL_NONE);
  ExpectRefused(options, "--model");
  options = Options(MechanismKind::kSolitude);
  options.training.set_candidates(3);
  ExpectRefused(options, "--tune");
  options = Options(MechanismKind::kSolitude);
  options.solitude.closeness = -1;
  EXPECT_THAT(std::string(ValidateSimulateOptions(options).message()), HasSubstr("--solitude-closeness is -1"));
  options = Options(MechanismKind::kRr);
  options.solitude.rate = 0.1;
  ExpectRefused(options, "--solitude-rate");
}

// What is quadratic in the nodes by its nature says how much it needs, and does not begin.
TEST_F(MechanismTest, TellsTheMemoryThatADenseMechanismNeeds) {
  Dataset large = data_;
  large.graph = CsrGraph::FromLinks(300'000, {}).value();
  const auto parameters = PrivacyParameters::Create(8'000'000, 0, 300'000).value();
  for (const auto& [kind, bytes] :
       {std::pair(MechanismKind::kLdpGcn, 2.0 * 9e10), std::pair(MechanismKind::kSolitude, 9 * 4.0 * 9e10)}) {
    const MemoryNeed need = NeedOfMechanism(Options(kind), testing::SmallSpec(), large, parameters);
    EXPECT_GT(need.bytes(), bytes);
    EXPECT_LT(need.bytes(), 1.5 * bytes + 3e9);
    const absl::Status refused = CheckMemory(need, 24'000'000'000, "this machine");
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("GB"));
  }
}

}  // namespace
}  // namespace blink
