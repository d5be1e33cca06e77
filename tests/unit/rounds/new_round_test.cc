// What makes a round, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "tests/testing/log_capture.h"
#include "tests/unit/rounds/pipeline_fixture.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

TEST_F(PipelineTest, RefusesRoundsThatAreOutOfRange) {
  const auto refused = [&](const v1::CreateRoundRequest& request, const std::string& named) {
    const auto round = pipeline_->CreateRound(request);
    EXPECT_EQ(round.status().code(), absl::StatusCode::kInvalidArgument) << named;
    EXPECT_THAT(std::string(round.status().message()), HasSubstr(named));
  };
  v1::CreateRoundRequest request = Request();
  request.mutable_parameters()->set_node_count(kNodes + 1);
  refused(request, "node_count");
  request = Request();
  request.mutable_parameters()->set_epsilon_micro(0);
  refused(request, "epsilon");
  request = Request();
  request.mutable_parameters()->set_mechanism(4);
  refused(request, "mechanism is 4, but only 1 (both-ends), 2 (one-end) and 3 (group-degrees) are known");
  request = Request();
  request.set_open_for_ms(999);
  refused(request, "open_for_ms");
  request.set_open_for_ms(31'536'000'001);
  refused(request, "open_for_ms");
  refused(Request(kNodes + 1), "quorum");
  refused(Request(1, std::string(65, 'a')), "request_id");
  refused(Request(1, "a b"), "request_id");
  request = Request();
  request.mutable_training()->set_dropout(1.0);
  refused(request, "dropout");
  EXPECT_TRUE(pipeline_->ListRounds()->empty());
}

TEST_F(PipelineTest, KeepsTheMechanismAndTakesBothEndsWhereNoneIsNamed) {
  EXPECT_EQ(Get(Create()).parameters().mechanism(), 1u);
  v1::CreateRoundRequest request = Request(1, "one");
  request.mutable_parameters()->set_mechanism(2);
  EXPECT_EQ(Get(pipeline_->CreateRound(request)->round_id()).parameters().mechanism(), 2u);
  request.mutable_parameters()->set_mechanism(1);
  EXPECT_THAT(std::string(pipeline_->CreateRound(request).status().message()), HasSubstr("(mechanism 2, not 1)"));
}

TEST_F(PipelineTest, RefusesAnUnknownPolicyAndABoundThatNoListReaches) {
  v1::CreateRoundRequest request = Request();
  request.set_implausible(static_cast<v1::Implausible>(9));
  absl::Status refused = pipeline_->CreateRound(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("implausible is 9"));
  request = Request();
  request.set_degree_max(kNodes);
  refused = pipeline_->CreateRound(request).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("degree_max is 20"));
}

TEST_F(PipelineTest, FlagsImplausibleReportsUnlessTheOperatorSaysOtherwise) {
  EXPECT_EQ(Get(Create()).implausible(), v1::IMPLAUSIBLE_FLAG);
  v1::CreateRoundRequest request = Request();
  request.set_implausible(v1::IMPLAUSIBLE_DROP);
  request.set_degree_max(kNodes - 1);
  const v1::Round round = pipeline_->CreateRound(request).value();
  EXPECT_EQ(Get(round.round_id()).implausible(), v1::IMPLAUSIBLE_DROP);
  EXPECT_EQ(Get(round.round_id()).degree_max(), kNodes - 1);
}

