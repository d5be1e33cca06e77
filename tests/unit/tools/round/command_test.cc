// The command line of `blink round` against a real aggregator-like server in process.
#include "tools/round/command.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "blink/v1/operator.grpc.pb.h"
#include "common/base/durable_file.h"
#include "common/base/program.h"
#include "common/cli/strict_numbers.h"
#include "common/cli/training_flags.h"
#include "common/privacy/parameters.h"
#include "common/wire/degree_share.h"
#include "nlohmann/json.hpp"
#include "tools/round/report.h"

namespace blink {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const std::string kId(32, 'a');

// Holds one round, in whatever state the test gives it.
class FakeAggregator final : public v1::OperatorService::Service {
 public:
  grpc::Status CreateRound(grpc::ServerContext*, const v1::CreateRoundRequest* request, v1::Round* round) override {
    asked = *request;
    *round = state;
    *round->mutable_training() = asked.training();
    if (!knows_priors) round->mutable_training()->clear_prior();
    if (!knows_scores) round->mutable_training()->clear_score();
    return refusal;
  }
  grpc::Status GetRoundStatus(grpc::ServerContext*, const v1::GetRoundStatusRequest*, v1::Round* round) override {
    *round = state;
    return refusal;
  }
  grpc::Status ListRounds(grpc::ServerContext*, const v1::ListRoundsRequest*,
                          v1::ListRoundsResponse* response) override {
    *response->add_rounds() = state;
    return refusal;
  }
  grpc::Status SealRound(grpc::ServerContext*, const v1::SealRoundRequest*, v1::Round* round) override {
    *round = state;
    return refusal;
  }
  grpc::Status WatchRound(grpc::ServerContext*, const v1::WatchRoundRequest*,
                          grpc::ServerWriter<v1::Round>* writer) override {
    v1::Round round = state;
    round.set_state(v1::ROUND_STATE_OPEN);
    writer->Write(round);
    if (++watches == 1) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting");  // the client comes back
    writer->Write(state);
    return grpc::Status::OK;
  }
  grpc::Status GetResult(grpc::ServerContext*, const v1::GetResultRequest* request,
                         grpc::ServerWriter<v1::GetResultResponse>* writer) override {
    if (request->artifact() == missing)
      return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "there is no such artifact");
    v1::GetResultResponse part;
    if (request->artifact() == "metrics.json" && !metrics.empty()) {
      part.set_chunk(metrics);
      writer->Write(part);
      return grpc::Status::OK;
    }
    for (const char* chunk : {"{\"artifact\":\"", request->artifact().c_str(), "\"}"}) {
      part.set_chunk(chunk);
      writer->Write(part);
    }
    return request->artifact() == broken ? grpc::Status(grpc::StatusCode::DATA_LOSS, "cut") : grpc::Status::OK;
  }

  grpc::Status RetryRound(grpc::ServerContext*, const v1::RetryRoundRequest* request, v1::Round* round) override {
    retried = *request;
    *round = state;
    return refusal;
  }
  grpc::Status DeleteRound(grpc::ServerContext*, const v1::DeleteRoundRequest* request, v1::Round* round) override {
    deleted = request->round_id();
    *round = state;
    round->set_deleting(true);  // and is done when it is asked for again
    return refusal;
  }
  grpc::Status ListMissingNodes(grpc::ServerContext*, const v1::ListMissingNodesRequest* request,
                                v1::ListMissingNodesResponse* response) override {
    const uint64_t first = request->first_node();
    v1::NodeRange& range = *response->add_missing();
    range.set_first(first + 3);
    range.set_last(first + 3 + pages_left);
    if (pages_left > 0) response->set_next_node(endless ? first : first + 10);
    pages_left -= pages_left > 0 ? 1 : 0;
    return refusal;
  }

  grpc::Status ListRefusedReports(grpc::ServerContext*, const v1::ListRefusedReportsRequest*,
                                  v1::ListRefusedReportsResponse* response) override {
    *response = refused;
    return refusal;
  }

  v1::ListRefusedReportsResponse refused;
  v1::RetryRoundRequest retried;
  std::string deleted;
  int pages_left = 0;
  bool endless = false;
  v1::CreateRoundRequest asked;
  v1::Round state;
  grpc::Status refusal;
  std::string broken, missing, metrics;
  int watches = 0;
  bool knows_priors = true, knows_scores = true;
};

class RoundCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/round-", ::getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    service_.state.set_round_id(kId);
    service_.state.set_state(v1::ROUND_STATE_READY);
    ASSERT_TRUE(
        WriteFileAtomically(folder_ + "/operator.conf",
                            absl::StrCat("aggregator=\"127.0.0.1:", port, "\"\ndeployment=\"demo\"\ninsecure=true\n"))
            .ok());
  }
  void TearDown() override {
    server_->Shutdown();
    fs::remove_all(folder_);
  }

  // The exit code of `blink round <arguments> --config ...`; what it printed is in out_ and err_.
  int Round(std::vector<std::string> arguments) {
    CLI::App app;
    std::function<int()> run;
    AddRoundCommand(app, &run);
    arguments.insert(arguments.begin(), "round");
    arguments.push_back("--config");
    arguments.push_back(folder_ + "/operator.conf");
    std::vector<const char*> argv = {"blink"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    int code = 2;
    try {
      ParseStrictly(app, static_cast<int>(argv.size()), argv.data());
      code = run();
    } catch (const CLI::ParseError& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return code;
  }

  std::string folder_, out_, err_;
  FakeAggregator service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(RoundCommand, CreateSendsIntegersAndPrintsTheId) {
  ASSERT_EQ(
      Round({"create", "--epsilon", "4.35", "--degree-share", "0.1", "--open-for", "60s", "--quorum", "9", "--model",
             "mlp", "--weight-decay", "0", "--dropout", "0.01", "--learning-rate", "0.1", "--request-id", "r1"}),
      0)
      << err_;
  EXPECT_EQ(out_, kId + "\n");
  EXPECT_EQ(service_.asked.deployment(), "demo");
  EXPECT_EQ(service_.asked.parameters().epsilon_micro(), 4'350'000u);
  EXPECT_EQ(service_.asked.parameters().degree_share_ppm(), 100'000u);
  EXPECT_EQ(service_.asked.open_for_ms(), 60'000u);
  EXPECT_EQ(service_.asked.quorum(), 9u);
  EXPECT_EQ(service_.asked.request_id(), "r1");
  EXPECT_EQ(service_.asked.training().model(), v1::MODEL_MLP);
  EXPECT_EQ(service_.asked.training().learning_rate(), 0.1);
  EXPECT_EQ(service_.asked.training().weight_decay(), 0.0);  // a zero that was asked for stays a zero
  EXPECT_EQ(service_.asked.training().epochs(), 300u);
  EXPECT_EQ(service_.asked.implausible(), v1::IMPLAUSIBLE_FLAG);
  EXPECT_EQ(service_.asked.degree_max(), 0u);
}

TEST_F(RoundCommand, CreateSendsWhatBecomesOfImplausibleReports) {
  ASSERT_EQ(Round({"create", "--epsilon", "4", "--implausible", "drop", "--degree-max", "500"}), 0) << err_;
  EXPECT_EQ(service_.asked.implausible(), v1::IMPLAUSIBLE_DROP);
  EXPECT_EQ(service_.asked.degree_max(), 500u);
  ASSERT_EQ(Round({"create", "--epsilon", "4", "--implausible", "keep"}), 0) << err_;
  EXPECT_EQ(service_.asked.implausible(), v1::IMPLAUSIBLE_KEEP);
  EXPECT_EQ(Round({"create", "--epsilon", "4", "--implausible", "hide"}), 2);
}

TEST_F(RoundCommand, CreateAsksAboutRandomGroupsAndThenAboutThoseOfTheRoundThatItFollows) {
  ASSERT_EQ(Round({"create", "--epsilon", "4", "--mechanism", "group-degrees", "--groups", "5"}), 0) << err_;
  EXPECT_EQ(service_.asked.parameters().mechanism(), 3u);
  EXPECT_EQ(service_.asked.parameters().group_count(), 5u);
  EXPECT_EQ(service_.asked.parameters().degree_share_ppm(), 0u);
  EXPECT_EQ(service_.asked.training().model(), v1::MODEL_NONE);
  ASSERT_EQ(Round({"create", "--follows", kId, "--model", "gat"}), 0) << err_;
  EXPECT_EQ(service_.asked.follows(), kId);
  EXPECT_EQ(service_.asked.parameters().epsilon_micro(), 0u) << "that of the followed round";
  EXPECT_EQ(service_.asked.parameters().mechanism(), 3u);
  EXPECT_EQ(service_.asked.training().model(), v1::MODEL_GAT);
  service_.state.mutable_parameters()->set_mechanism(3);
  service_.state.mutable_parameters()->set_group_count(17);
  service_.state.set_follows(std::string(32, 'b'));
  service_.state.mutable_training()->set_model(v1::MODEL_GCN);
  service_.state.mutable_training()->set_variant(v1::VARIANT_HARD);
  ASSERT_EQ(Round({"status", kId}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("groups asked about       17\n"));
  EXPECT_THAT(out_, HasSubstr("follows round            " + std::string(32, 'b')));
  EXPECT_THAT(out_, HasSubstr("model                    gcn\n")) << "drawn links have no variant";
}

TEST_F(RoundCommand, CreateRefusesWhatDoesNotGoWithQuestionsAboutGroups) {
  service_.asked.Clear();
  const std::vector<std::string> question = {"create", "--epsilon", "4", "--mechanism", "group-degrees"};
  const std::vector<std::string> follows = {"create", "--follows", kId};
  const auto refused = [&](std::vector<std::string> arguments, const std::vector<std::string>& more,
                           const std::string& named) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(Round(arguments), 2) << named;
    EXPECT_THAT(err_, HasSubstr(named));
    EXPECT_EQ(service_.asked.ByteSizeLong(), 0u) << "nothing was asked for";
  };
  refused({"create"}, {}, "--epsilon is missing");
  refused({"create", "--epsilon", "4"}, {"--groups", "2"}, "--groups: only --mechanism group-degrees");
  refused(question, {"--groups", "0"}, "--groups");
  refused(question, {"--groups", "1001"}, "--groups");
  refused(question, {"--degree-share", "0.1"}, "--degree-share: ");
  refused(question, {"--implausible", "flag"}, "--implausible: ");
  refused(question, {"--degree-max", "7"}, "--degree-max: ");
  refused(question, {"--epochs", "7"}, "trains nothing");
  refused(follows, {"--epsilon", "4"}, "--epsilon: it is that of the round that is followed");
  refused(follows, {"--mechanism", "both-ends"}, "--mechanism: ");
  refused(follows, {"--groups", "2"}, "--groups: ");
  refused(follows, {"--variant", "hard"}, "--variant: ");
  refused(follows, {"--prior", "attributed"}, "--prior: ");
  refused({"create", "--follows", "x"}, {}, "is no round id");
}

TEST_F(RoundCommand, CreateSendsTheMechanismAndStatusNamesIt) {
  ASSERT_EQ(Round({"create", "--epsilon", "4"}), 0) << err_;
  EXPECT_EQ(service_.asked.parameters().mechanism(), 1u);
  ASSERT_EQ(Round({"create", "--epsilon", "4", "--mechanism", "one-end"}), 0) << err_;
  EXPECT_EQ(service_.asked.parameters().mechanism(), 2u);
  for (const char* unknown : {"2", "two-ends", ""}) {
    EXPECT_EQ(Round({"create", "--epsilon", "4", "--mechanism", unknown}), 2) << unknown;
  }
  for (const auto& [number, name] :
       {std::pair(1u, "both-ends"), std::pair(2u, "one-end"), std::pair(3u, "group-degrees"), std::pair(4u, "4")}) {
    service_.state.mutable_parameters()->set_mechanism(number);
    ASSERT_EQ(Round({"status", "--json", kId}), 0);
    EXPECT_EQ(nlohmann::json::parse(out_)["mechanism"], name);
    ASSERT_EQ(Round({"status", kId}), 0);
    EXPECT_THAT(out_, ::testing::ContainsRegex(absl::StrCat("mechanism +", name)));
  }
}

TEST_F(RoundCommand, CreateSendsWhatToTrain) {
  ASSERT_EQ(Round({"create", "--epsilon", "4", "--variant", "soft", "--model", "graphsage", "--layers", "3",
                   "--patience", "40", "--balance-classes", "--node-features", "given+degree"}),
            0)
      << err_;
  const v1::TrainingSpec& spec = service_.asked.training();
  EXPECT_EQ(spec.variant(), v1::VARIANT_SOFT);
  EXPECT_EQ(spec.model(), v1::MODEL_GRAPHSAGE);
  EXPECT_EQ(spec.layers(), 3u);
  EXPECT_EQ(spec.patience(), 40u);
  EXPECT_TRUE(spec.balance_classes());
  EXPECT_EQ(spec.node_features(), v1::NODE_FEATURES_GIVEN_AND_DEGREE);
  EXPECT_EQ(spec.candidates(), 0u);
  EXPECT_FALSE(spec.has_deterministic()) << "what was not given is not set: it would override what a round says";
  ASSERT_EQ(Round({"create", "--epsilon", "4", "--balance-classes=false"}), 0) << err_;
  EXPECT_TRUE(service_.asked.training().has_balance_classes());
  EXPECT_FALSE(service_.asked.training().balance_classes());
}

TEST_F(RoundCommand, CreateSendsHowToSample) {
  ASSERT_EQ(Round({"create", "--epsilon", "4", "--batch-nodes", "1024", "--fan-out", "25,10"}), 0) << err_;
  EXPECT_EQ(service_.asked.training().batch_nodes(), 1024u);
  EXPECT_THAT(service_.asked.training().fan_out(), ::testing::ElementsAre(25, 10));
  ASSERT_EQ(Round({"create", "--epsilon", "4"}), 0) << err_;
  EXPECT_FALSE(service_.asked.training().has_batch_nodes());
}

TEST_F(RoundCommand, CreateLeavesOpenWhatATuningSearches) {
  ASSERT_EQ(Round({"create", "--epsilon", "4", "--tune", "--model", "gcn", "--weight-decay", "0"}), 0) << err_;
  EXPECT_EQ(service_.asked.training().candidates(), 24u);
  EXPECT_EQ(service_.asked.training().model(), v1::MODEL_GCN);
  EXPECT_EQ(service_.asked.training().variant(), v1::VARIANT_UNSPECIFIED);
  EXPECT_TRUE(service_.asked.training().has_weight_decay());
  EXPECT_FALSE(service_.asked.training().has_dropout());
  EXPECT_EQ(service_.asked.parameters().degree_share_ppm(), DefaultDegreeSharePpm(4'000'000, Prior::kBeta))
      << "filled in";
  ASSERT_EQ(Round({"create", "--epsilon", "4", "--tune", "7"}), 0) << err_;
  EXPECT_EQ(service_.asked.training().candidates(), 7u);
  EXPECT_FALSE(service_.asked.training().allow_slow_attention());
  ASSERT_EQ(Round({"create", "--epsilon", "4", "--tune", "0", "--allow-slow-attention"}), 0) << err_;
  EXPECT_EQ(service_.asked.training().candidates(), 0u);
  EXPECT_EQ(service_.asked.training().variant(), v1::VARIANT_HARD) << "no search";
  EXPECT_TRUE(service_.asked.training().allow_slow_attention());
}

TEST_F(RoundCommand, CreateAsksForTheAttributedPriorWithItsShareAndItsSearch) {
  ASSERT_EQ(Round({"create", "--epsilon", "1.5", "--prior", "attributed"}), 0) << err_;
  EXPECT_EQ(service_.asked.training().prior(), v1::PRIOR_ATTRIBUTED);
  EXPECT_EQ(service_.asked.training().candidates(), 24u);
  EXPECT_EQ(service_.asked.parameters().degree_share_ppm(), 35'000u);
  ASSERT_EQ(Round({"create", "--epsilon", "1.5", "--prior", "attributed", "--degree-share", "0.1", "--tune", "0"}), 0)
      << err_;
  EXPECT_EQ(service_.asked.training().candidates(), 0u);
  EXPECT_EQ(service_.asked.parameters().degree_share_ppm(), 100'000u);
  ASSERT_EQ(Round({"create", "--epsilon", "1.5"}), 0) << err_;
  EXPECT_EQ(service_.asked.training().prior(), v1::PRIOR_BETA);
  EXPECT_EQ(service_.asked.parameters().degree_share_ppm(), 100'000u);
  ASSERT_EQ(Round({"create", "--epsilon", "1.5", "--prior", "attributed", "--model", "stacked"}), 0) << err_;
  EXPECT_EQ(service_.asked.training().model(), v1::MODEL_STACKED);
  EXPECT_EQ(Round({"create", "--epsilon", "1.5", "--model", "stacked"}), 2);
  EXPECT_THAT(err_, HasSubstr("--model is stacked, which the attributed prior alone has"));
  EXPECT_EQ(Round({"create", "--epsilon", "1.5", "--prior", "attributed", "--model", "mean"}), 2)
      << "made by a search alone";
  for (const char* unknown : {"", "gamma", "unspecified"}) {
    EXPECT_EQ(Round({"create", "--epsilon", "1.5", "--prior", unknown}), 2) << unknown;
    EXPECT_THAT(err_, HasSubstr("--prior"));
  }
}

TEST_F(RoundCommand, CreateSaysThatAnOlderAggregatorDoesNotKnowThePrior) {
  service_.knows_priors = false;
  EXPECT_EQ(Round({"create", "--epsilon", "1.5", "--prior", "attributed"}), 7);
  EXPECT_THAT(err_, HasSubstr("older than the attributed prior"));
  EXPECT_THAT(err_, HasSubstr(kId)) << "the round is there";
  EXPECT_EQ(Round({"create", "--epsilon", "1.5"}), 0) << err_;
}

TEST_F(RoundCommand, CreateAsksForTheScoreThatASearchChoosesBy) {
  ASSERT_EQ(Round({"create", "--epsilon", "1.5", "--tune", "--score", "roc-auc"}), 0) << err_;
  EXPECT_EQ(service_.asked.training().score(), v1::MEASURE_ROC_AUC);
  ASSERT_EQ(Round({"create", "--epsilon", "1.5", "--prior", "attributed", "--score", "macro-f1", "--json"}), 0) << err_;
  EXPECT_EQ(nlohmann::json::parse(out_)["training"]["score"], "macro-f1");
  const std::pair<const char*, v1::Measure> spellings[] = {
      {"f1", v1::MEASURE_MACRO_F1},   {"F1_macro", v1::MEASURE_MACRO_F1}, {"auc", v1::MEASURE_ROC_AUC},
      {"AUROC", v1::MEASURE_ROC_AUC}, {"roc_auc", v1::MEASURE_ROC_AUC},   {"acc", v1::MEASURE_UNSPECIFIED}};
  for (const auto& [spelling, score] : spellings) {
    ASSERT_EQ(Round({"create", "--epsilon", "1.5", "--tune", "--score", spelling}), 0) << err_;
    EXPECT_EQ(service_.asked.training().score(), score) << spelling;
  }
  ASSERT_EQ(Round({"create", "--epsilon", "1.5", "--tune", "--score", "accuracy"}), 0) << err_;
  EXPECT_EQ(service_.asked.training().score(), v1::MEASURE_UNSPECIFIED) << "what every search chose by before";
}

TEST_F(RoundCommand, CreateRefusesAScoreThatIsNoneOrChoosesNothing) {
  EXPECT_EQ(Round({"create", "--epsilon", "1.5", "--score", "roc-auc"}), 2);
  EXPECT_THAT(err_,
              HasSubstr("--score is roc-auc, but one training has nothing to choose from: ask for a search (--tune)"));
  for (const char* unknown : {"", "f2", "loss"}) {
    EXPECT_EQ(Round({"create", "--epsilon", "1.5", "--tune", "--score", unknown}), 2) << unknown;
    EXPECT_THAT(err_, HasSubstr("--score"));
  }
}

TEST_F(RoundCommand, CreateSaysThatAnOlderAggregatorDoesNotKnowTheScore) {
  service_.knows_scores = false;
  EXPECT_EQ(Round({"create", "--epsilon", "1.5", "--tune", "--score", "macro-f1"}), 7);
  EXPECT_THAT(err_, HasSubstr("older than --score"));
  EXPECT_EQ(Round({"create", "--epsilon", "1.5", "--tune"}), 0) << err_;
}

TEST_F(RoundCommand, EveryObjectNamesTheProgramThatPrintedItAndAListOfRoundsIsAnArray) {
  const std::vector<std::vector<std::string>> commands = {{"create", "--epsilon", "3", "--model", "none", "--json"},
                                                          {"status", "--json", kId},
                                                          {"seal", "--json", kId},
                                                          {"watch", "--json", "--quiet", kId}};
  for (const std::vector<std::string>& command : commands) {
    ASSERT_EQ(Round(command), 0) << command[0] << ": " << err_;
    const auto json = nlohmann::ordered_json::parse(out_);
    EXPECT_EQ(json.begin().key(), "format");
    EXPECT_EQ(json["format"], 1) << command[0];
    EXPECT_EQ(json["program"]["version"], ProgramVersion()) << command[0];
    EXPECT_FALSE(json["program"]["arguments"].empty()) << command[0];
    EXPECT_TRUE(json.contains("round_id")) << command[0];
  }
  ASSERT_EQ(Round({"list", "--json"}), 0) << err_;
  const auto list = nlohmann::json::parse(out_);
  ASSERT_TRUE(list.is_array());
  EXPECT_EQ(list.size(), 1u);
  for (const auto& round : list) EXPECT_TRUE(round.contains("round_id") && !round.contains("program"));
}

TEST_F(RoundCommand, StatusNamesThePriorWhichOfAnOldRoundIsBeta) {
  ASSERT_EQ(Round({"status", "--json", kId}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["training"]["prior"], "beta");
  service_.state.mutable_training()->set_prior(v1::PRIOR_ATTRIBUTED);
  service_.state.mutable_training()->set_candidates(24);
  ASSERT_EQ(Round({"status", kId}), 0);
  EXPECT_THAT(out_, HasSubstr("best of 24, attributed prior"));
  ASSERT_EQ(Round({"status", "--json", kId}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["training"]["prior"], "attributed");
}

TEST_F(RoundCommand, StatusNamesVariantModelAndWhatIsSearched) {
  service_.state.mutable_training()->set_variant(v1::VARIANT_HYBRID);
  service_.state.mutable_training()->set_model(v1::MODEL_GAT);
  ASSERT_EQ(Round({"status", kId}), 0);
  EXPECT_THAT(out_, HasSubstr("gat, hybrid"));
  ASSERT_EQ(Round({"status", "--json", kId}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["training"]["variant"], "hybrid");
  service_.state.mutable_training()->clear_variant();
  service_.state.mutable_training()->set_candidates(24);
  ASSERT_EQ(Round({"status", kId}), 0);
  EXPECT_THAT(out_, HasSubstr("best of 24: gat"));
  ASSERT_EQ(Round({"status", "--json", kId}), 0);
  const auto training = nlohmann::json::parse(out_)["training"];
  EXPECT_TRUE(training["variant"].is_null());
  EXPECT_TRUE(training["learning_rate"].is_null());
  EXPECT_EQ(training["candidates"], 24);
}

TEST_F(RoundCommand, StatusAndResultShowTheImplausibleReports) {
  service_.state.set_flagged(3);
  service_.state.set_implausible(v1::IMPLAUSIBLE_DROP);
  ASSERT_EQ(Round({"status", kId}), 0);
  EXPECT_THAT(out_, HasSubstr("3 (drop)"));
  ASSERT_EQ(Round({"status", "--json", kId}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_)["flagged"], 3);
  EXPECT_EQ(nlohmann::json::parse(out_)["implausible"], "drop");
  service_.metrics = R"({"plausibility":{"policy":"flag","flagged":12,"dropped":0,"note":"a\u001bnote","flags":[)";
  for (int k = 0; k < 12; ++k) {
    absl::StrAppend(&service_.metrics, k > 0 ? "," : "", R"({"node":)", k, R"(,"test":"omitted","z":8.25})");
  }
  service_.metrics += "]}}";
  ASSERT_EQ(Round({"result", kId}), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("flagged node 9"));
  EXPECT_THAT(out_, HasSubstr("omitted, z 8.25"));
  EXPECT_THAT(out_, HasSubstr("plausibility.csv"));
  EXPECT_THAT(out_, ::testing::Not(HasSubstr("flagged node 10"))) << "the worst ten";
  EXPECT_THAT(out_, ::testing::Not(HasSubstr("\x1b"))) << "nothing of a peer reaches the terminal unprinted";
}

TEST_F(RoundCommand, ResultPrintsThePriorAndWhatWasChosen) {
  service_.metrics = R"({"estimate":{"prior":"attributed","network_rounds":2,"expected_links":512.5},
                        "train":{"model":"stacked","variant":null,"chosen":"stacked, ridge 0.01"}})";
  ASSERT_EQ(Round({"result", kId}), 0) << err_;
  EXPECT_THAT(out_, ::testing::ContainsRegex("prior +attributed\n"));
  EXPECT_THAT(out_, ::testing::ContainsRegex("network rounds +2\n"));
  EXPECT_THAT(out_, ::testing::ContainsRegex("chosen +stacked, ridge 0.01\n"));
}

TEST_F(RoundCommand, ResultSaysWhatEpsilonBoundsAndNothingOfEpochsThatWereNone) {
  service_.metrics = R"({"privacy":{"achieved_epsilon":6,"achieved_epsilon_per_undirected_link":12},
                        "train":{"model":"gcn","epoch_ms_mean":1.5}})";
  ASSERT_EQ(Round({"result", kId}), 0) << err_;
  EXPECT_THAT(out_, ::testing::ContainsRegex("epsilon of a list entry +6\n"));
  EXPECT_THAT(out_, ::testing::ContainsRegex("epsilon of a link +12\n"));
  EXPECT_THAT(out_, ::testing::ContainsRegex("epoch, ms +1.5\n"));
  for (const char* none : {"0", "0.0", "null"}) {
    service_.metrics = absl::StrCat(R"({"train":{"model":"stacked","epoch_ms_mean":)", none, "}}");
    ASSERT_EQ(Round({"result", kId}), 0) << err_;
    EXPECT_THAT(out_, ::testing::Not(HasSubstr("epoch"))) << none;
  }
}

TEST_F(RoundCommand, ResultOfAnOlderAggregatorIsWholeWithoutTheChecks) {
  service_.missing = "plausibility.csv";
  ASSERT_EQ(Round({"result", kId, "--output", folder_ + "/result"}), 0) << err_;
  EXPECT_FALSE(fs::exists(folder_ + "/result/plausibility.csv"));
  EXPECT_TRUE(fs::exists(folder_ + "/result/model.pt"));
  service_.missing = "links.csv";
  EXPECT_NE(Round({"result", kId, "--output", folder_ + "/second"}), 0);
}

TEST_F(RoundCommand, AResultOfRandomGroupsIsWholeWithoutLinks) {
  service_.metrics = R"({"groups":{"follows":null,"links":null},"train":null})";
  service_.missing = "links.csv";
  ASSERT_EQ(Round({"result", kId, "--output", folder_ + "/result"}), 0) << err_;
  EXPECT_FALSE(fs::exists(folder_ + "/result/links.csv"));
  EXPECT_TRUE(fs::exists(folder_ + "/result/groups.csv"));
  service_.metrics = R"({"groups":{"follows":"a","links":9},"train":null})";
  EXPECT_NE(Round({"result", kId, "--output", folder_ + "/second"}), 0);
}

TEST_F(RoundCommand, AResultWithoutAModelIsWholeWithoutItsFiles) {
  service_.metrics = R"({"estimate":{"variant":"hybrid"},"train":null})";
  service_.missing = "model.pt";
  ASSERT_EQ(Round({"result", kId, "--output", folder_ + "/result"}), 0) << err_;
  EXPECT_THAT(out_, ::testing::ContainsRegex("model +none"));
  for (const char* name : {"predictions.csv", "curves.csv", "model.pt"}) {
    EXPECT_FALSE(fs::exists(absl::StrCat(folder_, "/result/", name))) << name;
  }
  for (const char* name : {"links.csv", "degrees.csv"}) {
    EXPECT_TRUE(fs::exists(absl::StrCat(folder_, "/result/", name))) << name;
  }
  service_.metrics = R"({"train":{"model":"gcn"}})";
  EXPECT_NE(Round({"result", kId, "--output", folder_ + "/second"}), 0) << "with a model its file is promised";
}

TEST_F(RoundCommand, CreateRefusesATrainingBesideTheModelNone) {
  EXPECT_EQ(Round({"create", "--epsilon", "3", "--model", "none", "--tune"}), 2);
  EXPECT_THAT(err_, HasSubstr("--tune is set, but the model none trains nothing"));
  EXPECT_EQ(Round({"create", "--epsilon", "3", "--model", "none", "--learning-rate", "0.1"}), 2);
  EXPECT_THAT(err_, HasSubstr("--learning-rate is set"));
  ASSERT_EQ(Round({"create", "--epsilon", "3", "--model", "none", "--json"}), 0) << err_;
  const auto training = nlohmann::json::parse(out_)["training"];
  EXPECT_EQ(training["model"], "none");
  EXPECT_TRUE(training["epochs"].is_null());
  EXPECT_TRUE(training["learning_rate"].is_null());
}

TEST_F(RoundCommand, CreateRefusesWhatCannotTravelExactlyOrIsOutOfRange) {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--epsilon", "0.1234567"},
                                             {"--epsilon", "0"},
                                             {"--epsilon", "50.000001"},
                                             {"--epsilon", "-1"},
                                             {"--epsilon", "1e0"},
                                             {"--epsilon", "nan"},
                                             {"--epsilon", "1", "--degree-share", "1.1"},
                                             {"--epsilon", "1", "--open-for", "60"},
                                             {"--epsilon", "1", "--learning-rate", "0"},
                                             {"--epsilon", "1", "--dropout", "1"},
                                             {"--epsilon", "1", "--learning-rate", "11"},
                                             {"--epsilon", "1", "--device", "tpu"},
                                             {"--epsilon", "1", "--epochs", "0"},
                                             {"--epsilon", "1", "--layers", "9"},
                                             {"--epsilon", "1", "--tune", "-1"},
                                             {"--epsilon", "1", "--tune", "1001"},
                                             {"--epsilon", "1", "--tune", "many"},
                                             {"--epsilon", "1", "--patience", "100001"}}) {
    std::vector<std::string> arguments = {"create"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_EQ(Round(arguments), 2) << flags.back();
    EXPECT_FALSE(err_.empty());
  }
  EXPECT_EQ(service_.asked.parameters().epsilon_micro(), 0u);  // none of them was sent
  EXPECT_EQ(Round({"create"}), 2);                             // no --epsilon
  EXPECT_EQ(Round({"create", "--epsilon", "1", "--model", "transformer"}), 2);
  EXPECT_EQ(Round({"create", "--epsilon", "1", "--variant", "harder"}), 2);
}

TEST_F(RoundCommand, CreateNamesTheRangeOfEveryNumberThatItRefuses) {
  const std::string candidates = "must be a whole number in 1 .. 1,000, or 0 to search nothing";
  struct Refused {
    std::vector<std::string> flags;
    std::string named, range;
  };
  for (const auto& [flags, named, range] : std::vector<Refused>{
           {{"--tune", "1001"}, "--tune is '1001'", candidates},
           {{"--tune", " 5"}, "--tune is ' 5'", candidates},
           {{"--tune", "+5"}, "--tune is '+5'", candidates},
           {{"--tune", ""}, "--tune: the value is empty", ""},
           {{"--tune", "4294967297"}, "--tune is '4294967297'", candidates},
           {{"--degree-max", "4294967296"}, "--degree-max", "4294967296 is not a whole number from 1 to 4294967295"},
           {{"--degree-max", "0"}, "--degree-max", "0 is not a whole number from 1"},
           {{"--quorum", "0"}, "--quorum", "0 is not a whole number from 1"},
           {{"--quorum", "18446744073709551617"}, "--quorum", "from 1 to 4294967295"},
           {{"--learning-rate", "1e-320"}, "--learning-rate is", "[1e-9, 10]"},
           {{"--learning-rate", "0"}, "--learning-rate is 0", "[1e-9, 10]"},
           {{"--epochs", "4294967296"}, "--epochs is", "1 .. 100,000"},
           {{"--epochs", "4294967297"}, "--epochs is", "1 .. 100,000"},
           {{"--hidden", "0"}, "--hidden is 0", "1 .. 4096"},
           {{"--layers", "18446744073709551615"}, "--layers is", "1 .. 8"},
           {{"--patience", "4294967296"}, "--patience is", "0 .. 100,000"},
           {{"--batch-nodes", "4294967296"}, "--batch-nodes is", "0 .. 10,000,000"},
           {{"--fan-out", "10,10"}, "--fan-out is set, but nothing is sampled", "--batch-nodes 1024"},
           {{"--batch-nodes=64", "--fan-out=10"}, "--fan-out has 1 number", "2 layers"},
           {{"--batch-nodes=64", "--fan-out=4294967306,1"}, "--fan-out has 4294967295", "1 .. 1,000,000"},
           {{"--batch-nodes=64", "--fan-out=10,x"}, "--fan-out", "x is not a whole number from 1 to 1,000,000"},
           {{"--batch-nodes=64", "--fan-out=10,1.5"}, "--fan-out", "1.5 is not a whole number"},
           {{"--batch-nodes=64", "--variant=soft"}, "--batch-nodes is 64, but on soft links", "--variant hard"}}) {
    std::vector<std::string> arguments = {"create", "--epsilon", "1"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_EQ(Round(arguments), 2) << flags[0] << "=" << flags[1];
    EXPECT_THAT(err_, HasSubstr(named));
    EXPECT_THAT(err_, HasSubstr(range)) << flags[0] << "=" << flags[1];
  }
  EXPECT_EQ(service_.asked.parameters().epsilon_micro(), 0u) << "none of them was sent";
  ASSERT_EQ(Round({"create", "--epsilon", "1", "--learning-rate", "1e-9", "--tune", "0"}), 0) << err_;
  ASSERT_EQ(Round({"create", "--epsilon", "1", "--tune", "1000"}), 0) << err_;
  EXPECT_EQ(service_.asked.training().candidates(), 1000u);
}

TEST_F(RoundCommand, StatusPrintsJsonForPrograms) {
  service_.state.set_reports(12);
  service_.state.mutable_parameters()->set_epsilon_micro(6'000'000);
  ASSERT_EQ(Round({"status", "--json", kId}), 0);
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["round_id"], kId);
  EXPECT_EQ(json["state"], "ready");
  EXPECT_EQ(json["reports"], 12);
  EXPECT_EQ(json["epsilon"], "6");
}

TEST_F(RoundCommand, WatchComesBackAfterABrokenConnectionAndEndsWithTheRound) {
  ASSERT_EQ(Round({"watch", kId}), 0) << err_;
  EXPECT_EQ(service_.watches, 2);
  EXPECT_THAT(out_, HasSubstr("ready"));
}

TEST_F(RoundCommand, DeleteAsksForAWordFirstAndWaitsUntilAllIsGone) {
  EXPECT_EQ(Round({"delete", kId}), 2);
  EXPECT_THAT(err_, HasSubstr("--yes"));
  EXPECT_EQ(service_.deleted, "");
  service_.state.set_reports_deleted_ms(1'800'000'000'000);
  service_.state.set_result_deleted(true);
  ASSERT_EQ(Round({"delete", kId, "--yes"}), 0) << err_;
  EXPECT_EQ(service_.deleted, kId);
  EXPECT_THAT(out_, HasSubstr("its reports and its result"));
  ASSERT_EQ(Round({"status", "--json", kId}), 0);
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["reports_deleted"], "2027-01-15T08:00:00Z");
  EXPECT_EQ(json["deleting"], false);
  EXPECT_EQ(json["result_deleted"], true);
  service_.refusal = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "cancel it first");
  EXPECT_EQ(Round({"delete", kId, "--yes"}), 7);
}

TEST_F(RoundCommand, RetrySendsWhatIsGivenAndNothingElse) {
  service_.state.set_state(v1::ROUND_STATE_SEALED);
  ASSERT_EQ(Round({"retry", kId}), 0) << err_;
  EXPECT_EQ(service_.retried.round_id(), kId);
  EXPECT_EQ(service_.retried.training().ByteSizeLong(), 0u);
  EXPECT_THAT(out_, HasSubstr("state                    sealed\n"));
  ASSERT_EQ(Round({"retry", kId, "--model", "gat", "--seed", "4", "--on-out-of-memory", "cpu"}), 0) << err_;
  EXPECT_EQ(service_.retried.training().model(), v1::MODEL_GAT);
  EXPECT_EQ(service_.retried.training().seed(), 4u);
  EXPECT_EQ(service_.retried.training().out_of_memory(), v1::OUT_OF_MEMORY_CPU);
  EXPECT_FALSE(service_.retried.training().has_dropout());
  EXPECT_EQ(Round({"retry", kId, "--model", "tree"}), 2);
  EXPECT_EQ(Round({"retry", kId, "--epsilon", "3"}), 2) << "its reports are what they are";
  service_.refusal = grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "it is open");
  EXPECT_EQ(Round({"retry", kId}), 7);
  EXPECT_THAT(err_, HasSubstr("it is open"));
}

TEST_F(RoundCommand, MissingListsTheNodesOfAllPages) {
  service_.pages_left = 2;
  ASSERT_EQ(Round({"missing", kId}), 0) << err_;
  EXPECT_EQ(out_, "missing nodes            6\n3-5\n13-14\n23\n");
  service_.pages_left = 1;
  ASSERT_EQ(Round({"missing", kId, "--json"}), 0) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["missing"], 3);
  EXPECT_EQ(json["ranges"], (nlohmann::json{{3, 4}, {13, 13}}));
  service_.pages_left = 9;
  service_.endless = true;
  EXPECT_NE(Round({"missing", kId}), 0);
  EXPECT_THAT(err_, HasSubstr("have no end"));
  EXPECT_EQ(Round({"missing", "7"}), 2);
}

TEST_F(RoundCommand, RefusedSaysWhichReportsWereRefusedAndWhy) {
  service_.refused.set_since_ms(1'800'000'000'000);
  ASSERT_EQ(Round({"refused", kId}), 0) << err_;
  EXPECT_EQ(out_, "refused since            2027-01-15T08:00:00Z\nnone\n");
  v1::RefusedReport& report = *service_.refused.add_refused();
  report.set_node_id(7);
  report.set_by("nodes/0-9");
  report.set_code(7);
  report.set_message("node 7 is \x1b[31mretired");
  report.set_last_ms(1'800'000'060'000);
  report.set_count(2);
  service_.refused.set_left_out(3);
  ASSERT_EQ(Round({"refused", kId}), 0) << err_;
  EXPECT_THAT(out_,
              HasSubstr("node 7, by nodes/0-9, 2 times, last 2027-01-15T08:01:00Z: PERMISSION_DENIED: node 7 is"));
  EXPECT_THAT(out_, HasSubstr("and 3 refusals more\n"));
  EXPECT_THAT(out_, Not(HasSubstr("\x1b"))) << "a peer's text moves no cursor";
  ASSERT_EQ(Round({"refused", kId, "--json"}), 0) << err_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["refused"][0]["code"], "PERMISSION_DENIED");
  EXPECT_EQ(json["left_out"], 3);
  EXPECT_EQ(Round({"refused", "7"}), 2);
  service_.refusal = grpc::Status(grpc::StatusCode::NOT_FOUND, "there is no such round");
  EXPECT_EQ(Round({"refused", kId}), 7);
}

