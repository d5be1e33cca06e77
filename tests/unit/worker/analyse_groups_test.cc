// From answers about groups to groups, links and a model.
#include "aggregator_server/worker/analyse_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "aggregator_server/result/groups_file.h"
#include "common/base/durable_file.h"
#include "common/privacy/privatizer.h"
#include "common/wire/groups_codec.h"
#include "common/wire/training_spec.h"
#include "tests/testing/temp_folder.h"
#include "tests/unit/worker/small_round.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kNodes = 200;

NodeGroups Deal(uint32_t count) {
  NodeGroups groups{.count = count};
  for (uint32_t node = 0; node < kNodes; ++node) groups.group_of.push_back(node * 7 % count);
  return groups;
}

class AnalyseGroupsTest : public ::testing::Test {
 protected:
  // The answers of the nodes of the small data set, drawn as nodes draw them; one in ten is missing.
  GroupAnswers Answers(const NodeGroups& asked, const std::string& follows) const {
    const PrivacyParameters parameters = *PrivacyParameters::CreateForGroups(8'000'000, kNodes, QuestionAbout(asked));
    GroupAnswers answers{v1::Round(), parameters, asked, BitRow(kNodes)};
    answers.round.set_round_id(std::string(32, 'a'));
    answers.round.set_follows(follows);
    answers.degrees.resize(size_t{kNodes} * asked.count);
    for (NodeIndex i = 0; i < kNodes; ++i) {
      if (i % 10 == 3) continue;
      const PrivateReport report =
          *ApplyNoise(parameters, i, *DrawNoise(parameters, i, SecureRandom()), data_.graph.NeighboursOf(i), &asked);
      for (uint32_t k = 0; k < asked.count; ++k) {
        answers.degrees[size_t{i} * asked.count + k] = static_cast<float>(report.group_degrees[k]);
      }
      answers.reported.Set(i);
      ++answers.reports;
    }
    return answers;
  }
  v1::TrainingSpec Spec(v1::Model model) const {
    v1::TrainingSpec spec;
    if (model != v1::MODEL_NONE) spec = testing::SmallSpec();
    spec.set_model(model);
    return NormalizeTrainingSpec(std::move(spec)).value();
  }
  std::set<std::string> Write(const GroupAnswers& answers, const GroupAnalysis& analysis) const {
    EXPECT_TRUE(WriteGroupResult(folder_ / "result", answers.parameters, answers.reports, analysis, data_.attributes,
                                 ReportOrigin::kRound, kNodes)
                    .ok());
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "result")) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }
  nlohmann::json Metrics() const {
    return nlohmann::json::parse(ReadFile(folder_ / "result/metrics.json", 1 << 20).value());
  }

  const Dataset data_ = testing::SmallDataset();
  const testing::TempFolder folder_;
};

TEST_F(AnalyseGroupsTest, MakesOfAFirstQuestionGroupsThatCanBeAskedAbout) {
  const GroupAnswers answers = Answers(Deal(2), "");
  const auto analysis = AnalyseGroups(answers, data_.attributes, Spec(v1::MODEL_NONE), {});
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  ASSERT_TRUE(analysis->next.has_value());
  EXPECT_FALSE(analysis->links.has_value());
  EXPECT_EQ(Write(answers, *analysis), (std::set<std::string>{"groups.csv", "metrics.json"}));
  const auto groups = ReadGroupsCsv(folder_ / "result", kNodes);
  ASSERT_TRUE(groups.ok()) << groups.status();
  EXPECT_EQ(groups->group_of, analysis->next->groups.group_of);
  EXPECT_EQ(groups->count, analysis->next->groups.count);
  const nlohmann::json metrics = Metrics();
  EXPECT_EQ(metrics["groups"]["made"], groups->count);
  EXPECT_EQ(metrics["reports"]["received"], 180);
  EXPECT_EQ(metrics["reports"]["missing"], 20);
  EXPECT_TRUE(metrics["train"].is_null());
}

