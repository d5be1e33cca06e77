// Means over trials, and what is printed.
#include "tools/link_audit/figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tools/link_audit/report.h"

namespace blink {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LinkMeasures Measures(double auc, double recall) {
  return {.pairs = 10, .links = 2, .auc = auc, .precision = recall, .recall = recall, .true_positive_rate = recall};
}

AttackResult Result(AttackKind kind, const char* name, double auc, double recall) {
  AttackResult result{.kind = kind, .name = name};
  result.groups.fill(Measures(auc, recall));
  return result;
}

LinkAudit TwoTrials() {
  LinkAudit audit{.dataset_name = "small", .nodes = 22, .features = 5, .classes = 2, .links = 21};
  std::vector<std::pair<NodeIndex, NodeIndex>> links = {{1, 2}};
  for (NodeIndex j = 1; j <= 20; ++j) links.emplace_back(0, j);
  audit.groups = MakeNodeGroups(CsrGraph::FromLinks(22, links).value());
  audit.victims = {{.kind = VictimKind::kTrueLinks},
                   {.kind = VictimKind::kReports, .epsilon_micro = 2'500'000, .degree_share_ppm = 50'000}};
  audit.trials_asked = 2;
  audit.influence_nodes = 7;
  for (const double shift : {0.0, 0.2}) {
    AuditTrial trial{.seed = 1};
    trial.victims.push_back({0.9,
                             {Result(AttackKind::kSimilarity, "cosine", 0.6 + shift, 0.5),
                              Result(AttackKind::kSimilarity, "canberra", 0.65, 0.1)}});
    trial.victims.push_back({0.7,
                             {Result(AttackKind::kPosterior, "posterior", 0.5 + shift, 0.2),
                              Result(AttackKind::kSimilarity, "cosine", 0.5, 0.2)}});
    audit.trials.push_back(trial);
  }
  return audit;
}

TEST(SpreadOf, HasTheErrorOfTheMean) {
  const std::optional<Spread> spread = SpreadOf({1.0, 2.0, 6.0});
  ASSERT_TRUE(spread.has_value());
  EXPECT_DOUBLE_EQ(spread->mean, 3);
  EXPECT_NEAR(*spread->standard_error, std::sqrt(7.0 / 3), 1e-12);  // the sample's variance is 7
}

TEST(SpreadOf, HasNoErrorForOneTrial) { EXPECT_FALSE(SpreadOf({1.0})->standard_error.has_value()); }

TEST(SpreadOf, IsAbsentWhereATrialHasNoFigure) {
  EXPECT_FALSE(SpreadOf({}).has_value());
  EXPECT_FALSE(SpreadOf({1.0, std::nullopt}).has_value());
  EXPECT_FALSE(SpreadOf({1.0, std::numeric_limits<double>::quiet_NaN()}).has_value());
}

TEST(BestSimilarityOf, TakesTheBestDistanceOfEachMeasure) {
  const LinkAudit audit = TwoTrials();
  EXPECT_EQ(BestSimilarityOf(audit, 0, kEveryNode, 0)->distance, "cosine");  // 0.7 beside 0.65
  EXPECT_NEAR(BestSimilarityOf(audit, 0, kEveryNode, 0)->figure.mean, 0.7, 1e-12);
  EXPECT_NEAR(BestSimilarityOf(audit, 0, kEveryNode, 2)->figure.mean, 0.5, 1e-12);
}

TEST(BestSimilarityOf, IsAbsentWithoutATrial) {
  LinkAudit audit = TwoTrials();
  audit.trials.clear();
  EXPECT_FALSE(BestSimilarityOf(audit, 0, kEveryNode, 0).has_value());
}

TEST(ChanceOf, IsTheShareOfTheLinks) {
  const LinkAudit audit = TwoTrials();
  const NodeGroup& every_node = audit.groups[kEveryNode];
  EXPECT_EQ(ChanceOf(every_node, every_node, 0), 0.5);
  EXPECT_DOUBLE_EQ(ChanceOf(every_node, every_node, 1), 21.0 / 231);
  EXPECT_DOUBLE_EQ(ChanceOf(audit.groups[kHighDegree], every_node, 1), 24.0 / 63);
  EXPECT_DOUBLE_EQ(ChanceOf(audit.groups[kHighDegree], every_node, 2), 21.0 / 231);
  EXPECT_EQ(ChanceOf(every_node, every_node, 3), kFalsePositiveRate);
}

TEST(LinkAuditJson, HasTheFiguresOfEveryAttackGroupAndMeasure) {
  const nlohmann::ordered_json json = LinkAuditJson(TwoTrials());
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["partial"], false);
  EXPECT_EQ(json["trials_done"], 2);
  ASSERT_EQ(json["groups"].size(), kGroups);
  EXPECT_EQ(json["groups"][1]["name"], "low degree");
  EXPECT_EQ(json["groups"][0]["chance"]["auc"], 0.5);
  const auto& reports = json["victims"][1];
  EXPECT_EQ(reports["victim"], "reports");
  EXPECT_EQ(reports["epsilon"], 2.5);
  EXPECT_EQ(reports["degree_share"], 0.05);
  EXPECT_TRUE(json["victims"][0]["epsilon"].is_null());
  ASSERT_EQ(reports["attacks"].size(), 3u);
  EXPECT_EQ(reports["attacks"][2]["attack"], "similarity-best");
  for (const auto& attack : reports["attacks"]) {
    ASSERT_EQ(attack["groups"].size(), kGroups);
    for (const auto& group : attack["groups"]) {
      for (const MeasureField& measure : kMeasures) EXPECT_EQ(group[measure.name]["trials"].size(), 2u);
    }
  }
  EXPECT_NEAR(reports["attacks"][0]["groups"][0]["auc"]["mean"].get<double>(), 0.6, 1e-12);
  EXPECT_NEAR(reports["attacks"][0]["groups"][0]["auc"]["standard_error"].get<double>(), 0.1, 1e-12);
  EXPECT_EQ(reports["attacks"][2]["groups"][0]["auc"]["distance"], "cosine");
}

TEST(LinkAuditJson, SaysThatItIsPartialAndHasNoFigures) {
  LinkAudit audit = TwoTrials();
  audit.trials.clear();
  const nlohmann::ordered_json json = LinkAuditJson(audit);
  EXPECT_EQ(json["partial"], true);
  EXPECT_TRUE(json["victims"][0]["attacks"].empty());
  EXPECT_TRUE(json["victims"][0]["test_accuracy"].is_null());
}

TEST(LinkAuditText, HasATableForEachGroupAndSaysWhatTheFiguresAreNot) {
  const std::string text = LinkAuditText(TwoTrials());
  EXPECT_THAT(text, HasSubstr("All pairs: 21 of 231 are links"));
  EXPECT_THAT(text, HasSubstr("Pairs of the 3 nodes of high degree (2 .. 20 links) with all others"));
  EXPECT_THAT(text, HasSubstr("epsilon 2.5    posterior               0.600 ± 0.100"));
  EXPECT_THAT(text, HasSubstr("true links     similarity, best of 8   0.700 ± 0.100"));
  EXPECT_THAT(text, HasSubstr("no proof"));
  EXPECT_THAT(text, HasSubstr("a low AUC is no guarantee"));
  EXPECT_THAT(text, Not(HasSubstr("NOT PRIVATE")));
}

TEST(LinkAuditText, SaysWhereTheNoiseIsNone) {
  LinkAudit audit = TwoTrials();
  audit.seeded_noise = true;
  EXPECT_THAT(LinkAuditText(audit), HasSubstr("NOT PRIVATE"));
  EXPECT_EQ(LinkAuditJson(audit)["noise"], "seeded");
}

TEST(LinkAuditText, HasNoTableWithoutATrial) {
  LinkAudit audit = TwoTrials();
  audit.trials.clear();
  EXPECT_THAT(LinkAuditText(audit), HasSubstr("0 of 2 trials"));
  EXPECT_THAT(LinkAuditText(audit), Not(HasSubstr("victim")));
}

}  // namespace
}  // namespace blink
