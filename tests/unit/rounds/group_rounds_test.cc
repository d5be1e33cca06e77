// Rounds that ask about groups of nodes: the two questions, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/result/groups_file.h"
#include "common/base/durable_file.h"
#include "common/wire/artifact_digests.h"
#include "common/wire/groups_codec.h"
#include "common/wire/round.h"
#include "tests/testing/temp_folder.h"
#include "tests/unit/rounds/pipeline_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

class GroupRounds : public PipelineTest {
 protected:
  static v1::CreateRoundRequest Question(const std::string& request_id = "") {
    v1::CreateRoundRequest request = Request(1, request_id);
    request.mutable_parameters()->set_mechanism(3);
    request.mutable_parameters()->set_degree_share_ppm(0);
    return request;
  }
  static v1::CreateRoundRequest Following(const std::string& round_id, const std::string& request_id = "") {
    v1::CreateRoundRequest request = Request(1, request_id);
    request.clear_parameters();
    request.set_follows(round_id);
    return request;
  }
  v1::Round Ask(const v1::CreateRoundRequest& request) {
    const auto round = pipeline_->CreateRound(request);
    EXPECT_TRUE(round.ok()) << round.status();
    return round.value_or(v1::Round());
  }
  // The groups that the store gives to nodes; they have been compared with the round's parameters.
  NodeGroups GroupsOf(const v1::Round& round) {
    const auto coded = store_->GetGroups(round);
    EXPECT_TRUE(coded.ok()) << coded.status();
    const NodeGroups groups = DecodeGroups(*coded, kNodes, round.parameters().group_count()).value();
    EXPECT_EQ(QuestionAbout(groups), ParametersFromProto(round.parameters())->question());
    return groups;
  }
  // As if its worker had made these groups of the answers.
  void MakeReady(const std::string& round_id, const NodeGroups& groups) {
    const std::string folder = ResultOf(round_id);
    std::filesystem::create_directories(folder);
    ASSERT_TRUE(WriteGroupsCsv(groups, folder).ok());
    nlohmann::ordered_json metrics = {{"privacy", 1}, {"train", nullptr}};
    metrics["files"] = DigestArtifacts(folder).value();
    ASSERT_TRUE(WriteFileAtomically(folder + "/metrics.json", SealMetrics(metrics)).ok());
    const auto make_ready = [](v1::Round& round) {
      round.set_state(v1::ROUND_STATE_READY);
      return absl::OkStatus();
    };
    ASSERT_TRUE(store_->UpdateRound(round_id, {v1::ROUND_STATE_OPEN}, make_ready).ok());
  }
  std::string ResultOf(const std::string& round_id) const {
    return absl::StrCat(options_.rounds_folder, "/", round_id, "/result");
  }
  static NodeGroups Thirds() {
    NodeGroups groups{.count = 3};
    for (uint32_t node = 0; node < kNodes; ++node) groups.group_of.push_back(node % 3);
    return groups;
  }
  void ExpectRefused(const v1::CreateRoundRequest& request, absl::StatusCode code, const std::string& named) {
    const absl::Status refused = pipeline_->CreateRound(request).status();
    EXPECT_EQ(refused.code(), code) << named << ": " << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(named));
  }
};

TEST_F(GroupRounds, AskAboutTwoRandomGroupsUnlessAnotherNumberIsNamed) {
  const v1::Round two = Ask(Question());
  EXPECT_EQ(two.parameters().group_count(), 2u);
  EXPECT_EQ(two.training().model(), v1::MODEL_NONE) << "there are no links to train on";
  v1::CreateRoundRequest request = Question();
  request.mutable_parameters()->set_group_count(7);
  const v1::Round seven = Ask(request);
  EXPECT_EQ(GroupsOf(seven).count, 7u);
  const v1::Round again = Ask(Question());
  EXPECT_NE(GroupsOf(two).group_of, GroupsOf(again).group_of) << "equal once in a million times";
  EXPECT_NE(two.parameters().groups_sha256(), again.parameters().groups_sha256());
}

