// A whole aggregator in process, spoken to over real gRPC with mutual TLS: who may do what, and every way to send a
// report wrongly.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <map>

#include "aggregator_server/main/aggregator.h"
#include "aggregator_server/transport/health.h"
#include "common/base/durable_file.h"
#include "common/base/limits.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"
#include "common/rpc/retry_trailer.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/certificates.h"
#include "tests/testing/grpc_environment.h"
#include "tests/testing/places.h"
#include "tests/testing/small_attributes.h"
#include "tests/testing/tls_aggregator.h"

namespace blink {
namespace {

using testing::ChunkMessage;
using ::testing::HasSubstr;
using testing::HeaderMessage;
using testing::MakeHeader;
using testing::MakeParameters;
using testing::MakeReport;

class AggregatorRpcTest : public testing::TlsAggregatorTest {
 protected:
  // Sends the messages as they are.
  struct Outcome {
    grpc::Status status;
    v1::SubmitReportResponse response;
    std::optional<RetryWindow> window;
  };
  Outcome Send(v1::NodeService::Stub& node, const std::vector<v1::SubmitReportRequest>& messages) {
    Outcome outcome;
    grpc::ClientContext context;
    const auto writer = node.SubmitReport(&context, &outcome.response);
    for (const v1::SubmitReportRequest& message : messages) {
      if (!writer->Write(message)) break;
    }
    writer->WritesDone();
    outcome.status = writer->Finish();
    outcome.window = ReadTrailingWindow(context);
    return outcome;
  }
  Outcome SendReport(v1::NodeService::Stub& node, NodeIndex id, uint32_t variant = 0) {
    const CodedReport report = MakeReport(parameters_, id, variant);
    return Send(node, {HeaderMessage(MakeHeader(parameters_, id, report, round_id_)), ChunkMessage(report.coded_bits)});
  }
  void ExpectRefused(const Outcome& outcome, grpc::StatusCode code, const std::string& message) {
    EXPECT_EQ(outcome.status.error_code(), code) << outcome.status.error_message();
    EXPECT_THAT(outcome.status.error_message(), HasSubstr(message));
    EXPECT_TRUE(outcome.window.has_value()) << "a refusal carries a retry window";
    EXPECT_EQ(aggregator_->store().GetRound(round_id_)->reports(), 0) << "the round is as it was";
  }

  void ExpectOperatorsMethodsRefused(v1::OperatorService::Stub& stub, grpc::StatusCode code,
                                     const std::string& message) {
    const auto refused = [&](const grpc::Status& status) {
      EXPECT_EQ(status.error_code(), code) << status.error_message();
      EXPECT_THAT(status.error_message(), HasSubstr(message));
    };
    v1::Round round;
    const auto call = [&](auto method, auto request) {
      request.set_deployment("demo");
      grpc::ClientContext context;
      refused((stub.*method)(&context, request, &round));
    };
    call(&v1::OperatorService::Stub::CreateRound, v1::CreateRoundRequest());
    call(&v1::OperatorService::Stub::GetRoundStatus, v1::GetRoundStatusRequest());
    call(&v1::OperatorService::Stub::SealRound, v1::SealRoundRequest());
    call(&v1::OperatorService::Stub::CancelRound, v1::CancelRoundRequest());
    {
      grpc::ClientContext context;
      v1::ListRoundsRequest request;
      request.set_deployment("demo");
      v1::ListRoundsResponse response;
      refused(stub.ListRounds(&context, request, &response));
    }
    {
      grpc::ClientContext context;
      v1::WatchRoundRequest request;
      request.set_deployment("demo");
      request.set_round_id(round_id_);
      refused(stub.WatchRound(&context, request)->Finish());
    }
    {
      grpc::ClientContext context;
      v1::GetResultRequest request;
      request.set_deployment("demo");
      request.set_round_id(round_id_);
      refused(stub.GetResult(&context, request)->Finish());
    }
    EXPECT_EQ(Status().state(), v1::ROUND_STATE_OPEN);
  }

