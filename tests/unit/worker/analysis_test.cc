#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "aggregator_server/result/result_folder.h"
#include "aggregator_server/worker/analyse.h"
#include "common/base/durable_file.h"
#include "tests/testing/random_doubles.h"
#include "tests/unit/worker/small_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
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
  EXPECT_EQ(analysis->estimates.beta.links().node_count(), 200u);
  EXPECT_EQ(analysis->estimates.beta.nodes_without_report, 20u);
  EXPECT_EQ(analysis->training.predictions.size(), 200u);
  EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end())) << "stages and fractions only grow";
  EXPECT_EQ(steps.back(), std::make_pair(Stage::kTraining, 1.0));
}

TEST_F(AnalysisTest, NamesOfClassesThatAreNoUtf8DoNotCostTheResult) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  data_.attributes.class_names = {"Th\xe9orie", "b", "c"};
  const Analysis analysis = Analyse(round.reports, data_.attributes, round.round.training(), {}).value();
  ASSERT_TRUE(
      WriteResultFolder(folder_ + "/result", parameters_, 180, analysis, data_.attributes, ReportOrigin::kRound).ok());
  const auto metrics = nlohmann::json::parse(ReadFile(folder_ + "/result/metrics.json", 1 << 20).value());
  EXPECT_EQ(metrics["classes"]["test"].size(), 3u);
}

TEST_F(AnalysisTest, PredictionsAndLinksNameTheNodesAsTheirOwnerDoes) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  const Analysis analysis = Analyse(round.reports, data_.attributes, round.round.training(), {}).value();
  for (uint32_t i = 0; i < 200; ++i) data_.attributes.ids.push_back(absl::StrCat("#", i, ", \"x\""));
  const std::string out = folder_ + "/result";
  ASSERT_TRUE(WriteResultFolder(out, parameters_, 180, analysis, data_.attributes, ReportOrigin::kRound).ok());
  const std::string predictions = ReadFile(out + "/predictions.csv", 1 << 20).value();
  EXPECT_THAT(predictions, ::testing::StartsWith("node,prediction,confidence,split,id\n0,"));
  EXPECT_THAT(predictions, ::testing::HasSubstr(",\"#7, \"\"x\"\"\"\n8,"));
  const std::string links = ReadFile(out + "/links.csv", 1 << 20).value();
  EXPECT_THAT(links, ::testing::HasSubstr(",source_id,target_id\n0,"));
  EXPECT_THAT(links, ::testing::HasSubstr(",\"#0, \"\"x\"\"\",\"#"));
}