TEST_F(GroupRounds, AskAboutTheGroupsThatTheFollowedRoundMadeWithItsEpsilon) {
  v1::CreateRoundRequest request = Question();
  request.mutable_parameters()->set_epsilon_micro(750'000);
  const v1::Round first = Ask(request);
  MakeReady(first.round_id(), Thirds());
  const v1::Round second = Ask(Following(first.round_id()));
  EXPECT_EQ(second.follows(), first.round_id());
  EXPECT_EQ(second.parameters().epsilon_micro(), 750'000u);
  EXPECT_EQ(second.parameters().mechanism(), 3u);
  EXPECT_EQ(second.training().model(), v1::MODEL_GCN);
  EXPECT_EQ(GroupsOf(second).group_of, Thirds().group_of);
  EXPECT_EQ(GroupsOf(second).count, 3u);
  request = Following(first.round_id());
  request.mutable_training()->set_model(v1::MODEL_NONE);
  EXPECT_EQ(Ask(request).training().model(), v1::MODEL_NONE) << "the links alone";
  StartPipeline();
  EXPECT_EQ(GroupsOf(Get(second.round_id())).group_of, Thirds().group_of) << "after a restart";
}

TEST_F(GroupRounds, GiveARequestThatComesAgainItsRoundThoughOtherGroupsWereDrawn) {
  const v1::Round first = Ask(Question("first"));
  EXPECT_EQ(Ask(Question("first")).round_id(), first.round_id());
  EXPECT_EQ(GroupsOf(first).group_of, GroupsOf(Get(first.round_id())).group_of);
  v1::CreateRoundRequest other = Question("first");
  other.mutable_parameters()->set_group_count(3);
  ExpectRefused(other, absl::StatusCode::kAlreadyExists, "(group_count 2, not 3)");
  MakeReady(first.round_id(), Thirds());
  const v1::Round second = Ask(Following(first.round_id(), "second"));
  EXPECT_EQ(Ask(Following(first.round_id(), "second")).round_id(), second.round_id());
  ExpectRefused(Question("second"), absl::StatusCode::kAlreadyExists, "follows");
  std::filesystem::remove_all(ResultOf(first.round_id()));
  options_.node_count = kNodes + 1;
  StartPipeline();
  EXPECT_EQ(Ask(Following(first.round_id(), "second")).round_id(), second.round_id())
      << "whatever became of the followed round and the roster";
}

TEST_F(GroupRounds, WriteTheGroupsBesideTheReports) {
  const v1::Round round = Ask(Question());
  ASSERT_TRUE(pipeline_->Cancel(round.round_id()).ok());
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(options_.rounds_folder, "/", round.round_id(), "/groups")))
      << "nobody has answered";
  const v1::Round sealed = Ask(Question());
  const PrivacyParameters parameters = *ParametersFromProto(sealed.parameters());
  const auto put = store_->PutReportAndWait(testing::MakeChecked(parameters, 4, 0, sealed.round_id()));
  ASSERT_TRUE(put.ok()) << put.status();
  pipeline_->NoteReport(sealed.round_id(), 1);
  ASSERT_TRUE(pipeline_->Seal(sealed.round_id()).ok());
  ASSERT_TRUE(Reaches(sealed.round_id(), v1::ROUND_STATE_READY));
  const std::string path = absl::StrCat(options_.rounds_folder, "/", sealed.round_id(), "/groups");
  EXPECT_EQ(ReadFile(path, 1000).value(), EncodeGroups(GroupsOf(sealed)));
}