  const PrivacyParameters parameters_ = MakeParameters(kNodes);
  const CodedReport report_ = MakeReport(parameters_, 7);
  v1::ReportHeader ValidHeader() { return MakeHeader(parameters_, 7, report_, round_id_); }
};

TEST_F(AggregatorRpcTest, TakesAReportAndTellsItsDigestToItsNodeAlone) {
  const auto node = Node("node/7");
  const Outcome sent = SendReport(*node, 7);
  ASSERT_TRUE(sent.status.ok()) << sent.status.error_message();
  EXPECT_EQ(sent.response.receipt().digest(), DigestToBytes(report_.digest));
  EXPECT_GT(sent.response.retry().max_ms(), 0);
  EXPECT_EQ(SendReport(*node, 7).response.receipt().SerializeAsString(), sent.response.receipt().SerializeAsString());

  v1::GetRoundsRequest request;
  request.set_deployment("demo");
  request.set_node_id(7);
  v1::GetRoundsResponse response;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(node->GetRounds(&context, request, &response).ok());
  }
  ASSERT_EQ(response.rounds_size(), 1);
  EXPECT_EQ(response.rounds(0).held_digest(), DigestToBytes(report_.digest));
  EXPECT_EQ(response.rounds(0).round_id(), round_id_);
  EXPECT_GT(response.retry().max_ms(), 0);
  {
    grpc::ClientContext context;
    const grpc::Status other = Node("node/8")->GetRounds(&context, request, &response);
    EXPECT_EQ(other.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(other.error_message(), HasSubstr("does not cover node 7"));
    EXPECT_TRUE(ReadTrailingWindow(context).has_value());
  }
  {
    grpc::ClientContext context;
    request.set_deployment("other");
    EXPECT_EQ(node->GetRounds(&context, request, &response).error_code(), grpc::StatusCode::NOT_FOUND);
  }
}

TEST_F(AggregatorRpcTest, RefusesWhatIsOutOfOrderInAStream) {
  const auto node = Node();
  const std::string& bits = report_.coded_bits;
  ExpectRefused(Send(*node, {}), grpc::StatusCode::INVALID_ARGUMENT, "ended before the header");
  ExpectRefused(Send(*node, {ChunkMessage(bits)}), grpc::StatusCode::INVALID_ARGUMENT, "before the header");
  ExpectRefused(Send(*node, {v1::SubmitReportRequest()}), grpc::StatusCode::INVALID_ARGUMENT,
                "neither header nor chunk");
  ExpectRefused(Send(*node, {HeaderMessage(ValidHeader()), HeaderMessage(ValidHeader())}),
                grpc::StatusCode::INVALID_ARGUMENT, "second header");
  ExpectRefused(Send(*node, {HeaderMessage(ValidHeader())}), grpc::StatusCode::INVALID_ARGUMENT, "ended after 0 of");
  ExpectRefused(Send(*node, {HeaderMessage(ValidHeader()), ChunkMessage(bits.substr(0, 3))}),
                grpc::StatusCode::INVALID_ARGUMENT, "ended after 3 of");
  ExpectRefused(Send(*node, {HeaderMessage(ValidHeader()), ChunkMessage(bits), ChunkMessage("x")}),
                grpc::StatusCode::INVALID_ARGUMENT, "more of them arrived");
  ExpectRefused(Send(*node, {HeaderMessage(ValidHeader()), ChunkMessage("")}), grpc::StatusCode::INVALID_ARGUMENT,
                "a chunk has 0 bytes");
  ExpectRefused(Send(*node, {HeaderMessage(ValidHeader()), ChunkMessage(std::string(kChunkBytesMax + 1, 'x'))}),
                grpc::StatusCode::INVALID_ARGUMENT, "a chunk has 65537 bytes");
}

TEST_F(AggregatorRpcTest, UnpacksNoCompressedMessage) {
  const auto node = Node("node/7");
  v1::GetRoundsRequest request;
  request.set_deployment("demo");
  request.set_node_id(7);
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(99, std::string(1 << 20, '\0'));
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::GetRoundsResponse response;
  const grpc::Status status = node->GetRounds(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << status.error_message() << ": or it was unpacked";
  EXPECT_TRUE(SendReport(*node, 7).status.ok()) << "nobody else is harmed";
}

TEST_F(AggregatorRpcTest, RefusesReportsThatAreNotTheRounds) {
  const auto node = Node();
  const auto chunk = ChunkMessage(report_.coded_bits);
  v1::ReportHeader header = ValidHeader();
  header.set_deployment("other");
  ExpectRefused(Send(*node, {HeaderMessage(header), chunk}), grpc::StatusCode::NOT_FOUND, "serves deployment");
  header = ValidHeader();
  header.mutable_parameters()->set_node_count(kNodes - 1);
  ExpectRefused(Send(*node, {HeaderMessage(header), chunk}), grpc::StatusCode::INVALID_ARGUMENT, "other parameters");
  header = ValidHeader();
  header.set_roster_version(9);
  ExpectRefused(Send(*node, {HeaderMessage(header), chunk}), grpc::StatusCode::INVALID_ARGUMENT, "roster version 9");
  header = ValidHeader();
  header.set_round_id(testing::kOtherRoundId);
  ExpectRefused(Send(*node, {HeaderMessage(header), chunk}), grpc::StatusCode::NOT_FOUND, "there is no round");
  header = ValidHeader();
  header.set_digest(std::string(32, '\0'));
  ExpectRefused(Send(*node, {HeaderMessage(header), chunk}), grpc::StatusCode::INVALID_ARGUMENT, "digest");
  CodedReport padded = report_;
  padded.coded_bits.push_back('\0');
  padded.digest = ReportDigest(parameters_, padded.noisy_degree, padded.coded_bits);
  ExpectRefused(
      Send(*node, {HeaderMessage(MakeHeader(parameters_, 7, padded, round_id_)), ChunkMessage(padded.coded_bits)}),
      grpc::StatusCode::INVALID_ARGUMENT, "coded bits");
}

TEST_F(AggregatorRpcTest, RefusesStrangersAndOtherNodes) {
  ExpectRefused(SendReport(*Node("node/8"), 7), grpc::StatusCode::PERMISSION_DENIED, "does not cover node 7");
  ExpectRefused(SendReport(*Node("operator/ann"), 7), grpc::StatusCode::PERMISSION_DENIED, "names no node");
  const auto elsewhere = v1::NodeService::NewStub(Channel("blink://elsewhere/nodes/0-39"));
  ExpectRefused(SendReport(*elsewhere, 7), grpc::StatusCode::PERMISSION_DENIED, "is not of deployment \"demo\"");
  const auto beyond = Node("nodes/0-100");
  v1::ReportHeader header = ValidHeader();
  header.set_node_id(kNodes);
  ExpectRefused(Send(*beyond, {HeaderMessage(header), ChunkMessage(report_.coded_bits)}),
                grpc::StatusCode::INVALID_ARGUMENT, "node 40 is not on the roster");
}

TEST_F(AggregatorRpcTest, GivesGroupsToItsNodesAloneAndNoneOfARoundThatAsksAboutNone) {
  const auto ask = [&](const std::string& who, uint64_t node, const std::string& round_id) {
    v1::GetGroupsRequest request;
    request.set_deployment("demo");
    request.set_node_id(node);
    request.set_round_id(round_id);
    grpc::ClientContext context;
    v1::GetGroupsResponse response;
    return Node(who)->GetGroups(&context, request, &response).error_code();
  };
  EXPECT_EQ(ask("node/7", 7, round_id_), grpc::NOT_FOUND);
  EXPECT_EQ(ask("node/7", 7, std::string(32, 'f')), grpc::NOT_FOUND);
  EXPECT_EQ(ask("node/7", 7, "no id"), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(ask("node/7", 8, round_id_), grpc::PERMISSION_DENIED);
  EXPECT_EQ(ask("operator/ann", 7, round_id_), grpc::PERMISSION_DENIED);
}

TEST_F(AggregatorRpcTest, RefusesASecondReportAndALateOne) {
  const auto node = Node();
  ASSERT_TRUE(SendReport(*node, 7).status.ok());
  EXPECT_EQ(SendReport(*node, 7, 1).status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  ASSERT_TRUE(aggregator_->pipeline().Seal(round_id_).ok());
  const Outcome late = SendReport(*node, 8);
  EXPECT_EQ(late.status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(late.window.has_value());
  EXPECT_TRUE(SendReport(*node, 7).status.ok());
  EXPECT_EQ(Status().reports(), 1);
}

TEST_F(AggregatorRpcTest, EndsASlowStream) {
  const auto node = Node();
  grpc::ClientContext context;
  v1::SubmitReportResponse response;
  const auto writer = node->SubmitReport(&context, &response);
  ASSERT_TRUE(writer->Write(HeaderMessage(ValidHeader())));
  const grpc::Status status = writer->Finish();  // without WritesDone: only the aggregator can end it
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("did not arrive within 2s"));
}

TEST_F(AggregatorRpcTest, RefusesNodesThatCallTheOperatorsMethods) {
  ExpectOperatorsMethodsRefused(*Operator("node/7"), grpc::StatusCode::PERMISSION_DENIED, "is not an operator's");
}

TEST_F(AggregatorRpcTest, TellsItsHealthAndNothingElseToThoseWithoutACertificateOnTheHealthSocket) {
  aggregator_.reset();
  options_.server.health_socket = HealthSocketIn(options_.data_folder);
  StartAggregator();
  struct stat folder;
  ASSERT_EQ(::stat(options_.data_folder.c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0077, 0u) << "no other user gets to the socket";
  EXPECT_TRUE(CheckHealth(options_.server.health_socket, absl::Seconds(20)).ok());

  const auto channel = grpc::CreateChannel("unix:" + options_.server.health_socket, grpc::InsecureChannelCredentials());
  constexpr char kWhy[] = "a client certificate is required";
  ExpectOperatorsMethodsRefused(*v1::OperatorService::NewStub(channel), grpc::StatusCode::UNAUTHENTICATED, kWhy);
  const auto node = v1::NodeService::NewStub(channel);
  ExpectRefused(SendReport(*node, 0), grpc::StatusCode::UNAUTHENTICATED, kWhy);
  {
    grpc::ClientContext context;
    v1::GetRoundsRequest request;
    request.set_deployment("demo");
    v1::GetRoundsResponse response;
    EXPECT_EQ(node->GetRounds(&context, request, &response).error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(response.rounds_size(), 0);
  }
  {
    grpc::ClientContext context;
    v1::ListDigestsRequest request;
    request.set_deployment("demo");
    request.set_round_id(round_id_);
    EXPECT_EQ(node->ListDigests(&context, request)->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
  {
    grpc::ClientContext context;
    const auto stream = node->SubmitReports(&context);
    stream->WritesDone();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  }
}

TEST_F(AggregatorRpcTest, RefusesPlaintextAndOtherAuthorities) {
  v1::GetRoundsRequest request;
  request.set_deployment("demo");
  v1::GetRoundsResponse response;
  {
    const auto plain = v1::NodeService::NewStub(
        MakeChannel(absl::StrCat("127.0.0.1:", aggregator_->port()), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    EXPECT_EQ(plain->GetRounds(&context, request, &response).error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  const CertificateAuthority ours = authority_;
  authority_ = *CreateAuthority("another", absl::Hours(1));
  TlsFiles stranger = Certify("blink://demo/nodes/0-39");
  ASSERT_TRUE(WriteFileAtomically(stranger.ca, ours.certificate).ok());
  const auto credentials = MakeClientCredentials(stranger, "demo");
  if (!credentials.ok()) return;  // seen before a byte was sent
  const auto stub =
      v1::NodeService::NewStub(MakeChannel(absl::StrCat("127.0.0.1:", aggregator_->port()), *credentials));
  grpc::ClientContext context;
  EXPECT_EQ(stub->GetRounds(&context, request, &response).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(AggregatorRpcTest, AnswersEveryReportOfAGatewaysStream) {
  const auto node = Node();
  grpc::ClientContext context;
  const auto stream = node->SubmitReports(&context);
  for (NodeIndex id = 0; id < kNodes; ++id) {
    const CodedReport report = MakeReport(parameters_, id);
    v1::SubmitReportsRequest request;
    *request.mutable_header() = MakeHeader(parameters_, id, report, round_id_);
    request.set_coded_bits(report.coded_bits);
    if (id == 5) request.mutable_coded_bits()->pop_back();
    if (id == 6) request.clear_header();
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  int receipts = 0, refusals = 0;
  for (v1::SubmitReportsResponse response; stream->Read(&response);) {
    EXPECT_GT(response.retry().max_ms(), 0);
    if (response.has_receipt()) {
      EXPECT_EQ(response.receipt().node_id(), response.node_id());
      ++receipts;
    } else {
      EXPECT_EQ(response.refusal().code(), static_cast<uint32_t>(absl::StatusCode::kInvalidArgument));
      ++refusals;
    }
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(receipts, static_cast<int>(kNodes) - 2);
  EXPECT_EQ(refusals, 2);

  v1::ListDigestsRequest request;
  request.set_deployment("demo");
  request.set_round_id(round_id_);
  request.set_first_node(3);
  request.set_last_node(9);
  grpc::ClientContext list_context;
  const auto digests = node->ListDigests(&list_context, request);
  std::vector<uint64_t> nodes;
  for (v1::ListDigestsResponse response; digests->Read(&response);) nodes.push_back(response.node_id());
  EXPECT_TRUE(digests->Finish().ok());
  EXPECT_EQ(nodes, (std::vector<uint64_t>{3, 4, 7, 8, 9}));
  grpc::ClientContext other_context;
  const auto others = Node("nodes/3-8")->ListDigests(&other_context, request);
  EXPECT_EQ(others->Finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(AggregatorRpcTest, IsWatchedFromOpenToReadyAndServesTheResult) {
  grpc::ClientContext watch_context;
  v1::WatchRoundRequest watch;
  watch.set_deployment("demo");
  watch.set_round_id(round_id_);
  const auto op = Operator();
  const auto stream = op->WatchRound(&watch_context, watch);
  v1::Round round;
  ASSERT_TRUE(stream->Read(&round));
  EXPECT_EQ(round.state(), v1::ROUND_STATE_OPEN);
  const auto node = Node();
  for (NodeIndex id = 0; id < kNodes; ++id) ASSERT_TRUE(SendReport(*node, id).status.ok());
  std::ofstream(options_.attributes_folder + "/go") << "go";
  std::vector<int> states;
  do {
    if (states.empty() || states.back() != round.state()) states.push_back(round.state());
  } while (stream->Read(&round));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(std::is_sorted(states.begin(), states.end()));
  if (states.back() != round.state()) states.push_back(round.state());
  EXPECT_EQ(states.back(), v1::ROUND_STATE_READY);
  EXPECT_THAT(round.result_json(), HasSubstr("pid"));

  v1::GetResultRequest request;
  request.set_deployment("demo");
  request.set_round_id(round_id_);
  request.set_artifact("predictions.csv");
  grpc::ClientContext context;
  const auto result = op->GetResult(&context, request);
  std::string content;
  for (v1::GetResultResponse response; result->Read(&response);) content += response.chunk();
  EXPECT_TRUE(result->Finish().ok());
  EXPECT_EQ(content, "0,1\n");
  request.set_artifact("../reports.blr");
  grpc::ClientContext bad_context;
  EXPECT_EQ(op->GetResult(&bad_context, request)->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(AggregatorRpcTest, DoesNotStartWithoutTheResultsOfItsRoundsUnlessToldOtherwise) {
  {
    const auto node = Node();
    for (NodeIndex id = 0; id < kNodes; ++id) ASSERT_TRUE(SendReport(*node, id).status.ok());
  }
  std::ofstream(options_.attributes_folder + "/go") << "go";
  const auto is_ready = [this] { return aggregator_->store().GetRound(round_id_)->state() == v1::ROUND_STATE_READY; };
  for (int i = 0; i < 600 && !is_ready(); ++i) absl::SleepFor(absl::Milliseconds(50));
  ASSERT_TRUE(is_ready());
  aggregator_.reset();
  const std::string rounds = options_.data_folder + "/rounds";
  std::filesystem::rename(rounds, rounds + "-elsewhere");
  const absl::Status refused = Aggregator::Start(options_, clock_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("has none of the 1 results that the store knows of"));
  EXPECT_FALSE(std::filesystem::exists(rounds)) << "refused before anything was made";
  options_.accept_data_loss = true;
  StartAggregator();
  const std::string report_file = absl::StrCat(rounds, "/", round_id_, "/reports.blr");
  for (int i = 0; i < 600 && !std::filesystem::exists(rounds + "/" + round_id_ + "/round.json"); ++i) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_EQ(std::filesystem::file_size(report_file),
            std::filesystem::file_size(absl::StrCat(rounds, "-elsewhere/", round_id_, "/reports.blr")));
  EXPECT_EQ(Status().state(), v1::ROUND_STATE_READY);
  v1::GetResultRequest request;
  request.set_deployment("demo");
  request.set_round_id(round_id_);
  request.set_artifact("predictions.csv");
  grpc::ClientContext context;
  const grpc::Status gone = Operator()->GetResult(&context, request)->Finish();
  EXPECT_EQ(gone.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_THAT(gone.error_message(), HasSubstr("make the result again with blink-worker"));
  options_.accept_data_loss = false;
  StartAggregator();  // once is enough
}

TEST_F(AggregatorRpcTest, KeepsWhatItAcknowledgedAcrossARestart) {
  {
    const auto node = Node();
    for (NodeIndex id = 0; id < 10; ++id) ASSERT_TRUE(SendReport(*node, id).status.ok());
  }
  StartAggregator();
  EXPECT_EQ(Status().reports(), 10);
  EXPECT_EQ(Status().state(), v1::ROUND_STATE_OPEN);
  EXPECT_EQ(SendReport(*Node(), 3, 1).status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(AggregatorRpcTest, DoesNotStartOnEdgesOnAnotherRosterOrOnATakenPort) {
  AggregatorOptions options = options_;
  options.data_folder = folder_ / "data2";
  options.server.listen = absl::StrCat("127.0.0.1:", aggregator_->port());
  EXPECT_EQ(Aggregator::Start(options, clock_).status().code(), absl::StatusCode::kUnavailable);
  options.server.listen = "127.0.0.1:0";
  options.deployment.node_count = kNodes + 1;
  const absl::Status other = Aggregator::Start(options, clock_).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(other.message()), HasSubstr("describes 40 nodes"));
  options.deployment.node_count = kNodes;
  options.server.tls.reset();
  options.server.listen = "0.0.0.0:0";
  EXPECT_EQ(Aggregator::Start(options, clock_).status().code(), absl::StatusCode::kFailedPrecondition)
      << "plaintext is for loopback";
  std::ofstream(options.attributes_folder + "/edges.csv") << "source,target\n0,1\n";
  options = options_;
  options.data_folder = folder_ / "data3";
  const absl::Status edges = Aggregator::Start(options, clock_).status();
  EXPECT_EQ(edges.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(edges.message()), HasSubstr("edges"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "data3/store")) << "refused before anything was made";
}

TEST_F(AggregatorRpcTest, RefusesARoundThatItsAttributesAsTheyAreNowCanNeverTrain) {
  v1::CreateRoundRequest request;
  request.set_deployment("demo");
  request.mutable_parameters()->set_epsilon_micro(6'000'000);
  request.mutable_parameters()->set_degree_share_ppm(100'000);
  request.set_open_for_ms(60'000);
  request.mutable_training()->set_node_features(v1::NODE_FEATURES_GIVEN);
  const auto create = [&] {
    grpc::ClientContext context;
    v1::Round round;
    return Operator()->CreateRound(&context, request, &round);
  };
  EXPECT_TRUE(create().ok());
  std::filesystem::remove(options_.attributes_folder + "/features.npz");
  grpc::Status refused = create();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("training.node_features is given, but there are no node features"));
  request.mutable_training()->clear_node_features();
  EXPECT_TRUE(create().ok()) << "without them it can be trained";
  request.mutable_training()->set_device("cuda:0");
  EXPECT_EQ(create().error_code(), grpc::StatusCode::FAILED_PRECONDITION) << "the stand-in has no GPU";
  request.mutable_training()->clear_device();
  std::ofstream(options_.attributes_folder + "/edges.csv") << "source,target\n0,1\n";
  refused = create();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(refused.error_message(), HasSubstr("edges"));
}

}  // namespace
}  // namespace blink