TEST_F(AnalysisTest, WritesAWholeResultFolder) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  const Analysis analysis = Analyse(round.reports, data_.attributes, round.round.training(), {}).value();
  const std::string out = folder_ + "/result";
  ASSERT_TRUE(WriteResultFolder(out, parameters_, 180, analysis, data_.attributes, ReportOrigin::kRound).ok());
  EXPECT_EQ(Lines(out + "/predictions.csv"), 201u);
  EXPECT_EQ(Lines(out + "/curves.csv"), 21u);
  EXPECT_EQ(Lines(out + "/degrees.csv"), 201u);
  EXPECT_EQ(Lines(out + "/links.csv"), analysis.estimates.beta.links().link_count() + 1);
  EXPECT_EQ(ReadFile(out + "/model.pt", 1 << 24).value(), analysis.training.model_bytes);
  EXPECT_EQ(ReadFile(out + "/model.ts", 1 << 24).value(), analysis.training.script_bytes);
  EXPECT_THAT(ReadFile(out + "/predictions.csv", 1 << 20).value(),
              ::testing::StartsWith("node,prediction,confidence,split\n0,"));
  EXPECT_THAT(ReadFile(out + "/curves.csv", 1 << 20).value(),
              ::testing::StartsWith("epoch,train_loss,validation_loss,validation_accuracy\n1,"));
  const auto metrics = nlohmann::json::parse(ReadFile(out + "/metrics.json", 1 << 20).value());
  EXPECT_EQ(metrics["train"]["deterministic"], true);
  EXPECT_EQ(metrics["train"]["node_features"], "given");
  EXPECT_EQ(metrics["train"]["epochs_trained"], 20);
  EXPECT_EQ(metrics["train"]["test_macro_f1"], analysis.training.test.macro_f1);
  EXPECT_LT(metrics["train"]["test_accuracy_95"][0], metrics["train"]["test_accuracy"]);
  ASSERT_EQ(metrics["classes"]["test"].size(), 3u);
  uint32_t nodes = 0, right = 0;
  for (int c = 0; c < 3; ++c) {
    nodes += metrics["classes"]["test"][c]["nodes"].get<uint32_t>();
    right += metrics["classes"]["confusion"][c][c].get<uint32_t>();
  }
  EXPECT_EQ(metrics["train"]["nodes"]["test"], nodes);
  EXPECT_DOUBLE_EQ(metrics["train"]["test_accuracy"], static_cast<double>(right) / nodes);
  EXPECT_EQ(metrics["privacy"]["epsilon"], 6.0);
  EXPECT_EQ(metrics["privacy"]["degree_share"], 0.1);
  EXPECT_LE(metrics["privacy"]["achieved_epsilon"].get<double>(), 6.0);
  EXPECT_EQ(metrics["reports"]["received"], 180);
  EXPECT_EQ(metrics["reports"]["missing"], 20);
  EXPECT_EQ(metrics["train"]["seed"], 7);
  EXPECT_EQ(metrics["train"]["weight_decay"], 0.0);  // asked for, not the default
  EXPECT_EQ(metrics["train"]["model"], "gcn");
  EXPECT_EQ(metrics["train"]["variant"], "hard");
  EXPECT_EQ(metrics["train"]["layers"], 2);
  EXPECT_EQ(metrics["train"]["patience"], 0);
  EXPECT_EQ(metrics["train"]["balance_classes"], false);
  EXPECT_EQ(metrics["train"]["device"], "cpu");
  EXPECT_EQ(metrics["train"]["test_accuracy"], analysis.training.test_accuracy);
  EXPECT_EQ(Lines(out + "/plausibility.csv"), 181u) << "one of every report";
  EXPECT_EQ(metrics["plausibility"]["policy"], "flag");
  EXPECT_EQ(metrics["plausibility"]["tested"], 180);
  EXPECT_EQ(metrics["plausibility"]["flagged"], 0) << "with probability 0.999 and more";
  EXPECT_EQ(metrics["plausibility"]["dropped"], 0);
  EXPECT_TRUE(metrics["plausibility"]["flags"].is_array());
  EXPECT_FALSE(metrics["estimate"].contains("mae")) << "an aggregator cannot know it";
}

TEST_F(AnalysisTest, TheCurvesAreReadBackAsTheyWere) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  const Analysis analysis = Analyse(round.reports, data_.attributes, round.round.training(), {}).value();
  ASSERT_TRUE(
      WriteResultFolder(folder_ + "/result", parameters_, 180, analysis, data_.attributes, ReportOrigin::kRound).ok());
  std::istringstream curves(ReadFile(folder_ + "/result/curves.csv", 1 << 20).value());
  std::string line;
  std::getline(curves, line);
  for (size_t e = 0; e < analysis.training.train_losses.size(); ++e) {
    ASSERT_TRUE(std::getline(curves, line));
    int epoch = 0;
    float train = 0, validation = 0, accuracy = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%d,%f,%f,%f", &epoch, &train, &validation, &accuracy), 4) << line;
    EXPECT_EQ(train, analysis.training.train_losses[e]);
    EXPECT_EQ(validation, analysis.training.validation_losses[e]);
    EXPECT_EQ(accuracy, analysis.training.validation_accuracies[e]);
  }
}

