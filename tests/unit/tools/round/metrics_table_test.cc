#include "tools/round/metrics_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace blink {
namespace {

using ::testing::HasSubstr;

TEST(ParseMetrics, KeepsTheFiguresThatAreThereAndLeavesTheOthersEmpty) {
  const auto figures = ParseMetrics(R"({"reports":{"received":12,"missing":null},
      "train":{"model":"gcn","test_accuracy":0.8125,"warnings":["no node of class 3",4]}})");
  ASSERT_TRUE(figures.has_value());
  EXPECT_EQ(figures->reports, "12");
  EXPECT_EQ(figures->missing_reports, "");
  EXPECT_EQ(figures->model, "gcn");
  EXPECT_EQ(figures->test_accuracy, "0.8125");
  EXPECT_EQ(figures->prior, "");
  EXPECT_FALSE(figures->plausibility.has_value());
  EXPECT_THAT(figures->warnings, ::testing::ElementsAre("no node of class 3"));
}

TEST(MetricsTable, ShowsWhatTheFeaturesAloneGiveBesideTheChosenModel) {
  const std::string table = MetricsTable(R"({"train":{"validation_accuracy":0.75,"validation_roc_auc":0.875,
      "features_only":{"name":"class-model","validation_accuracy":0.8}}})");
  EXPECT_THAT(table, HasSubstr("  of features alone      0.8 (class-model)"));
  EXPECT_LT(table.find("validation accuracy"), table.find("of features alone"));
  EXPECT_THAT(table, HasSubstr("0.875"));
  EXPECT_THAT(MetricsTable(R"({"train":{"validation_accuracy":0.75,"validation_macro_f1":0.625,
      "features_only":{"name":"class-model","validation_accuracy":0.8,"validation_measure":0.25}}})"),
              ::testing::AllOf(HasSubstr("validation macro-F1      0.625\n"),
                               HasSubstr("  of features alone      0.8, by the round's score 0.25 (class-model)")));
  EXPECT_THAT(MetricsTable(R"({"train":{"validation_accuracy":0.75,"features_only":null}})"),
              ::testing::Not(HasSubstr("features alone")));
}

TEST(ParseMetrics, LetsNoTextOfAPeerReachTheTerminalUnprinted) {
  const auto figures = ParseMetrics(R"({"train":{"device":"a\u001bb","warnings":["c\u001bd"]},
      "plausibility":{"policy":"e\u001bf","flags":[{"node":1,"test":"g\u001bh","z":2}]}})");
  ASSERT_TRUE(figures.has_value());
  EXPECT_EQ(figures->device, "a?b");
  EXPECT_EQ(figures->warnings.at(0), "c?d");
  EXPECT_EQ(figures->plausibility->policy, "e?f");
  EXPECT_EQ(figures->plausibility->nodes.at(0).test, "g?h");
}

TEST(ParseMetrics, RefusesWhatIsNoObject) {
  for (const char* text : {"", "{", "[1]", "12", "\"text\"", "null"}) {
    EXPECT_FALSE(ParseMetrics(text).has_value()) << text;
    EXPECT_EQ(MetricsTable(text), text);
  }
}

TEST(MetricsTable, OfQuestionsAboutGroupsShowsWhatTheirAnswersBecame) {
  const std::string first = MetricsTable(R"({"privacy":{"achieved_epsilon":4},"plausibility":null,"estimate":null,
      "groups":{"follows":null,"asked":2,"wanted":1234,"made":1000,"links":null,"epsilon_of_both":null},
      "train":null})");
  EXPECT_THAT(first, HasSubstr("groups asked about       2\n"));
  EXPECT_THAT(first, HasSubstr("groups wanted            1234\n"));
  EXPECT_THAT(first, HasSubstr("groups made              1000\n"));
  EXPECT_THAT(first, HasSubstr("none: groups, for a round that follows"));
  EXPECT_THAT(first, ::testing::Not(HasSubstr("implausible")));
  EXPECT_THAT(first, ::testing::Not(HasSubstr("both rounds")));
  const std::string second = MetricsTable(R"({"plausibility":null,"estimate":null,
      "groups":{"follows":"b","asked":1000,"wanted":null,"made":null,"links":5021,"epsilon_of_both":8,
      "epsilon_of_both_per_undirected_link":16,"noise_links_of_answer":1.5,"implausible":{"answers":2,"nodes":[1,4]}},
      "train":null})");
  EXPECT_THAT(second, HasSubstr("links drawn              5021\n"));
  EXPECT_THAT(second, HasSubstr("of an entry, both rounds 8\n"));
  EXPECT_THAT(second, HasSubstr("of a link, both rounds   16\n"));
  EXPECT_THAT(second, HasSubstr("links of noise, a node   1.5\n"));
  EXPECT_THAT(second, HasSubstr("implausible answers      2\n"));
  EXPECT_THAT(second, HasSubstr("none: links alone"));
}

TEST(MetricsTable, OfAResultWithoutAModelShowsItsLinksAndWhatTheyAreWorth) {
  constexpr char kMetrics[] = R"({"estimate":{"prior":"beta","variant":"hybrid","trained_links":41,
      "expected_quality":{"precision":0.75,"recall":0.5,"auc":0.9}},"train":null,"classes":null})";
  EXPECT_FALSE(HasModel(kMetrics));
  const std::string table = MetricsTable(kMetrics);
  for (const char* text : {"none: links and degrees alone", "hybrid", "links of the variant     41",
                           "precision expected       0.75", "AUC expected             0.9"}) {
    EXPECT_THAT(table, HasSubstr(text));
  }
  EXPECT_THAT(table, ::testing::Not(HasSubstr("accuracy")));
}

TEST(HasModel, OfWhatIsNoResultWithoutOne) {
  for (const char* text : {"", "{", "[1]", "{}", R"({"train":{"model":"gcn"}})"}) EXPECT_TRUE(HasModel(text)) << text;
}

TEST(MetricsTable, SurvivesMembersOfOtherKindsThanItExpects) {
  const std::string table = MetricsTable(R"({"privacy":7,"plausibility":[1],"reports":null,
      "train":{"warnings":"none","model":["gcn"],"variant":{"a":1}}})");
  EXPECT_THAT(table, HasSubstr("gcn"));
}

}  // namespace
}  // namespace blink