TEST_F(RoundCommand, CreateNamesAWrongTimeInTheUnitsThatWereTyped) {
  for (const char* wrong : {"400d", "0.5s"}) {
    EXPECT_EQ(Round({"create", "--epsilon", "4", "--open-for", wrong}), 2) << wrong;
    EXPECT_THAT(err_, HasSubstr(absl::StrCat("--open-for is ", wrong, ", it must be in 1s .. 365d")));
  }
}

TEST_F(RoundCommand, ARoundThatFailedHasItsOwnExitCodeAndSaysWhy) {
  service_.state.set_state(v1::ROUND_STATE_FAILED);
  service_.state.set_failure_reason("3 reports, the quorum is 5");
  EXPECT_EQ(Round({"watch", kId}), 8);
  EXPECT_THAT(err_, HasSubstr("the quorum is 5"));
  EXPECT_EQ(Round({"result", kId}), 8);
  service_.state.set_state(v1::ROUND_STATE_CANCELLED);
  EXPECT_EQ(Round({"watch", kId}), 8);
}

TEST_F(RoundCommand, ResultFetchesEveryArtifactIntoANewFolder) {
  ASSERT_EQ(Round({"result", kId, "--output", folder_ + "/result", "--json"}), 0) << err_;
  EXPECT_EQ(out_, "{\"artifact\":\"metrics.json\"}");
  for (const char* name : {"metrics.json", "predictions.csv", "curves.csv", "links.csv", "links.npz", "degrees.csv",
                           "plausibility.csv", "groups.csv", "model.pt", "model.ts"}) {
    EXPECT_EQ(ReadFile(absl::StrCat(folder_, "/result/", name), 1000).value(),
              absl::StrCat("{\"artifact\":\"", name, "\"}"));
  }
  EXPECT_EQ(Round({"result", kId, "--output", folder_ + "/result"}), 3);  // nothing is overwritten
  EXPECT_THAT(err_, HasSubstr("exists already"));
}

