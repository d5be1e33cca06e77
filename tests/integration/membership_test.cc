// Who may still speak, and who takes part, while rounds are under way: revocation, expiry, rotation, overlapping
// certificates, and rosters that grow and retire. A whole aggregator in process, over real gRPC with mutual TLS.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/time/clock.h"
#include "aggregator_server/main/aggregator.h"
#include "common/base/durable_file.h"
#include "common/pki/pki.h"
#include "common/pki/revocation.h"
#include "common/rpc/credentials.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/certificates.h"
#include "tests/testing/grpc_environment.h"
#include "tests/testing/places.h"
#include "tests/testing/small_attributes.h"

namespace blink {
namespace {

using ::testing::AllOf;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::MakeHeader;
using testing::MakeParameters;
using testing::MakeReport;

constexpr uint32_t kNodes = 40;

class MembershipTest : public ::testing::Test {
 protected:
  void SetUp() override {
    certificate_clock_.Advance(absl::Now() - certificate_clock_.Now());
    WriteAttributesOf(kNodes);
    options_.data_folder = folder_ / "data";
    options_.deployment = {"demo", kNodes, 1};
    options_.worker_path = testing::InSources("tests/unit/rounds/fake_worker.sh");
    options_.certificate_clock = &certificate_clock_;
    options_.revocations_file = folder_ / "revoked.crl.pem";
    PublishList({});
    options_.server.tls = Certify("blink://demo/aggregator", /*server=*/true);
    ASSERT_TRUE(StartAggregator().ok());
    operator_ = Certify("blink://demo/operator/ann");
    round_id_ = CreateRound();
  }
  void WriteAttributesOf(uint32_t nodes) {
    options_.attributes_folder = folder_ / absl::StrCat("attributes-", nodes);
    ASSERT_TRUE(testing::WriteSmallAttributes(nodes, options_.attributes_folder).ok());
    std::ofstream(options_.attributes_folder + "/behaviour") << "wait";
  }
  absl::Status StartAggregator() {
    aggregator_.reset();
    auto aggregator = Aggregator::Start(options_, clock_);
    if (aggregator.ok()) aggregator_ = *std::move(aggregator);
    return aggregator.status();
  }
  TlsFiles Certify(const std::string& uri, bool server = false) {
    const std::string base = folder_ / absl::StrCat("tls-", certificates_++);
    return testing::WriteTlsFiles({base + ".crt", base + ".key", base + ".ca"}, authority_, authority_.certificate,
                                  {.uri_san = uri, .server = server, .valid_for = absl::Hours(2)});
  }
  static std::string SerialOf(const TlsFiles& files) {
    return InspectCertificate(*ReadFile(files.certificate, 1 << 20))->serial;
  }
  // Replaces the list; without a restart it takes effect within about a second.
  void PublishList(const std::vector<TlsFiles>& revoked) {
    RevocationListOptions list = {
        .number = ++list_number_, .this_update = absl::Now(), .next_update = absl::Now() + absl::Hours(24)};
    for (const TlsFiles& files : revoked) list.revoked.push_back({SerialOf(files), absl::Now(), "key-compromise"});
    ASSERT_TRUE(WriteFileAtomically(options_.revocations_file, *SignRevocationList(authority_, list)).ok());
  }
  std::shared_ptr<grpc::Channel> Channel(const TlsFiles& files) {
    auto credentials = MakeClientCredentials(files, "demo");
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return MakeChannel(absl::StrCat("127.0.0.1:", aggregator_->port()), *credentials);
  }
  std::unique_ptr<v1::NodeService::Stub> Node(const TlsFiles& files) {
    return v1::NodeService::NewStub(Channel(files));
  }