TEST_F(AnalyseGroupsTest, MakesOfASecondQuestionLinksAndAModelWhateverTheNumberOfThreads) {
  const GroupAnswers answers = Answers(Deal(9), std::string(32, 'b'));
  AnalysisOptions one, three;
  one.threads = 1;
  three.threads = 3;
  const auto analysis = AnalyseGroups(answers, data_.attributes, Spec(v1::MODEL_GCN), one);
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  ASSERT_TRUE(analysis->links.has_value());
  EXPECT_GT(analysis->links->links.neighbours().size(), kNodes);
  for (NodeIndex v = 0; v < kNodes; ++v) {
    for (const NodeIndex u : analysis->links->links.NeighboursOf(v)) {
      EXPECT_NE(u % 10, 3u) << "who did not answer names nobody";
    }
  }
  const auto again = AnalyseGroups(answers, data_.attributes, Spec(v1::MODEL_GCN), three);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->training.predictions, analysis->training.predictions);
  EXPECT_EQ(Write(answers, *analysis), (std::set<std::string>{"curves.csv", "links.csv", "links.npz", "metrics.json",
                                                              "model.pt", "model.ts", "predictions.csv"}));
  const nlohmann::json metrics = Metrics();
  EXPECT_EQ(metrics["groups"]["follows"], std::string(32, 'b'));
  EXPECT_EQ(metrics["groups"]["epsilon_of_both"], 16);
  EXPECT_EQ(metrics["privacy"]["achieved_epsilon"], 8);
  EXPECT_EQ(metrics["train"]["model"], "gcn");
  EXPECT_TRUE(metrics["train"]["variant"].is_null());
  std::string csv = "source,target\n";
  for (NodeIndex v = 0; v < kNodes; ++v) {
    for (const NodeIndex u : analysis->links->links.NeighboursOf(v)) absl::StrAppend(&csv, u, ",", v, "\n");
  }
  EXPECT_EQ(ReadFile(folder_ / "result/links.csv", 1 << 20).value(), csv);
}

TEST_F(AnalyseGroupsTest, GivesTheLinksAloneWhereNoModelIsAskedFor) {
  const GroupAnswers answers = Answers(Deal(9), std::string(32, 'b'));
  const auto analysis = AnalyseGroups(answers, NodeAttributes::OfNothing(kNodes), Spec(v1::MODEL_NONE), {});
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_EQ(Write(answers, *analysis), (std::set<std::string>{"links.csv", "links.npz", "metrics.json"}));
}

TEST_F(AnalyseGroupsTest, LeavesAnswersOutThatNoHonestNodeGivesAndSaysWhose) {
  GroupAnswers honest = Answers(Deal(2), "");
  const uint32_t wanted = AnalyseGroups(honest, data_.attributes, Spec(v1::MODEL_NONE), {})->next->wanted;
  GroupAnswers answers = honest;
  answers.degrees[2 * 7] = 9e18f;
  answers.degrees[2 * 8 + 1] = -9e18f;
  const auto analysis = AnalyseGroups(answers, data_.attributes, Spec(v1::MODEL_NONE), {});
  ASSERT_TRUE(analysis.ok()) << analysis.status();
  EXPECT_THAT(analysis->implausible, ::testing::ElementsAre(7, 8));
  EXPECT_LE(analysis->next->wanted, wanted + 1);
  Write(answers, *analysis);
  EXPECT_EQ(Metrics()["groups"]["implausible"], (nlohmann::json{{"answers", 2}, {"nodes", {7, 8}}}));
  for (NodeIndex i = 0; i < kNodes; ++i) answers.degrees[2 * i] = 9e18f;
  EXPECT_EQ(AnalyseGroups(answers, data_.attributes, Spec(v1::MODEL_NONE), {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(AnalyseGroupsTest, RefusesWhatCannotBeMadeOfTheAnswers) {
  const auto refused = [&](const GroupAnswers& answers, const NodeAttributes& attributes, v1::Model model,
                           absl::StatusCode code, const std::string& named) {
    const absl::Status status = AnalyseGroups(answers, attributes, Spec(model), {}).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(named));
  };
  const GroupAnswers first = Answers(Deal(2), "");
  refused(first, data_.attributes, v1::MODEL_GCN, absl::StatusCode::kInvalidArgument, "asked about random groups");
  refused(first, NodeAttributes::OfNothing(kNodes + 1), v1::MODEL_NONE, absl::StatusCode::kFailedPrecondition,
          "the attribute folder has 201");
  const GroupAnswers second = Answers(Deal(2), std::string(32, 'b'));
  refused(second, NodeAttributes::OfNothing(kNodes), v1::MODEL_GCN, absl::StatusCode::kFailedPrecondition,
          "no node has a label");
  v1::TrainingSpec attributed = Spec(v1::MODEL_NONE);
  attributed.set_prior(v1::PRIOR_ATTRIBUTED);
  EXPECT_THAT(std::string(AnalyseGroups(second, data_.attributes, attributed, {}).status().message()),
              HasSubstr("no pair has a posterior"));
  GroupAnswers nobody = first;
  nobody.reported = BitRow(kNodes);
  refused(nobody, data_.attributes, v1::MODEL_NONE, absl::StatusCode::kInvalidArgument, "nobody has answered");
}

}  // namespace
}  // namespace blink