TEST_F(GroupRounds, RefuseWhatTheyCannotAskFor) {
  constexpr auto kRange = absl::StatusCode::kInvalidArgument;
  v1::CreateRoundRequest request = Question();
  request.mutable_parameters()->set_group_count(1001);
  ExpectRefused(request, kRange, "group_count is 1001, but must be 1 .. 1000");
  request.mutable_parameters()->set_group_count(kNodes + 1);
  ExpectRefused(request, kRange, "21");
  request = Question();
  request.mutable_parameters()->set_groups_sha256(std::string(32, 'x'));
  ExpectRefused(request, kRange, "groups_sha256 is set, but the aggregator makes the groups: leave it out");
  request = Question();
  request.mutable_parameters()->set_degree_share_ppm(100'000);
  ExpectRefused(request, kRange, "degree_share_ppm is 100000, but must be 0");
  request = Question();
  request.mutable_training()->set_model(v1::MODEL_GCN);
  ExpectRefused(request, kRange, "a round that asks about random groups trains nothing");
  request = Question();
  request.mutable_training()->set_candidates(3);
  ExpectRefused(request, kRange, "a round that asks about random groups trains nothing");
  request = Question();
  request.set_implausible(v1::IMPLAUSIBLE_DROP);
  ExpectRefused(request, kRange, "implausible asks for a check");
  request = Question();
  request.set_degree_max(5);
  ExpectRefused(request, kRange, "degree_max asks for a check");
  request = Request();
  request.mutable_parameters()->set_group_count(2);
  ExpectRefused(request, kRange, "asks about no groups");
  EXPECT_TRUE(pipeline_->ListRounds()->empty());
}

TEST_F(GroupRounds, RefuseToFollowWhatMadeNoGroups) {
  constexpr auto kNotNow = absl::StatusCode::kFailedPrecondition;
  ExpectRefused(Following(std::string(32, 'a')), absl::StatusCode::kNotFound, "there is no such round");
  ExpectRefused(Following(Create()), kNotNow, "it did not ask about groups of nodes");
  const v1::Round first = Ask(Question());
  ExpectRefused(Following(first.round_id()), kNotNow, "it is open, and a round that follows needs its groups");
  MakeReady(first.round_id(), Thirds());
  const v1::Round second = Ask(Following(first.round_id()));
  MakeReady(second.round_id(), Thirds());
  ExpectRefused(Following(second.round_id()), kNotNow, absl::StrCat("it follows round ", first.round_id(), " itself"));
  options_.node_count = kNodes + 1;
  StartPipeline();
  ExpectRefused(Following(first.round_id()), kNotNow, "it was about 20 nodes, and the roster has 21");
}

TEST_F(GroupRounds, RefuseToFollowWithOtherNumbersThanTheFollowedRoundHas) {
  const v1::Round first = Ask(Question());
  MakeReady(first.round_id(), Thirds());
  const auto refused = [&](const std::function<void(v1::CreateRoundRequest&)>& change, const std::string& named) {
    v1::CreateRoundRequest request = Following(first.round_id());
    change(request);
    ExpectRefused(request, absl::StatusCode::kInvalidArgument, named);
  };
  refused([](auto& r) { r.mutable_parameters()->set_epsilon_micro(1); }, "has 6000000: leave it out");
  refused([](auto& r) { r.mutable_parameters()->set_group_count(2); }, "made 3: leave it out");
  refused([](auto& r) { r.mutable_parameters()->set_mechanism(1); }, "mechanism is 1");
  refused([](auto& r) { r.mutable_training()->set_dropout(2); }, "dropout");
  refused([](auto& r) { r.mutable_training()->set_prior(v1::PRIOR_ATTRIBUTED); }, "no pair has a posterior");
  v1::CreateRoundRequest same = Following(first.round_id());
  same.mutable_parameters()->set_epsilon_micro(6'000'000);
  same.mutable_parameters()->set_group_count(3);
  EXPECT_EQ(Ask(same).follows(), first.round_id());
}

TEST_F(GroupRounds, RefuseToFollowARoundWhoseGroupsWereLostOrChanged) {
  const v1::Round first = Ask(Question());
  MakeReady(first.round_id(), Thirds());
  const std::string path = ResultOf(first.round_id()) + "/groups.csv";
  const std::string good = ReadFile(path, 1000).value();
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() - 1), "x" + good.substr(1), good + std::string(4096, '\n')}) {
    ASSERT_TRUE(WriteFileAtomically(path, bad).ok());
    ExpectRefused(Following(first.round_id()), absl::StatusCode::kDataLoss, "groups.csv");
  }
  std::filesystem::remove(path);
  ExpectRefused(Following(first.round_id()), absl::StatusCode::kDataLoss, "groups.csv");
  ASSERT_TRUE(WriteFileAtomically(path, good).ok());
  EXPECT_EQ(Ask(Following(first.round_id())).follows(), first.round_id());
  ASSERT_TRUE(WriteFileAtomically(ResultOf(first.round_id()) + "/metrics.json", "{}").ok());
  ExpectRefused(Following(first.round_id()), absl::StatusCode::kDataLoss, "does not record it");
}