TEST_F(AnalysisTest, SaysWhatItLeavesOutOfManyClasses) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  const auto metrics = [&](uint32_t classes) {
    data_.attributes.class_count = classes;
    data_.attributes.class_names.clear();
    v1::TrainingSpec spec = round.round.training();
    spec.set_epochs(2);
    const Analysis analysis = Analyse(round.reports, data_.attributes, spec, {}).value();
    return MetricsJson(parameters_, 180, analysis, ReportOrigin::kRound);
  };
  for (const uint32_t classes : {64u, 65u, 3001u}) {
    const auto json = metrics(classes);
    EXPECT_EQ(json["classes"]["count"], classes);
    EXPECT_EQ(json["classes"]["test"].size(), std::min(classes, 1000u));
    EXPECT_EQ(json["classes"]["confusion"].size(), classes == 64 ? 64u : 0u);
    const std::string warnings = json["train"]["warnings"].dump();
    EXPECT_EQ(warnings.find("no confusion matrix is kept") == std::string::npos, classes == 64) << warnings;
    EXPECT_EQ(warnings.find("of 3001 classes only the first 1000") == std::string::npos, classes != 3001) << warnings;
  }
}

TEST_F(AnalysisTest, OnlyWhatNodesOfARoundDrewIsCalledPrivate) {
  EXPECT_EQ(PrivacyJson(FiguresOfPrivacy(parameters_, ReportOrigin::kRound))["private"], true);
  EXPECT_EQ(PrivacyJson(FiguresOfPrivacy(parameters_, ReportOrigin::kReplay))["private"], true);
  const auto simulated = PrivacyJson(FiguresOfPrivacy(parameters_, ReportOrigin::kSimulation));
  EXPECT_EQ(simulated["private"], true);
  EXPECT_EQ(simulated["simulated"], true);
  EXPECT_EQ(simulated["noise"], "cryptographic");
  EXPECT_LE(simulated["achieved_epsilon"], 6.0);
  const auto seeded = PrivacyJson(FiguresOfPrivacy(parameters_, ReportOrigin::kSeededSimulation));
  EXPECT_EQ(seeded["private"], false);
  EXPECT_EQ(seeded["noise"], "seeded");
  EXPECT_TRUE(seeded["achieved_epsilon"].is_null());
}

TEST_F(AnalysisTest, AModelWithoutLinksHasNoVariant) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  v1::TrainingSpec spec = testing::SmallSpec();
  spec.set_model(v1::MODEL_MLP);
  spec.set_variant(v1::VARIANT_SOFT);
  const Analysis analysis = Analyse(round.reports, data_.attributes, spec, {}).value();
  EXPECT_FALSE(analysis.trained.variant.has_value());
  EXPECT_FALSE(analysis.estimates.beta.soft.has_value()) << "weights that nobody needs are not made";
  EXPECT_TRUE(TrainJson(analysis.training, analysis.trained)["variant"].is_null());
  const auto estimate = EstimateJson(analysis.estimates, 1, FiguresOfSeen(analysis.estimates, analysis.trained));
  EXPECT_TRUE(estimate["trained_links"].is_null());
  EXPECT_TRUE(estimate["trained_weight"].is_null());
  EXPECT_EQ(estimate["links"], analysis.estimates.beta.links().link_count());
}