TEST_F(RoundCommand, ResultTakesAnEmptyFolderButNotTheWorkingOne) {
  fs::create_directories(folder_ + "/empty");
  EXPECT_EQ(Round({"result", kId, "--output", folder_ + "/empty"}), 0) << err_;
  EXPECT_TRUE(fs::exists(folder_ + "/empty/metrics.json"));
  const fs::path before = fs::current_path();
  fs::create_directories(folder_ + "/here");
  fs::current_path(folder_ + "/here");
  EXPECT_EQ(Round({"result", kId, "--output", "."}), 3);
  fs::current_path(before);
  EXPECT_THAT(err_, HasSubstr(". is the working folder, which cannot be replaced at once: name a folder in it"));
}

TEST_F(RoundCommand, ATransferThatBreaksLeavesNoFolder) {
  service_.broken = "links.csv";
  EXPECT_NE(Round({"result", kId, "--output", folder_ + "/result"}), 0);
  EXPECT_FALSE(fs::exists(folder_ + "/result"));
  EXPECT_FALSE(fs::exists(folder_ + "/result.partial"));
}

TEST_F(RoundCommand, ResultClearsWhatATransferThatWasKilledLeft) {
  fs::create_directories(folder_ + "/result.partial");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/result.partial/links.csv", "half").ok());
  service_.missing = "model.ts";
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/result.partial/model.ts", "of another round").ok());
  ASSERT_EQ(Round({"result", kId, "--output", folder_ + "/result/"}), 0) << err_;
  EXPECT_EQ(ReadFile(folder_ + "/result/links.csv", 1000).value(), "{\"artifact\":\"links.csv\"}");
  EXPECT_FALSE(fs::exists(folder_ + "/result/model.ts"));
  EXPECT_FALSE(fs::exists(folder_ + "/result.partial"));
}