TEST_F(GroupRounds, AreRetriedWithNothingThatTheyCouldNotBeMadeWith) {
  const v1::Round first = Ask(Question());
  MakeReady(first.round_id(), Thirds());
  const v1::Round second = Ask(Following(first.round_id()));
  const auto put = store_->PutReportAndWait(
      testing::MakeChecked(*ParametersFromProto(second.parameters()), 4, 0, second.round_id()));
  ASSERT_TRUE(put.ok()) << put.status();
  ASSERT_TRUE(pipeline_->Cancel(second.round_id()).ok());
  v1::TrainingSpec attributed, soft;
  attributed.set_prior(v1::PRIOR_ATTRIBUTED);
  soft.set_variant(v1::VARIANT_SOFT);
  for (const v1::TrainingSpec& wrong : {attributed, soft}) {
    EXPECT_EQ(pipeline_->AnalyseAgain(second.round_id(), wrong).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(testing::Eventually([&] { return pipeline_->AnalyseAgain(second.round_id(), v1::TrainingSpec()).ok(); }));
}

TEST_F(GroupRounds, AreCheckedForWhatTheyTrainAndForMemoryWhenTheyAreMade) {
  options_.facts = [] { return TrainingFacts{.nodes = kNodes}; };
  StartPipeline();
  const v1::Round first = Ask(Question());
  MakeReady(first.round_id(), Thirds());
  ExpectRefused(Following(first.round_id()), absl::StatusCode::kFailedPrecondition, "no node has a label");
  v1::CreateRoundRequest request = Following(first.round_id());
  request.mutable_training()->set_model(v1::MODEL_NONE);
  EXPECT_EQ(Ask(request).follows(), first.round_id());
  options_.worker_limits.memory_bytes = 100'000'000;
  StartPipeline();
  ExpectRefused(request, absl::StatusCode::kFailedPrecondition, "no worker could finish this round");
}

TEST(GroupsFile, GivesBackTheGroupsAndRefusesOtherTexts) {
  const testing::TempFolder folder;
  const auto write = [&](const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(folder / "groups.csv", text).ok());
    nlohmann::ordered_json metrics = {{"files", DigestArtifacts(folder.path()).value()}};
    EXPECT_TRUE(WriteFileAtomically(folder / "metrics.json", SealMetrics(metrics)).ok());
    return ReadGroupsCsv(folder.path(), 3);
  };
  const auto read = write("node,group\n0,1\n1,0\n2,1\n");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->group_of, (std::vector<uint32_t>{1, 0, 1}));
  EXPECT_EQ(read->count, 2u);
  for (const char* bad :
       {"", "node,group\n", "group,node\n0,1\n1,0\n2,1\n", "node,group\n0,1\n2,1\n1,0\n", "node,group\n0,1\n1,0\n",
        "node,group\n0,1\n1,0\n2,1\n3,0\n", "node,group\n0,1\n1,1000\n2,1\n", "node,group\n0,1\n1,-1\n2,1\n",
        "node,group\n0,1\n1,x\n2,1\n", "node,group\n0,1,7\n1,0\n2,1\n", "node,group\n0\n1,0\n2,1\n"}) {
    EXPECT_EQ(write(bad).status().code(), absl::StatusCode::kDataLoss) << bad;
  }
}

}  // namespace
}  // namespace blink