TEST_F(AnalysisTest, TheSpecSaysEverythingAboutTheTraining) {
  v1::TrainingSpec spec = testing::SmallSpec();
  spec.set_model(v1::MODEL_GAT);
  spec.set_variant(v1::VARIANT_HYBRID);
  spec.set_layers(3);
  spec.set_hidden(8);
  spec.set_patience(5);
  spec.set_balance_classes(true);
  spec.set_node_features(v1::NODE_FEATURES_GIVEN_AND_DEGREE);
  const Candidate candidate = CandidateFromSpec(spec).value();
  EXPECT_EQ(candidate.variant, Variant::kHybrid);
  EXPECT_EQ(candidate.options.model, Model::kGat);
  EXPECT_EQ(candidate.options.layers, 3);
  EXPECT_EQ(candidate.options.hidden, 8);
  EXPECT_EQ(candidate.options.patience, 5);
  EXPECT_TRUE(candidate.options.balance_classes);
  EXPECT_EQ(candidate.options.node_features, NodeFeatures::kGivenAndDegree);
  EXPECT_EQ(candidate.options.dropout, 0.25);
}

TEST_F(AnalysisTest, TheTieSeedIsTheRoundsAndIsStored) {
  EXPECT_EQ(TieSeedOfRound(std::string(32, 'a')), TieSeedOfRound(std::string(32, 'a')));
  EXPECT_NE(TieSeedOfRound(std::string(32, 'a')), TieSeedOfRound(std::string(32, 'b')));
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  AnalysisOptions options;
  options.tie_seed = 0xab;
  const Analysis analysis = Analyse(round.reports, data_.attributes, round.round.training(), options).value();
  EXPECT_EQ(MetricsJson(parameters_, 180, analysis, ReportOrigin::kRound)["estimate"]["tie_seed"], "00000000000000ab");
}

// Two nodes name a degree far from their bits.
ReportSet WithTwoLiars(const ReportSet& honest) {
  ReportSet reports(honest.parameters());
  honest.reported_nodes().ForEachOne([&](NodeIndex i) {
    PrivateReport report{BitRow(honest.node_count()), honest.noisy_degree(i)};
    std::copy(honest.row(i).begin(), honest.row(i).end(), report.bits.mutable_words().begin());
    if (i == 5 || i == 77) report.noisy_degree = 190 + static_cast<int64_t>(i);
    EXPECT_TRUE(reports.Add(i, std::move(report)).ok());
  });
  return reports;
}

TEST_F(AnalysisTest, DroppedReportsAreAsIfTheyHadNeverCome) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  const ReportSet reports = WithTwoLiars(round.reports);
  AnalysisOptions options;
  const Analysis flag = Analyse(reports, data_.attributes, round.round.training(), options).value();
  ASSERT_EQ(flag.checks.found.flagged.size(), 2u);
  EXPECT_EQ(flag.checks.found.flagged[0].node, 77u) << "the worst first";
  EXPECT_EQ(flag.checks.found.flagged[1].node, 5u);
  EXPECT_STREQ(flag.checks.found.flagged[0].test, "degree");
  EXPECT_EQ(flag.checks.dropped, 0u);
  EXPECT_EQ(flag.estimates.beta.nodes_without_report, 20u);
  options.implausible = v1::IMPLAUSIBLE_DROP;
  const Analysis drop = Analyse(reports, data_.attributes, round.round.training(), options).value();
  EXPECT_EQ(drop.checks.dropped, 2u);
  EXPECT_EQ(drop.estimates.beta.nodes_without_report, 22u);
  ReportSet never = round.reports;
  never.Drop(5);
  never.Drop(77);
  never.Drop(77);  // twice is once
  EXPECT_EQ(never.report_count(), 178u);
  const Analysis without = Analyse(never, data_.attributes, round.round.training(), {}).value();
  EXPECT_EQ(drop.training.logits, without.training.logits);
  EXPECT_EQ(MetricsJson(parameters_, 180, drop, ReportOrigin::kRound)["reports"]["received"], 180);
}

class OneEndAnalysisTest : public testing::SmallRound {
 protected:
  OneEndAnalysisTest() : SmallRound(Mechanism::kOneEnd) {}
};