TEST_F(RoundCommand, ResultRefusesBeforeItFetchesWhatIsInItsWay) {
  service_.broken = "predictions.csv";  // a first transfer would end with another sentence
  fs::create_symlink(folder_ + "/nowhere", folder_ + "/link");
  EXPECT_EQ(Round({"result", kId, "--output", folder_ + "/link"}), 3);
  EXPECT_THAT(err_, HasSubstr("is a symbolic link to nothing"));
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "").ok());
  EXPECT_EQ(Round({"result", kId, "--output", folder_ + "/file"}), 3);
  EXPECT_THAT(err_, HasSubstr("exists already"));
  fs::create_directories(folder_ + "/result.partial");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/result.partial/thesis.tex", "mine").ok());
  EXPECT_EQ(Round({"result", kId, "--output", folder_ + "/result"}), 3);
  EXPECT_THAT(err_, HasSubstr("holds thesis.tex, which is no part of a result"));
  EXPECT_EQ(ReadFile(folder_ + "/result.partial/thesis.tex", 10).value(), "mine");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/other.partial", "mine").ok());
  EXPECT_EQ(Round({"result", kId, "--output", folder_ + "/other"}), 3);
  EXPECT_THAT(err_, HasSubstr("is no folder: move it away"));
  fs::create_directories(folder_ + "/elsewhere");
  fs::create_directory_symlink(folder_ + "/elsewhere", folder_ + "/third.partial");
  EXPECT_EQ(Round({"result", kId, "--output", folder_ + "/third"}), 3);
  EXPECT_THAT(err_, HasSubstr("is no folder: move it away"));
}