TEST_F(PipelineTest, RefusesARequestIdWithOtherParametersThanItsRoundHas) {
  const std::string id = Create(1, "first");
  const auto refused = [&](const v1::CreateRoundRequest& request, const std::string& named) {
    const absl::Status status = pipeline_->CreateRound(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << named;
    EXPECT_THAT(std::string(status.message()), HasSubstr("request id first made round " + id));
    EXPECT_THAT(std::string(status.message()), HasSubstr("(" + named + ")"));
  };
  v1::CreateRoundRequest request = Request(1, "first");
  request.mutable_parameters()->set_epsilon_micro(4'500'001);
  refused(request, "epsilon 6, not 4.500001");
  request.mutable_parameters()->set_degree_share_ppm(0);
  refused(request, "epsilon 6, not 4.500001; degree_share 0.1, not 0");
  refused(Request(2, "first"), "quorum 1, not 2");
  request = Request(1, "first");
  request.mutable_training()->set_epochs(7);
  request.mutable_training()->set_model(v1::MODEL_MLP);
  refused(request, "model MODEL_GCN, not MODEL_MLP; epochs 300, not 7");
  request = Request(1, "first");
  request.mutable_training()->set_patience(0);
  refused(request, "patience unset, not 0");
  request = Request(1, "first");
  request.set_open_for_ms(61'000);
  refused(request, "open_for_ms 60000, not 61000");
  EXPECT_EQ(pipeline_->ListRounds()->size(), 1u);
  request = Request(1, "first");
  request.mutable_training()->set_batch_nodes(64);
  request.mutable_training()->add_fan_out(10);
  request.mutable_training()->add_fan_out(5);
  const absl::Status status = pipeline_->CreateRound(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(status.message()), HasSubstr("fan_out unset, not 10,5"));
}

TEST_F(PipelineTest, TakesARequestAgainWhenItsRoundHasGoneOnAndWhateverIsSpelledOut) {
  const std::string id = Create(1, "first");
  clock_.Advance(absl::Seconds(5));
  v1::CreateRoundRequest request = Request(0, "first");
  request.mutable_training()->set_epochs(300);
  request.mutable_training()->set_prior(v1::PRIOR_BETA);
  request.mutable_parameters()->set_node_count(kNodes);
  request.set_implausible(v1::IMPLAUSIBLE_FLAG);
  EXPECT_EQ(pipeline_->CreateRound(request)->round_id(), id);
  ASSERT_TRUE(pipeline_->Cancel(id).ok());
  EXPECT_EQ(pipeline_->CreateRound(request)->state(), v1::ROUND_STATE_CANCELLED);
}

TEST_F(PipelineTest, MakesOneRoundForARequestIdAndRefusesThe65thOpenRound) {
  const std::string id = Create(1, "again");
  EXPECT_EQ(Create(1, "again"), id);
  for (int i = 1; i < 64; ++i) Create();
  EXPECT_EQ(pipeline_->CreateRound(Request()).status().code(), absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(pipeline_->Cancel(id).ok());
  EXPECT_TRUE(pipeline_->CreateRound(Request()).ok());
}

TEST_F(PipelineTest, RefusesARoundThatCanNeverBeTrained) {
  TrainingFacts facts{.nodes = kNodes, .features = 0, .classes = 2, .labelled_train = 5, .labelled_validation = 5};
  absl::Status unreadable;
  options_.facts = [&]() -> absl::StatusOr<TrainingFacts> {
    if (!unreadable.ok()) return unreadable;
    return facts;
  };
  StartPipeline();
  const auto refused = [&](const v1::CreateRoundRequest& request, absl::StatusCode code, const std::string& named) {
    const auto round = pipeline_->CreateRound(request);
    EXPECT_EQ(round.status().code(), code) << round.status();
    EXPECT_THAT(std::string(round.status().message()), HasSubstr(named));
  };
  v1::CreateRoundRequest request = Request();
  request.mutable_training()->set_model(v1::MODEL_MLP);
  request.mutable_training()->set_node_features(v1::NODE_FEATURES_DEGREE);
  refused(request, absl::StatusCode::kInvalidArgument, "training.node_features is degree");
  request = Request();
  request.mutable_training()->set_device("cuda:0");
  refused(request, absl::StatusCode::kFailedPrecondition, "a stand-in has none");
  facts.labelled_validation = 0;
  refused(Request(), absl::StatusCode::kFailedPrecondition, "validation split");
  unreadable = absl::InvalidArgumentError("labels.csv: line 3");
  refused(Request(), absl::StatusCode::kFailedPrecondition, "no round can be trained: labels.csv: line 3");
  EXPECT_TRUE(pipeline_->ListRounds()->empty());
  unreadable = absl::OkStatus();
  facts.labelled_validation = 5;
  EXPECT_TRUE(pipeline_->CreateRound(Request()).ok());
}

TEST_F(PipelineTest, RefusesARoundForWhichTheWorkerMayNotHaveTheMemoryUnlessToldOtherwise) {
  options_.facts = [] {
    return TrainingFacts{.nodes = kNodes, .classes = 2, .labelled_train = 5, .labelled_validation = 5};
  };
  options_.worker_limits.memory_bytes = 100'000'000;
  StartPipeline();
  const absl::Status refused = pipeline_->CreateRound(Request()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << "another try would end likewise";
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no worker could finish this round: this needs about "));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--worker-memory-bytes has 100 MB"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("insist with --ignore-memory of blink-aggregator"));
  EXPECT_TRUE(pipeline_->ListRounds()->empty());
  pipeline_.reset();
  options_.ignore_memory = true;
  StartPipeline();
  EXPECT_TRUE(pipeline_->CreateRound(Request()).ok());
}

TEST_F(PipelineTest, OfNodesOfWhichNothingIsKnownTakesRoundsWithoutAModelAlone) {
  options_.facts = [] { return TrainingFacts{.nodes = kNodes}; };
  StartPipeline();
  const absl::Status refused = pipeline_->CreateRound(Request()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("no node has a label"));
  v1::CreateRoundRequest request = Request();
  request.mutable_training()->Clear();
  request.mutable_training()->set_model(v1::MODEL_NONE);
  const auto round = pipeline_->CreateRound(request);
  ASSERT_TRUE(round.ok()) << round.status();
  Report(round->round_id(), 0, kNodes - 1);
  ASSERT_TRUE(Reaches(round->round_id(), v1::ROUND_STATE_READY));
  EXPECT_TRUE(pipeline_->FindResult(round->round_id(), "degrees.csv").ok());
  for (const char* artifact : {"predictions.csv", "curves.csv", "model.pt"}) {
    const absl::Status missing = pipeline_->FindResult(round->round_id(), artifact).status();
    EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound) << artifact;
    EXPECT_THAT(std::string(missing.message()), HasSubstr("trained no model"));
  }
}

TEST_F(PipelineTest, AsksTheWorkerForGpusOnlyWhereAModelIsTrained) {
  options_.facts = [] {
    return TrainingFacts{.nodes = kNodes, .classes = 2, .labelled_train = 5, .labelled_validation = 5};
  };
  options_.worker_path = folder_ / "worker";
  const std::string asked = folder_ / "asked";
  const std::string script = absl::StrCat("#!/bin/sh\ntouch ", asked, "\nkill -9 $$\n");
  ASSERT_TRUE(WriteFileAtomically(options_.worker_path, script, 0755).ok());
  StartPipeline();
  const LogCapture captured;
  v1::CreateRoundRequest request = Request();
  request.mutable_training()->Clear();
  request.mutable_training()->set_model(v1::MODEL_NONE);
  EXPECT_TRUE(pipeline_->CreateRound(request).ok());
  EXPECT_FALSE(std::filesystem::exists(asked));
  EXPECT_TRUE(pipeline_->CreateRound(Request()).ok());
  EXPECT_TRUE(std::filesystem::exists(asked));
  EXPECT_THAT(captured.text(), HasSubstr("it is not known which GPUs the worker has: it did not answer: "));
}

TEST_F(PipelineTest, RefusesRoundsWhileTheWorkerDoesNotStart) {
  options_.facts = [] {
    return TrainingFacts{.nodes = kNodes, .classes = 2, .labelled_train = 5, .labelled_validation = 5};
  };
  const std::string worker = options_.worker_path;
  options_.worker_path = folder_ / "worker";
  StartPipeline();
  absl::Status refused = pipeline_->CreateRound(Request()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the worker does not start"));
  std::filesystem::create_symlink(worker, options_.worker_path);
  EXPECT_TRUE(pipeline_->CreateRound(Request()).ok()) << "it is asked again";
}

}  // namespace
}  // namespace blink