TEST_F(OneEndAnalysisTest, EstimatesAndTrainsUnderBothPriorsWithMissingReports) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  for (const v1::Prior prior : {v1::PRIOR_BETA, v1::PRIOR_ATTRIBUTED}) {
    for (const v1::Variant variant : {v1::VARIANT_HARD, v1::VARIANT_SOFT, v1::VARIANT_HYBRID}) {
      v1::TrainingSpec spec = testing::SmallSpec();
      spec.set_prior(prior);
      spec.set_variant(variant);
      spec.set_candidates(0);  // no search
      const auto analysis = Analyse(round.reports, data_.attributes, spec, {});
      ASSERT_TRUE(analysis.ok()) << analysis.status();
      EXPECT_EQ(analysis->estimates.beta.nodes_without_report, 20u);
      const double links = static_cast<double>(data_.graph.link_count());
      EXPECT_NEAR(analysis->estimates.BestGuess().expected_links, links, 0.25 * links);
      const auto metrics = MetricsJson(parameters_, 180, *analysis, ReportOrigin::kRound);
      EXPECT_EQ(metrics["privacy"]["mechanism"], "one-end");
      EXPECT_EQ(metrics["privacy"]["achieved_epsilon_per_undirected_link"], metrics["privacy"]["achieved_epsilon"]);
      EXPECT_TRUE(metrics["plausibility"]["lie_seen_95"].is_null());
      EXPECT_THAT(metrics["plausibility"]["note"].get<std::string>(), HasSubstr("one end alone reports a pair"));
      EXPECT_EQ(metrics["plausibility"]["tested"], 180);
    }
  }
}

TEST_F(OneEndAnalysisTest, DroppedReportsAreAsIfTheyHadNeverCome) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  ReportSet reports(parameters_), never(parameters_);
  SeededRandom random(4);
  for (NodeIndex i = 0; i < 200; ++i) {
    PrivateReport report =
        ApplyNoise(parameters_, i, DrawNoise(parameters_, i, random).value(), data_.graph.NeighboursOf(i)).value();
    if (i == 77) {
      report.noisy_degree = 500;
    } else {
      ASSERT_TRUE(never.Add(i, report).ok());
    }
    ASSERT_TRUE(reports.Add(i, std::move(report)).ok());
  }
  AnalysisOptions options;
  options.implausible = v1::IMPLAUSIBLE_DROP;
  const Analysis drop = Analyse(reports, data_.attributes, round.round.training(), options).value();
  EXPECT_EQ(drop.checks.dropped, 1u);
  EXPECT_EQ(drop.estimates.beta.nodes_without_report, 1u);
  const Analysis without = Analyse(never, data_.attributes, round.round.training(), {}).value();
  EXPECT_EQ(drop.training.logits, without.training.logits);
}

TEST_F(AnalysisTest, KeptFlagsAreCountedAndNobodyIsNamed) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  AnalysisOptions options;
  options.implausible = v1::IMPLAUSIBLE_KEEP;
  const Analysis keep = Analyse(WithTwoLiars(round.reports), data_.attributes, round.round.training(), options).value();
  const auto json = PlausibilityJson(keep.checks);
  EXPECT_EQ(json["flagged"], 2);
  EXPECT_EQ(json["dropped"], 0);
  EXPECT_TRUE(json["flags"].empty());
  const std::string out = folder_ + "/result";
  ASSERT_TRUE(WriteResultFolder(out, parameters_, 180, keep, data_.attributes, ReportOrigin::kRound).ok());
  EXPECT_EQ(Lines(out + "/plausibility.csv"), 1u);
}