  std::string CreateRound() {
    v1::CreateRoundRequest request;
    request.set_deployment("demo");
    request.mutable_parameters()->set_epsilon_micro(6'000'000);
    request.mutable_parameters()->set_degree_share_ppm(100'000);
    request.set_open_for_ms(600'000);
    grpc::ClientContext context;
    v1::Round round;
    const grpc::Status status =
        v1::OperatorService::NewStub(Channel(operator_))->CreateRound(&context, request, &round);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return round.round_id();
  }
  v1::Round Round(const std::string& round_id) { return aggregator_->pipeline().GetRound(round_id).value(); }

  grpc::Status GetRounds(v1::NodeService::Stub& node, uint64_t id) {
    v1::GetRoundsRequest request;
    request.set_deployment("demo");
    request.set_node_id(id);
    v1::GetRoundsResponse response;
    grpc::ClientContext context;
    return node.GetRounds(&context, request, &response);
  }
  v1::ReportHeader Header(NodeIndex node, const CodedReport& report, uint32_t n, uint64_t version,
                          const std::string& round_id) {
    v1::ReportHeader header = MakeHeader(MakeParameters(n), node, report, round_id);
    header.set_roster_version(version);
    return header;
  }
  // One report of its own call.
  grpc::Status Send(v1::NodeService::Stub& stub, NodeIndex node, uint32_t variant, v1::Receipt* receipt = nullptr,
                    uint32_t n = kNodes, uint64_t version = 1, std::string round_id = "") {
    if (round_id.empty()) round_id = round_id_;
    const CodedReport report = MakeReport(MakeParameters(n), std::min<NodeIndex>(node, n - 1), variant);
    grpc::ClientContext context;
    v1::SubmitReportResponse response;
    const auto writer = stub.SubmitReport(&context, &response);
    v1::SubmitReportRequest message;
    *message.mutable_header() = Header(node, report, n, version, round_id);
    if (writer->Write(message)) {
      message.set_chunk(report.coded_bits);
      writer->Write(message);
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    if (receipt != nullptr) *receipt = response.receipt();
    return status;
  }
  v1::SubmitReportsRequest Message(NodeIndex node) {
    const CodedReport report = MakeReport(MakeParameters(kNodes), node);
    v1::SubmitReportsRequest message;
    *message.mutable_header() = Header(node, report, kNodes, 1, round_id_);
    message.set_coded_bits(report.coded_bits);
    return message;
  }

  testing::TempFolder folder_;
  testing::ManualClock clock_, certificate_clock_;
  const CertificateAuthority authority_ = CreateAuthority("test authority", absl::Hours(24)).value();
  AggregatorOptions options_;
  uint64_t list_number_ = 0;
  int certificates_ = 0;
  TlsFiles operator_;
  std::unique_ptr<Aggregator> aggregator_;
  std::string round_id_;
};

TEST_F(MembershipTest, RevocationCutsAnOpenStreamAndLosesNothingThatWasAcknowledged) {
  const TlsFiles bad = Certify("blink://demo/nodes/0-9"), good = Certify("blink://demo/nodes/10-19");
  const auto bad_node = Node(bad), good_node = Node(good);
  grpc::ClientContext bad_context, good_context;
  const auto bad_stream = bad_node->SubmitReports(&bad_context);
  const auto good_stream = good_node->SubmitReports(&good_context);
  v1::SubmitReportsResponse reply;
  ASSERT_TRUE(bad_stream->Write(Message(0)));
  ASSERT_TRUE(bad_stream->Read(&reply));
  ASSERT_TRUE(reply.has_receipt()) << reply.ShortDebugString();
  ASSERT_TRUE(good_stream->Write(Message(10)));
  ASSERT_TRUE(good_stream->Read(&reply));

  PublishList({bad});
  EXPECT_FALSE(bad_stream->Read(&reply)) << "it waits for the cut";
  const grpc::Status cut = bad_stream->Finish();
  EXPECT_EQ(cut.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(cut.error_message(),
              AllOf(HasSubstr(SerialOf(bad)), HasSubstr("revoked"), HasSubstr("blink provision sign")));

  ASSERT_TRUE(good_stream->Write(Message(11)));
  ASSERT_TRUE(good_stream->Read(&reply));
  EXPECT_TRUE(reply.has_receipt());
  good_stream->WritesDone();
  EXPECT_FALSE(good_stream->Read(&reply));
  EXPECT_TRUE(good_stream->Finish().ok());
  EXPECT_EQ(Round(round_id_).reports(), 3u) << "what the revoked node had sent stays";
}

TEST_F(MembershipTest, RevocationEndsHalfAReportAndEveryFurtherCallOfTheConnection) {
  const TlsFiles bad = Certify("blink://demo/node/3");
  const auto node = Node(bad);
  ASSERT_TRUE(GetRounds(*node, 3).ok());
  grpc::ClientContext context;
  v1::SubmitReportResponse response;
  const auto writer = node->SubmitReport(&context, &response);
  const CodedReport report = MakeReport(MakeParameters(kNodes), 3);
  v1::SubmitReportRequest message;
  *message.mutable_header() = Header(3, report, kNodes, 1, round_id_);
  ASSERT_TRUE(writer->Write(message));
  PublishList({bad});
  const grpc::Status cut = writer->Finish();
  EXPECT_EQ(cut.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(GetRounds(*node, 3).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Send(*node, 3, 0).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(GetRounds(*Node(bad), 3).error_code(), grpc::StatusCode::UNAUTHENTICATED) << "a new connection";
  EXPECT_EQ(Round(round_id_).reports(), 0u);
}

TEST_F(MembershipTest, RevocationEndsTheWatchOfAnOperatorAndItsCalls) {
  const auto stub = v1::OperatorService::NewStub(Channel(operator_));
  v1::WatchRoundRequest request;
  request.set_deployment("demo");
  request.set_round_id(round_id_);
  grpc::ClientContext context;
  const auto reader = stub->WatchRound(&context, request);
  v1::Round round;
  ASSERT_TRUE(reader->Read(&round));
  PublishList({operator_});
  while (reader->Read(&round)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext second;
  v1::ListRoundsRequest list;
  list.set_deployment("demo");
  v1::ListRoundsResponse rounds;
  EXPECT_EQ(stub->ListRounds(&second, list, &rounds).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(MembershipTest, AConnectionDoesNotOutliveItsCertificate) {
  const TlsFiles files = Certify("blink://demo/node/3");
  const auto node = Node(files);
  ASSERT_TRUE(GetRounds(*node, 3).ok());
  grpc::ClientContext context;
  const auto stream = node->SubmitReports(&context);
  v1::SubmitReportsResponse reply;
  ASSERT_TRUE(stream->Write(Message(3)));
  ASSERT_TRUE(stream->Read(&reply));
  certificate_clock_.Advance(absl::Hours(3));
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  const grpc::Status refused = GetRounds(*node, 3);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(refused.error_message(), AllOf(HasSubstr("expired"), HasSubstr(SerialOf(files))));
}

TEST_F(MembershipTest, ANewCertificateInMidRoundGetsTheSameReceiptAndTheOldOneStaysGoodUntilRevoked) {
  const TlsFiles old_files = Certify("blink://demo/node/3"), new_files = Certify("blink://demo/node/3");
  const auto old_node = Node(old_files), new_node = Node(new_files);
  v1::Receipt first, second;
  ASSERT_TRUE(Send(*old_node, 3, 0, &first).ok());
  clock_.Advance(absl::Minutes(3));
  ASSERT_TRUE(Send(*new_node, 3, 0, &second).ok());
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
  EXPECT_TRUE(GetRounds(*old_node, 3).ok());
  PublishList({old_files});
  EXPECT_TRUE(Eventually([&] { return GetRounds(*old_node, 3).error_code() == grpc::StatusCode::UNAUTHENTICATED; }));
  ASSERT_TRUE(Send(*new_node, 3, 0, &second).ok());
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
}

TEST_F(MembershipTest, OfOverlappingCertificatesTheFirstReportStays) {
  const auto one = Node(Certify("blink://demo/nodes/0-9")), other = Node(Certify("blink://demo/nodes/5-14"));
  v1::Receipt first, same;
  ASSERT_TRUE(Send(*one, 7, 0, &first).ok());
  EXPECT_EQ(Send(*other, 7, 1).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  ASSERT_TRUE(Send(*other, 7, 0, &same).ok());
  EXPECT_EQ(first.SerializeAsString(), same.SerializeAsString());
  EXPECT_EQ(Round(round_id_).reports(), 1u);
}

TEST_F(MembershipTest, ACertificateThatReachesPastTheRosterSpeaksForTheNodesOfTheRosterOnly) {
  const auto node = Node(Certify("blink://demo/nodes/30-18446744073709551615"));
  EXPECT_TRUE(GetRounds(*node, 30).ok());
  EXPECT_TRUE(Send(*node, 39, 0).ok());
  EXPECT_EQ(GetRounds(*node, kNodes).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Send(*node, kNodes, 0).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(GetRounds(*node, ~uint64_t{0}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(MembershipTest, ARoundKeepsTheRosterThatItBeganWith) {
  const TlsFiles files = Certify("blink://demo/nodes/0-49");
  ASSERT_TRUE(Send(*Node(files), 5, 0).ok());
  WriteAttributesOf(44);
  options_.deployment = {"demo", 44, 2, {{3, 4}}};
  ASSERT_TRUE(StartAggregator().ok());
  const auto node = Node(files);
  // The old round goes on with those who hold its kits, node 3 among them, and knows nobody who joined later.
  EXPECT_TRUE(Send(*node, 3, 0).ok());
  const grpc::Status late = Send(*node, 41, 0);
  EXPECT_EQ(late.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(late.error_message(), HasSubstr("added after roster version 1"));
  const grpc::Status newer = Send(*node, 6, 0, nullptr, kNodes, 2);
  EXPECT_EQ(newer.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(newer.error_message(), HasSubstr("it began before the node had its kit"));

  const std::string next = CreateRound();
  EXPECT_EQ(Round(next).parameters().node_count(), 44u);
  EXPECT_EQ(Round(next).active_nodes(), 42u);
  EXPECT_TRUE(GetRounds(*node, 3).ok()) << "a gateway asks by its first node, retired or not";
  const grpc::Status retired = Send(*node, 3, 0, nullptr, 44, 2, next);
  EXPECT_EQ(retired.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(retired.error_message(), HasSubstr("node 3 is retired in roster version 2"));
  EXPECT_EQ(Send(*node, 6, 0, nullptr, 44, 1, next).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  for (NodeIndex id = 0; id < 44; ++id) {
    if (id == 3 || id == 4) continue;
    ASSERT_TRUE(Send(*node, id, 0, nullptr, 44, 2, next).ok()) << id;
  }
  EXPECT_TRUE(Eventually([&] { return Round(next).state() != v1::ROUND_STATE_OPEN; }))
      << "all active nodes have reported";
  EXPECT_EQ(Round(round_id_).state(), v1::ROUND_STATE_OPEN);
  EXPECT_EQ(Round(round_id_).active_nodes(), kNodes);
}

TEST_F(MembershipTest, RefusesToStartWithARosterThatDoesNotFollow) {
  const auto refused = [&](const Deployment& deployment, uint32_t attributes) {
    WriteAttributesOf(attributes);
    options_.deployment = deployment;
    const absl::Status status = StartAggregator();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refused({"demo", 44, 2}, 40), HasSubstr("describes 40 nodes"));
  EXPECT_THAT(refused({"demo", 39, 2}, 39), HasSubstr("ids never fall away"));
  EXPECT_THAT(refused({"demo", 44, 1}, 44), HasSubstr("another roster of this version"));
  WriteAttributesOf(44);
  options_.deployment = {"demo", 44, 5, {{3, 3}}};
  ASSERT_TRUE(StartAggregator().ok());
  EXPECT_THAT(refused({"demo", 44, 4, {{3, 3}}}, 44), HasSubstr("never taken back"));
  EXPECT_THAT(refused({"demo", 44, 6}, 44), HasSubstr("never used again"));
}

}  // namespace
}  // namespace blink