TEST_F(RoundCommand, ResultRefusesAPlaceThatAnotherProcessHolds) {
  fs::create_directories(folder_ + "/result.partial");
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/result.partial/links.csv", "half").ok());
  const int other = ::open((folder_ + "/result.partial").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(Round({"result", kId, "--output", folder_ + "/result"}), 1);
  EXPECT_THAT(err_, HasSubstr("another process holds"));
  EXPECT_EQ(ReadFile(folder_ + "/result.partial/links.csv", 10).value(), "half");
  ::close(other);
  EXPECT_EQ(Round({"result", kId, "--output", folder_ + "/result"}), 0) << err_;
}

TEST_F(RoundCommand, TheAggregatorsRefusalsKeepTheirSentenceAndGetTheirCode) {
  const std::vector<std::pair<grpc::StatusCode, int>> codes = {
      {grpc::StatusCode::FAILED_PRECONDITION, 7}, {grpc::StatusCode::PERMISSION_DENIED, 7},
      {grpc::StatusCode::UNAUTHENTICATED, 7},     {grpc::StatusCode::NOT_FOUND, 7},
      {grpc::StatusCode::ALREADY_EXISTS, 7},      {grpc::StatusCode::INVALID_ARGUMENT, 7},
      {grpc::StatusCode::RESOURCE_EXHAUSTED, 9},  {grpc::StatusCode::INTERNAL, 1}};
  for (const auto& [code, exit_code] : codes) {
    service_.refusal = grpc::Status(code, "the very reason");
    EXPECT_EQ(Round({"seal", kId}), exit_code);
    EXPECT_THAT(err_, HasSubstr("the very reason"));
  }
}

TEST_F(RoundCommand, RefusesARoundIdThatIsNone) {
  for (const char* id : {"x", "../..", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "0123456789abcdef0123456789abcdef0"}) {
    for (const char* command : {"status", "watch", "seal", "cancel", "result"}) {
      EXPECT_EQ(Round({command, id}), 2) << command << " " << id;
      EXPECT_THAT(err_, HasSubstr("is no round id, which has 32 lower-case hexadecimal digits")) << command;
    }
  }
  EXPECT_EQ(Round({"status"}), 2);
}

TEST_F(RoundCommand, RefusesAnAddressThatIsNone) {
  for (const char* address : {"127.0.0.1:99999", "127.0.0.1:0", "127.0.0.1", ":7443", "::1:7443"}) {
    EXPECT_EQ(Round({"status", kId, "--aggregator", address}), 2) << address;
    EXPECT_THAT(err_, HasSubstr(absl::StrCat("--aggregator: '", address, "' is not HOST:PORT")));
  }
  EXPECT_EQ(Round({"status", kId, "--aggregator", ""}), 2);
  EXPECT_THAT(err_, HasSubstr("--aggregator: the value is empty"));
}

TEST_F(RoundCommand, NobodyThereIsUnreachable) {
  server_->Shutdown();
  EXPECT_EQ(Round({"status", kId}), 6);
  EXPECT_THAT(err_, HasSubstr("not reached"));
}

TEST_F(RoundCommand, AMissingConfigurationIsBadInput) {
  fs::remove(folder_ + "/operator.conf");
  EXPECT_EQ(Round({"status", kId}), 3);
  EXPECT_THAT(err_, HasSubstr("operator.conf"));
}

TEST(TimeToDeadline, IsToldWithTheMomentThatItEnds) {
  v1::Round round;
  round.set_deadline_ms(1'700'000'000'000);
  const absl::Time deadline = absl::FromUnixSeconds(1'700'000'000);
  EXPECT_EQ(TimeToDeadline(round, deadline - absl::Seconds(500)), "open for 8m20s more, until 2023-11-14 22:13:20 UTC");
  EXPECT_EQ(TimeToDeadline(round, deadline - absl::Milliseconds(1)), "open for 1s more, until 2023-11-14 22:13:20 UTC");
  EXPECT_EQ(TimeToDeadline(round, deadline), "the deadline was 2023-11-14 22:13:20 UTC");
}

TEST(TimeLeftOfTraining, IsInTheTextOfOneTrainingAndNotInThatOfASearch) {
  v1::TrainingSpec spec;
  EXPECT_EQ(TimeLeftOfTraining(spec), TimeLeft::kInText);
  spec.set_candidates(24);
  EXPECT_EQ(TimeLeftOfTraining(spec), TimeLeft::kFromPace);
}

}  // namespace
}  // namespace blink