TEST_F(AnalysisTest, ASearchSaysWhatTheFeaturesAloneGiveByValidation) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  v1::TrainingSpec spec = testing::SmallSpec();
  spec.set_candidates(2);
  spec.set_score(v1::MEASURE_MACRO_F1);
  const Analysis analysis = Analyse(round.reports, data_.attributes, spec, {}).value();
  ASSERT_TRUE(analysis.features_only.has_value());
  const auto metrics = MetricsJson(parameters_, 180, analysis, ReportOrigin::kRound);
  const auto& features_only = metrics["train"]["features_only"];
  EXPECT_EQ(features_only["name"], CandidateName(analysis.features_only->candidate));
  EXPECT_EQ(features_only["validation_accuracy"], analysis.features_only->validation_accuracy);
  EXPECT_EQ(features_only["validation_measure"], *analysis.features_only->validation_measure);
  EXPECT_FALSE(features_only.contains("test_accuracy")) << "a round has no use for it";
  EXPECT_TRUE(metrics["train"]["test_roc_auc"].is_number());
  spec.set_candidates(0);
  spec.clear_score();
  const Analysis one = Analyse(round.reports, data_.attributes, spec, {}).value();
  EXPECT_FALSE(MetricsJson(parameters_, 180, one, ReportOrigin::kRound)["train"].contains("features_only"));
}

TEST_F(AnalysisTest, RefusesToEstimateWhenEveryReportWouldBeDropped) {
  ReportSet reports(parameters_);
  for (NodeIndex i = 0; i < 3; ++i) {
    PrivateReport report{BitRow(200), 10'000};
    ASSERT_TRUE(reports.Add(i, std::move(report)).ok());
  }
  AnalysisOptions options;
  options.implausible = v1::IMPLAUSIBLE_DROP;
  const auto analysis = Analyse(reports, data_.attributes, testing::SmallSpec(), options);
  EXPECT_EQ(analysis.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(analysis.status().message()), HasSubstr("all 3 reports are implausible"));
  options.degree_max = 200;
  EXPECT_EQ(Analyse(reports, data_.attributes, testing::SmallSpec(), options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// ---- without a model ----

v1::TrainingSpec Nothing(v1::Prior prior = v1::PRIOR_BETA) {
  v1::TrainingSpec spec;
  spec.set_model(v1::MODEL_NONE);
  spec.set_prior(prior);
  return spec;
}

NodeAttributes WithoutLabels(NodeAttributes attributes) {
  attributes.labels.assign(attributes.node_count, -1);
  attributes.split.assign(attributes.node_count, Split::kNone);
  attributes.class_count = 0;
  attributes.class_names.clear();
  return attributes;
}

TEST_F(AnalysisTest, OfAGraphWithoutLabelsGivesLinksAndDegrees) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  std::vector<Stage> stages;
  AnalysisOptions options;
  options.progress = [&](Stage stage, double, const std::string&) { stages.push_back(stage); };
  const NodeAttributes attributes = NodeAttributes::OfNothing(200);
  const Analysis analysis = Analyse(round.reports, attributes, Nothing(), options).value();
  EXPECT_FALSE(analysis.has_model());
  EXPECT_EQ(std::count(stages.begin(), stages.end(), Stage::kTraining), 0);
  double error = 0;
  for (NodeIndex i = 0; i < 200; ++i) {
    error += std::abs(analysis.degrees.mean[i] - data_.graph.DegreeOf(i)) / 200;
    EXPECT_GT(analysis.degrees.deviation[i], 0);
  }
  EXPECT_LT(error, 1.0) << "at epsilon 6 the degrees are known well";

  const std::string out = folder_ + "/result";
  ASSERT_TRUE(WriteResultFolder(out, parameters_, 180, analysis, attributes, ReportOrigin::kRound).ok());
  for (const char* file : {"predictions.csv", "curves.csv", "model.pt", "model.ts"}) {
    EXPECT_FALSE(std::filesystem::exists(out + "/" + file)) << file;
  }
  EXPECT_EQ(Lines(out + "/degrees.csv"), 201u);
  EXPECT_THAT(ReadFile(out + "/degrees.csv", 1 << 20).value(), ::testing::StartsWith("node,degree,deviation\n0,"));
  EXPECT_THAT(ReadFile(out + "/links.csv", 1 << 20).value(), ::testing::StartsWith("source,target,weight\n"));
  const auto metrics = nlohmann::json::parse(ReadFile(out + "/metrics.json", 1 << 20).value());
  EXPECT_TRUE(metrics["train"].is_null());
  EXPECT_TRUE(metrics["classes"].is_null());
  EXPECT_EQ(metrics["estimate"]["variant"], "hybrid");
  EXPECT_EQ(metrics["estimate"]["trained_links"].get<size_t>() + 1, Lines(out + "/links.csv"));
  for (const char* figure : {"precision", "recall", "auc"}) {
    EXPECT_GT(metrics["estimate"]["expected_quality"][figure], 0.5) << figure;
    EXPECT_LE(metrics["estimate"]["expected_quality"][figure], 1) << figure;
  }
}

TEST_F(AnalysisTest, GivesTheLinksOfTheVariantThatWasAskedFor) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  v1::TrainingSpec spec = Nothing();
  spec.set_variant(v1::VARIANT_HARD);
  const NodeAttributes attributes = NodeAttributes::OfNothing(200);
  const Analysis analysis = Analyse(round.reports, attributes, spec, {}).value();
  ASSERT_TRUE(
      WriteResultFolder(folder_ + "/result", parameters_, 180, analysis, attributes, ReportOrigin::kRound).ok());
  EXPECT_EQ(Lines(folder_ + "/result/links.csv"), analysis.estimates.beta.links().link_count() + 1);
}

TEST_F(AnalysisTest, TheAttributedPriorWorksFromFeaturesAlone) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  AnalysisOptions options;
  options.truth = &data_.graph;
  const NodeAttributes features = WithoutLabels(data_.attributes);
  const auto analysis = Analyse(round.reports, features, Nothing(v1::PRIOR_ATTRIBUTED), options);
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  const LinkPosterior& best = analysis->estimates.BestGuess();
  EXPECT_EQ(best.expected_links, analysis->estimates.attributed->expected_links)
      << "both posteriors are the best guess";
  EXPECT_GT(best.quality->auc, 0.99);
  EXPECT_NEAR(best.expected_quality->auc, best.quality->auc, 0.05);
  std::set<std::string> learnt;
  for (const auto& [feature, theta] : analysis->estimates.attributed->attributed_fit->coefficients) {
    learnt.insert(feature);
  }
  EXPECT_EQ(learnt.count("cosine"), 1u) << "the features say something about links";
  EXPECT_EQ(learnt.count("classes"), 0u) << "there are none";
  ASSERT_TRUE(WriteResultFolder(folder_ + "/result", parameters_, 180, *analysis, features, ReportOrigin::kRound).ok());
  EXPECT_GT(Lines(folder_ + "/result/links.csv"), 100u);
}

TEST_F(AnalysisTest, OfAPartlyLabelledGraphTheLabelsThatThereAreHelp) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  NodeAttributes partly = data_.attributes;
  for (NodeIndex i = 0; i < 200; i += 3) partly.labels[i] = -1;
  const auto with_model = Analyse(round.reports, partly, testing::SmallSpec(), {});
  ASSERT_TRUE(with_model.ok()) << with_model.status();
  EXPECT_EQ(with_model->training.unlabelled, 67u);
  const auto without = Analyse(round.reports, partly, Nothing(v1::PRIOR_ATTRIBUTED), {});
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->estimates.BestGuess().expected_links, without->estimates.attributed->expected_links);
}

TEST_F(AnalysisTest, RefusesAModelWithoutLabelsAndAPriorWithoutAnything) {
  const RoundFolder round = ReadRoundFolder(folder_ + "/round").value();
  const NodeAttributes nothing = NodeAttributes::OfNothing(200);
  absl::Status refused = Analyse(round.reports, nothing, testing::SmallSpec(), {}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no node has a label"));
  refused = Analyse(round.reports, nothing, Nothing(v1::PRIOR_ATTRIBUTED), {}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("nothing is known of the nodes"));
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
