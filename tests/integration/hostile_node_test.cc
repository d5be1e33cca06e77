// Hostile and broken nodes, and ordinary bad networks, against a whole aggregator in this process. Beside each stands
// an honest node that has to get its report through.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <list>
#include <map>
#include <thread>

#include "aggregator_server/main/aggregator.h"
#include "common/base/durable_file.h"
#include "common/base/logging.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"
#include "common/wire/retry_policy.h"
#include "node_client/grpc_link.h"
#include "spdlog/sinks/base_sink.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/certificates.h"
#include "tests/testing/grpc_environment.h"
#include "tests/testing/places.h"
#include "tests/testing/sanitizers.h"
#include "tests/testing/small_attributes.h"
#include "tests/testing/tcp_proxy.h"

namespace blink {
namespace {

constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

using ::testing::AnyOf;
using testing::ChunkMessage;
using testing::Eventually;
using ::testing::HasSubstr;
using testing::HeaderMessage;
using testing::MakeHeader;
using testing::MakeParameters;
using testing::MakeReport;
using ::testing::Not;
using testing::TcpProxy;

constexpr uint32_t kNodes = 40;
constexpr NodeIndex kHonest = 39;
constexpr char kHonestUri[] = "blink://demo/node/39";

// Signs again what another program might have made: with other alternative names ("" for none).
std::string WithNames(const CertificateAuthority& authority, const std::string& certificate, const char* names) {
  const auto in = [](const std::string& text) { return BIO_new_mem_buf(text.data(), static_cast<int>(text.size())); };
  BIO* bio = in(certificate);
  X509* x509 = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  bio = in(authority.key);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  X509_EXTENSION_free(X509_delete_ext(x509, X509_get_ext_by_NID(x509, NID_subject_alt_name, -1)));
  if (*names != '\0') {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names);
    X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
  }
  X509_sign(x509, key, EVP_sha256());
  bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, x509);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  const std::string pem(data, size);
  BIO_free(bio);
  X509_free(x509);
  EVP_PKEY_free(key);
  return pem;
}

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

// Keeps the log's lines.
class Lines final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string text() {
    std::lock_guard<std::mutex> lock(mutex_);
    return text_;
  }
  void Clear() {
    std::lock_guard<std::mutex> lock(mutex_);
    text_.clear();
  }

 private:
  void sink_it_(const spdlog::details::log_msg& line) override {
    text_.append(line.payload.data(), line.payload.size()).push_back('\n');
  }
  void flush_() override {}
  std::string text_;
};

class HostileNode : public ::testing::Test {
 protected:
  void SetUp() override {
    lines_->Clear();
    options_.attributes_folder = folder_ / "attributes";
    ASSERT_TRUE(testing::WriteSmallAttributes(kNodes, options_.attributes_folder).ok());
    options_.data_folder = folder_ / "data";
    options_.deployment.name = "demo";
    options_.deployment.node_count = kNodes;
    options_.deployment.roster_version = 1;
    options_.worker_path = testing::InSources("tests/unit/rounds/fake_worker.sh");
    authority_ = *CreateAuthority("test authority", absl::Hours(1));
    options_.server.tls = Certify({.uri_san = "blink://demo/aggregator", .server = true});
    Start(absl::Seconds(60));
  }
  void Start(absl::Duration report_time_max) {
    aggregator_.reset();
    options_.limits.report_time_max = report_time_max;
    auto aggregator = Aggregator::Start(options_, clock_);
    ASSERT_TRUE(aggregator.ok()) << aggregator.status();
    aggregator_ = *std::move(aggregator);
    v1::CreateRoundRequest request;
    request.set_deployment("demo");
    request.mutable_parameters()->set_epsilon_micro(6'000'000);
    request.mutable_parameters()->set_degree_share_ppm(100'000);
    request.set_open_for_ms(60'000);
    const auto op = v1::OperatorService::NewStub(Channel("blink://demo/operator/ann"));
    grpc::ClientContext context;
    v1::Round round;
    const grpc::Status status = op->CreateRound(&context, request, &round);
    ASSERT_TRUE(status.ok()) << status.error_message();
    round_id_ = round.round_id();
  }

  TlsFiles Certify(const CertificateOptions& options) { return Certify(authority_, options); }
  TlsFiles Certify(const CertificateAuthority& authority, const CertificateOptions& options) {
    const std::string base = folder_ / absl::StrCat("kit-", certificates_++);
    return testing::WriteTlsFiles({base + "/tls/client.crt", base + "/tls/client.key", base + "/tls/ca.crt"}, authority,
                                  authority_.certificate, options);
  }
  std::string address() const { return absl::StrCat("127.0.0.1:", aggregator_->port()); }
  std::shared_ptr<grpc::ChannelCredentials> Credentials(const std::string& uri) {
    auto credentials = MakeClientCredentials(Certify({.uri_san = uri}), "demo");
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return *credentials;
  }
  std::shared_ptr<grpc::Channel> Channel(const std::string& uri) { return MakeChannel(address(), Credentials(uri)); }
  std::unique_ptr<v1::NodeService::Stub> Node(const std::string& uri = "blink://demo/nodes/0-38") {
    return v1::NodeService::NewStub(Channel(uri));
  }

  v1::ReportHeader HeaderOf(NodeIndex node, uint32_t variant = 0) {
    return MakeHeader(parameters_, node, MakeReport(parameters_, node, variant), round_id_);
  }
  grpc::Status Send(v1::NodeService::Stub& node, const std::vector<v1::SubmitReportRequest>& messages,
                    v1::SubmitReportResponse* response = nullptr) {
    v1::SubmitReportResponse ignored;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    const auto writer = node.SubmitReport(&context, response != nullptr ? response : &ignored);
    for (const v1::SubmitReportRequest& message : messages) {
      if (!writer->Write(message)) break;
    }
    writer->WritesDone();
    return writer->Finish();
  }
  grpc::Status SendReport(v1::NodeService::Stub& node, NodeIndex id, uint32_t variant = 0) {
    return Send(node,
                {HeaderMessage(HeaderOf(id, variant)), ChunkMessage(MakeReport(parameters_, id, variant).coded_bits)});
  }
  void ExpectHonestNodeIsServed() {
    const grpc::Status status = SendReport(*Node(kHonestUri), kHonest);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(Held(kHonest), MakeReport(parameters_, kHonest).digest);
  }
  std::optional<Digest> Held(NodeIndex node) { return *aggregator_->store().GetDigest(round_id_, node); }
  int Reports() { return aggregator_->store().GetRound(round_id_)->reports(); }
  std::string Log() { return lines_->text(); }

  // A client that does not look at its own certificate first, as another program might be.
  grpc::Status AskUnchecked(const TlsFiles& files) {
    grpc::SslCredentialsOptions plain;
    plain.pem_root_certs = *ReadFile(files.ca, 1 << 20);
    if (!files.certificate.empty()) {
      plain.pem_cert_chain = *ReadFile(files.certificate, 1 << 20);
      plain.pem_private_key = *ReadFile(files.key, 1 << 20);
    }
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("[blink://demo/aggregator]");
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto node =
        v1::NodeService::NewStub(grpc::CreateCustomChannel(address(), grpc::SslCredentials(plain), arguments));
    v1::GetRoundsRequest request;
    request.set_deployment("demo");
    v1::GetRoundsResponse response;
    grpc::ClientContext context;
    return node->GetRounds(&context, request, &response);
  }
  void ExpectHandshakeFails(const TlsFiles& files, const std::string& why) {
    // Again: the line comes a moment after the answer.
    EXPECT_TRUE(Eventually([&] {
      EXPECT_EQ(AskUnchecked(files).error_code(), grpc::StatusCode::UNAVAILABLE);
      return Log().find(why) != std::string::npos;
    })) << why
        << "\n"
        << Log();
    EXPECT_THAT(Log(), HasSubstr("TLS handshake with 127.0.0.1:"));
    ExpectHonestNodeIsServed();
  }
  KitConfig KitOf(const std::string& where, NodeIndex node = kHonest) {
    const TlsFiles files = Certify({.uri_san = absl::StrCat("blink://demo/node/", node)});
    KitConfig kit;
    kit.deployment = "demo";
    kit.first_node = kit.last_node = node;
    kit.node_count = kNodes;
    kit.roster_version = 1;
    kit.aggregator = where;
    kit.folder = std::filesystem::path(files.certificate).parent_path().parent_path();
    return kit;
  }
  // A link whose calls give up soon, so that the test does not wait for the times of real networks.
  std::unique_ptr<GrpcLink> Link(const std::string& where, NodeIndex node = kHonest, int keepalive_ms = 300) {
    const KitConfig kit = KitOf(where, node);
    const auto credentials = *MakeClientCredentials({kit.certificate_path(), kit.key_path(), kit.ca_path()}, "demo");
    const auto connect = [where, credentials, keepalive_ms] {
      return MakeChannel(where, credentials, {.keepalive_ms = keepalive_ms, .keepalive_timeout_ms = keepalive_ms});
    };
    return std::make_unique<GrpcLink>(connect(), kit, GrpcLinkOptions{}, connect);
  }
  OutgoingReport Outgoing(NodeIndex node) { return {node, parameters_, MakeReport(parameters_, node)}; }

  // One for all tests: gRPC's threads may still log when a test is over.
  static inline const std::shared_ptr<Lines> lines_ = [] {
    auto lines = std::make_shared<Lines>();
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", lines));
    return lines;
  }();
  testing::TempFolder folder_;
  testing::ManualClock clock_;
  AggregatorOptions options_;
  CertificateAuthority authority_;
  int certificates_ = 0;
  std::unique_ptr<Aggregator> aggregator_;
  std::string round_id_;
  const PrivacyParameters parameters_ = MakeParameters(kNodes);
};

// ---- What dies in the handshake is named in the aggregator's log

TEST_F(HostileNode, AnExpiredCertificateIsNamedInTheLogWithItsDates) {
  ExpectHandshakeFails(
      Certify(
          {.uri_san = "blink://demo/node/3", .valid_for = absl::Hours(1), .valid_from = absl::Now() - absl::Hours(9)}),
      "its certificate (blink://demo/node/3) expired on ");
  EXPECT_THAT(Log(), HasSubstr("; this machine's clock says "));
}

TEST_F(HostileNode, ACertificateOfTomorrowIsNamedInTheLogWithItsDates) {
  ExpectHandshakeFails(Certify({.uri_san = "blink://demo/node/3", .valid_from = absl::Now() + absl::Hours(24)}),
                       "its certificate (blink://demo/node/3) is not valid before ");
}

TEST_F(HostileNode, AForeignAuthorityIsNamedInTheLog) {
  const CertificateAuthority stranger = *CreateAuthority("stranger", absl::Hours(1));
  ExpectHandshakeFails(
      Certify(stranger, {.uri_san = "blink://demo/node/3"}),
      "its certificate (blink://demo/node/3) was not signed by the authority that this aggregator knows");
}

TEST_F(HostileNode, AnAuthorityOfTheSameNameIsStillForeign) {
  const CertificateAuthority twin = *CreateAuthority("test authority", absl::Hours(1));
  ExpectHandshakeFails(Certify(twin, {.uri_san = "blink://demo/node/3"}), "was not signed by the authority");
}

TEST_F(HostileNode, ACertificateOfAServerDoesNotMakeANode) {
  ExpectHandshakeFails(Certify({.uri_san = "blink://demo/node/3", .server = true}), "is not one for clients");
}

TEST_F(HostileNode, AClientWithoutCertificateIsNamedInTheLog) {
  TlsFiles files = Certify({.uri_san = "blink://demo/node/3"});
  files.certificate.clear();
  ExpectHandshakeFails(files, "it sent no certificate, and one is required");
}

TEST_F(HostileNode, ClientsThatHangUpAreCountedInOneLine) {
  TlsFiles files = Certify({.uri_san = "blink://demo/node/3"});
  ASSERT_TRUE(WriteFileAtomically(files.ca, CreateAuthority("stranger", absl::Hours(1))->certificate).ok());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(AskUnchecked(files).error_code(), grpc::StatusCode::UNAVAILABLE);
  ExpectHonestNodeIsServed();
  aggregator_.reset();
  EXPECT_THAT(Log(), HasSubstr(" x hung up when shown this aggregator's certificate; most of them from 127.0.0.1 ("));
  EXPECT_THAT(Log(), Not(HasSubstr("TLS handshake with")));
}

// Nodes look for the reason whenever an aggregator was gone for a while.
TEST_F(HostileNode, ANodeThatLooksForTheReasonIsNoFailure) {
  const TlsFiles files = Certify({.uri_san = "blink://demo/node/3"});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(DiagnoseHandshake(files, address()), "");
  ExpectHonestNodeIsServed();
  aggregator_.reset();
  EXPECT_THAT(Log(), Not(HasSubstr("came to nothing")));
  EXPECT_THAT(Log(), Not(HasSubstr("TLS handshake with")));
}

TEST_F(HostileNode, PlaintextOnTheTlsPortIsNamedInTheLog) {
  const auto plain = v1::NodeService::NewStub(MakeChannel(address(), grpc::InsecureChannelCredentials()));
  v1::GetRoundsResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(plain->GetRounds(&context, v1::GetRoundsRequest(), &response).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(Eventually([&] {
    DiagnosePlaintext(address());
    return Log().find("it speaks plaintext gRPC to a TLS port") != std::string::npos;
  })) << Log();
  EXPECT_THAT(DiagnosePlaintext(address()), HasSubstr("it wants TLS"));
  ExpectHonestNodeIsServed();
}

TEST_F(HostileNode, AStormOfFailuresIsLoggedOnceAndThenCounted) {
  for (int i = 0; i < 100; ++i) DiagnosePlaintext(address());
  EXPECT_TRUE(Eventually([&] { return Log().find("TLS handshake with") != std::string::npos; })) << Log();
  ExpectHonestNodeIsServed();
  aggregator_.reset();
  const std::string log = Log();
  EXPECT_EQ(log.find("TLS handshake with"), log.rfind("TLS handshake with")) << log;
  EXPECT_THAT(log, HasSubstr("99 x plaintext gRPC"));
}

TEST_F(HostileNode, OneCertificateCannotKeepOperatorsOut) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit small = {256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
  Start(absl::Seconds(60));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  const ConnectionLimits limits = *ConnectionLimits::ForDescriptors(256);
  const auto credentials = Credentials("blink://demo/node/3");
  std::vector<std::shared_ptr<grpc::Channel>> crowd;
  int connected = 0;
  for (int i = 0; i < 3 * limits.per_name; ++i) {
    crowd.push_back(MakeChannel(address(), credentials));
    v1::GetRoundsRequest request;
    request.set_deployment("demo");
    request.set_node_id(3);
    v1::GetRoundsResponse response;
    grpc::ClientContext context;
    connected += v1::NodeService::NewStub(crowd.back())->GetRounds(&context, request, &response).ok();
  }
  EXPECT_EQ(connected, limits.per_name);
  EXPECT_THAT(Log(), HasSubstr("refused a connection of blink://demo/node/3 from 127.0.0.1:"));
  v1::ListRoundsRequest request;
  request.set_deployment("demo");
  v1::ListRoundsResponse response;
  grpc::ClientContext context;
  const auto op = v1::OperatorService::NewStub(Channel("blink://demo/operator/ann"));
  const grpc::Status answer = op->ListRounds(&context, request, &response);
  EXPECT_TRUE(answer.ok()) << answer.error_message();
  ExpectHonestNodeIsServed();
}

TEST_F(HostileNode, AKitForPlaintextAtATlsPortLearnsWhy) {
  KitConfig kit = KitOf(address());
  kit.insecure = true;
  const auto link = GrpcLink::Create(kit);
  ASSERT_TRUE(link.ok());
  const auto answer = (*link)->GetRounds(kHonest, "");
  EXPECT_EQ(answer.value.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(answer.value.status().message()), HasSubstr(absl::StrCat("the aggregator at ", address())));
  EXPECT_THAT(std::string(answer.value.status().message()), HasSubstr("it wants TLS"));
}

TEST_F(HostileNode, ANodeWhomTheAggregatorRefusesLearnsWhoHasTheCause) {
  const CertificateAuthority twin = *CreateAuthority("test authority", absl::Hours(1));
  TlsFiles files = Certify(twin, {.uri_san = "blink://demo/node/3"});
  EXPECT_THAT(DiagnoseHandshake(files, address()), HasSubstr("was not issued by the authority in"));
  files = Certify({.uri_san = "blink://demo/node/3", .server = true});  // nothing that its own files tell
  EXPECT_THAT(DiagnoseHandshake(files, address()), HasSubstr("its log names the cause"));
}

// ---- Names in certificates

TEST_F(HostileNode, CertificatesThatNameNobodyOrTwoGetAPreciseStatus) {
  for (const auto& [names, why] :
       {std::pair<const char*, const char*>{"URI:blink://demo/node/3,URI:blink://demo/node/4", "it carries 2"},
        {"DNS:node-3.example.org", "it carries 0"},
        {"", "it carries 0"},  // the common name alone
        {"URI:https://demo/node/3", "does not begin with blink://"},
        {"URI:blink://demo/node/03", "without leading zeros"}}) {
    TlsFiles files = Certify({.uri_san = "blink://demo/node/3"});
    ASSERT_TRUE(
        WriteFileAtomically(files.certificate, WithNames(authority_, *ReadFile(files.certificate, 1 << 20), names))
            .ok());
    const grpc::Status status = AskUnchecked(files);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED) << names;
    EXPECT_THAT(status.error_message(), HasSubstr(why)) << names;
  }
  ExpectHonestNodeIsServed();
}

TEST_F(HostileNode, OthersCertificatesGetAPreciseStatus) {
  for (const auto& [uri, why] :
       {std::pair<const char*, const char*>{"blink://elsewhere/nodes/0-39", "is not of deployment"},
        {"blink://demo/operator/ann", "names no node"},
        {"blink://demo/node/8", "does not cover node 7"}}) {
    const grpc::Status status = SendReport(*Node(uri), 7);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << uri;
    EXPECT_THAT(status.error_message(), HasSubstr(why));
  }
  EXPECT_EQ(Reports(), 0);
  ExpectHonestNodeIsServed();
}

// ---- A cloned key

TEST_F(HostileNode, OfTwoMachinesWithOneKeyTheFirstReportWinsAndTheOtherLearnsBothCauses) {
  const auto first = Node("blink://demo/node/7"), second = Node("blink://demo/node/7");
  v1::SubmitReportResponse kept, again;
  const CodedReport report = MakeReport(parameters_, 7);
  // Both are in their streams at the same time.
  grpc::ClientContext context;
  v1::SubmitReportResponse refused;
  const auto late = second->SubmitReport(&context, &refused);
  ASSERT_TRUE(late->Write(HeaderMessage(HeaderOf(7, 1))));
  ASSERT_TRUE(Send(*first, {HeaderMessage(HeaderOf(7)), ChunkMessage(report.coded_bits)}, &kept).ok());
  late->Write(ChunkMessage(MakeReport(parameters_, 7, 1).coded_bits));
  late->WritesDone();
  const grpc::Status status = late->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_THAT(status.error_message(), HasSubstr("another machine uses this node's key"));
  EXPECT_THAT(status.error_message(), HasSubstr("lost its journal"));
  EXPECT_EQ(Held(7), report.digest);
  // Two copies of one journal send the same bytes: nothing is wrong with that.
  ASSERT_TRUE(Send(*second, {HeaderMessage(HeaderOf(7)), ChunkMessage(report.coded_bits)}, &again).ok());
  EXPECT_EQ(again.receipt().SerializeAsString(), kept.receipt().SerializeAsString());
  ExpectHonestNodeIsServed();
}

// ---- Streams

TEST_F(HostileNode, StreamsThatNeverEndOrDisagreeWithTheirHeaderAreRefused) {
  const auto node = Node();
  const std::string bits = MakeReport(parameters_, 7).coded_bits;
  const auto refuse = [&](const std::vector<v1::SubmitReportRequest>& messages, const char* why) {
    const grpc::Status status = Send(*node, messages);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr(why));
  };
  const auto header = HeaderMessage(HeaderOf(7));
  std::vector<v1::SubmitReportRequest> endless(10'000, ChunkMessage("x"));
  endless.insert(endless.begin(), header);
  refuse(endless, "more of them arrived");
  refuse(std::vector<v1::SubmitReportRequest>(10'000, header), "a second header");
  refuse(std::vector<v1::SubmitReportRequest>(10'000, v1::SubmitReportRequest()), "neither header nor chunk");
  v1::ReportHeader lying = HeaderOf(7);
  lying.set_coded_bytes(1 << 30);
  refuse({HeaderMessage(lying), ChunkMessage(bits)}, "coded_bytes is 1073741824");
  lying = HeaderOf(7);
  lying.set_coded_bytes(lying.coded_bytes() + 1);
  refuse({HeaderMessage(lying), ChunkMessage(bits)}, "ended after");
  lying = HeaderOf(7, 1);  // another report's digest over these bits
  lying.set_coded_bytes(static_cast<uint32_t>(bits.size()));
  refuse({HeaderMessage(lying), ChunkMessage(bits)}, "digest does not match");
  std::string flipped = bits;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  refuse({header, ChunkMessage(flipped)}, "digest does not match");
  const grpc::Status oversized = Send(*node, {header, ChunkMessage(std::string((2 << 20) + 1, 'x'))});
  EXPECT_THAT(oversized.error_code(), AnyOf(grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::CANCELLED));
  EXPECT_EQ(Reports(), 0);
  EXPECT_TRUE(Eventually([&] { return aggregator_->ingest().reports_in_flight() == 0; }));
  ExpectHonestNodeIsServed();
}

TEST_F(HostileNode, AGatewaysStreamGoesOnAfterMessagesThatAreWrong) {
  const auto node = Node();
  grpc::ClientContext context;
  const auto stream = node->SubmitReports(&context);
  const CodedReport report = MakeReport(parameters_, 3);
  const auto write = [&](NodeIndex id, const std::string& bits, bool with_header = true) {
    v1::SubmitReportsRequest request;
    if (with_header) *request.mutable_header() = MakeHeader(parameters_, id, report, round_id_);
    request.set_coded_bits(bits);
    ASSERT_TRUE(stream->Write(request));
  };
  write(3, report.coded_bits, false);
  write(3, report.coded_bits + "x");
  write(3, "");
  write(3, std::string(1'500'000, 'x'));
  write(kHonest, report.coded_bits);  // not covered
  write(3, report.coded_bits);
  stream->WritesDone();
  int receipts = 0, refusals = 0;
  for (v1::SubmitReportsResponse reply; stream->Read(&reply);) ++(reply.has_receipt() ? receipts : refusals);
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(receipts, 1);
  EXPECT_EQ(refusals, 5);
  EXPECT_EQ(Reports(), 1);
  ExpectHonestNodeIsServed();
}

TEST_F(HostileNode, SlowUploadsEndAtTheirTimeHoweverBusyTheyLook) {
  Start(absl::Seconds(1));
  const auto node = Node();
  const std::string bits = MakeReport(parameters_, 7).coded_bits;
  struct Slow {
    grpc::ClientContext context;
    v1::SubmitReportResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::SubmitReportRequest>> writer;
  };
  std::list<Slow> slow;
  for (int i = 0; i < 30; ++i) {
    slow.emplace_back();
    slow.back().writer = node->SubmitReport(&slow.back().context, &slow.back().response);
    ASSERT_TRUE(slow.back().writer->Write(HeaderMessage(HeaderOf(i))));
  }
  ExpectHonestNodeIsServed();
  // A byte now and then does not prolong anything; there are more bytes than the time allows.
  ASSERT_GE(bits.size(), 4u);
  size_t sent = 0;
  while (sent + 1 < bits.size() && slow.front().writer->Write(ChunkMessage(bits.substr(sent, 1)))) {
    ++sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  for (Slow& one : slow) {
    const grpc::Status status = one.writer->Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr("did not arrive within 1s"));
  }
  EXPECT_TRUE(Eventually([&] { return aggregator_->ingest().reports_in_flight() == 0; }));
}

TEST_F(HostileNode, TenThousandHalfOpenStreamsCostLittleMemoryAndKeepNobodyOut) {
  const int streams = kSanitized ? 1'000 : 10'000;
  constexpr int kPerConnection = 500;
  struct HalfOpen {
    grpc::ClientContext context;
    v1::SubmitReportResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::SubmitReportRequest>> writer;
  };
  const auto credentials = Credentials("blink://demo/node/5");
  const uint64_t before = ResidentBytes();
  std::vector<std::unique_ptr<v1::NodeService::Stub>> stubs;
  std::list<HalfOpen> open;
  for (int i = 0; i < streams; ++i) {
    if (i % kPerConnection == 0) stubs.push_back(v1::NodeService::NewStub(MakeChannel(address(), credentials)));
    open.emplace_back();
    open.back().writer = stubs.back()->SubmitReport(&open.back().context, &open.back().response);
    if (i % 2 == 0) open.back().writer->Write(HeaderMessage(HeaderOf(5)));  // the others say nothing at all
  }
  const uint64_t grown = ResidentBytes() - before;
  RecordProperty("bytes_per_stream_of_both_ends", static_cast<int>(grown / streams));
  std::printf("%d half-open streams: %.1f KB each, of client and server together\n", streams, grown / 1e3 / streams);
  if (!kSanitized) {
    EXPECT_LT(grown / streams, 100'000u);
  }
  // One more counts as in flight for the moment in which it is refused, so look until it is quiet.
  EXPECT_TRUE(Eventually([&] { return aggregator_->ingest().reports_in_flight() <= 4u; }))
      << "one node's certificate holds four places";
  ExpectHonestNodeIsServed();
  for (HalfOpen& one : open) one.context.TryCancel();
  for (HalfOpen& one : open) EXPECT_FALSE(one.writer->Finish().ok());
  EXPECT_TRUE(Eventually([&] { return aggregator_->ingest().reports_in_flight() == 0; }));
}

// A channel whose window holds next to nothing, so that what is not read is never sent.
std::shared_ptr<grpc::Channel> NarrowChannel(const std::string& address,
                                             std::shared_ptr<grpc::ChannelCredentials> credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 5);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

TEST_F(HostileNode, AListThatNobodyReadsIsGivenUp) {
  Start(absl::Seconds(1));
  const auto gateway = Node();
  for (NodeIndex id = 0; id < 39; ++id) ASSERT_TRUE(SendReport(*gateway, id).ok());
  const auto deaf = v1::NodeService::NewStub(NarrowChannel(address(), Credentials("blink://demo/nodes/0-38")));
  v1::ListDigestsRequest request;
  request.set_deployment("demo");
  request.set_round_id(round_id_);
  request.set_last_node(38);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(90));
  const auto reader = deaf->ListDigests(&context, request);
  EXPECT_TRUE(Eventually([&] { return Log().find("a list of digests was not read in time") != std::string::npos; }))
      << Log();
  for (v1::ListDigestsResponse response; reader->Read(&response);) {  // what had come before is still there
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  ExpectHonestNodeIsServed();
}

TEST_F(HostileNode, AGatewayThatDoesNotReadItsRepliesIsCutOff) {
  Start(absl::Seconds(1));
  const auto deaf = v1::NodeService::NewStub(NarrowChannel(address(), Credentials("blink://demo/nodes/0-38")));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(90));
  const auto stream = deaf->SubmitReports(&context);
  v1::SubmitReportsRequest request;
  *request.mutable_header() = HeaderOf(7);
  request.set_coded_bits(MakeReport(parameters_, 7).coded_bits);
  uint64_t written = 0;
  while (stream->Write(request)) ++written;  // ends when the aggregator has had enough, and not before
  EXPECT_GT(written, 0u);
  for (v1::SubmitReportsResponse reply; stream->Read(&reply);) {  // what had come before is still there
  }
  EXPECT_FALSE(stream->Finish().ok());
  EXPECT_THAT(Log(), HasSubstr("the replies were not read for 1s"));
  EXPECT_TRUE(Eventually([&] { return aggregator_->ingest().reports_in_flight() == 0; }));
  ExpectHonestNodeIsServed();
}

// ---- Versions

TEST_F(HostileNode, ANodeOfANewerMinorVersionIsUnderstood) {
  v1::ReportHeader header = HeaderOf(kHonest);
  header.GetReflection()->MutableUnknownFields(&header)->AddVarint(1000, 7);
  header.GetReflection()->MutableUnknownFields(&header)->AddLengthDelimited(1001, "a field of tomorrow");
  v1::SubmitReportRequest request = HeaderMessage(header);
  request.GetReflection()->MutableUnknownFields(&request)->AddVarint(1000, 7);
  EXPECT_TRUE(Send(*Node(kHonestUri), {request, ChunkMessage(MakeReport(parameters_, kHonest).coded_bits)}).ok());
}

// An aggregator of a newer version says more; one of an older version leaves out what is optional.
class OtherVersion final : public v1::NodeService::Service {
 public:
  grpc::Status GetRounds(grpc::ServerContext*, const v1::GetRoundsRequest*, v1::GetRoundsResponse* response) override {
    if (newer) {
      v1::NodeRound* const round = response->add_rounds();
      round->set_round_id(testing::kRoundId);
      *round->mutable_parameters() = ParametersToProto(MakeParameters(kNodes));
      round->set_roster_version(1);
      round->set_state(v1::ROUND_STATE_OPEN);
      round->set_deadline_ms(1'800'000'060'000);
      round->GetReflection()->MutableUnknownFields(round)->AddLengthDelimited(1000, "a field of tomorrow");
      response->GetReflection()->MutableUnknownFields(response)->AddVarint(1000, 7);
    }
    return grpc::Status::OK;
  }
  bool newer = false;
};

TEST(OlderNode, UnderstandsAggregatorsOfOtherMinorVersions) {
  OtherVersion service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  KitConfig kit;
  kit.deployment = "demo";
  kit.node_count = kNodes;
  kit.roster_version = 1;
  kit.insecure = true;
  kit.aggregator = absl::StrCat("127.0.0.1:", port);
  const auto link = GrpcLink::Create(kit);
  ASSERT_TRUE(link.ok());
  const auto empty = (*link)->GetRounds(0, "");
  ASSERT_TRUE(empty.value.ok()) << empty.value.status();
  EXPECT_FALSE(empty.retry.has_value()) << "the node's own times hold";
  service.newer = true;
  const auto rounds = (*link)->GetRounds(0, "");
  ASSERT_TRUE(rounds.value.ok()) << rounds.value.status();
  ASSERT_EQ(rounds.value->size(), 1u);
  EXPECT_TRUE((*rounds.value)[0].view.ok()) << (*rounds.value)[0].view.status();
  server->Shutdown();
}

// ---- Networks

TEST_F(HostileNode, AConnectionThatBreaksAnywhereLosesNothing) {
  TcpProxy proxy(aggregator_->port());
  const Digest digest = MakeReport(parameters_, kHonest).digest;
  int broken = 0;
  // A handshake takes some 3,500 bytes of both directions, the call some hundreds.
  for (uint64_t bytes = 0; bytes < 6'000; bytes += kSanitized ? 487 : 97) {
    proxy.CutNextAfter(bytes);
    const auto link = Link(proxy.address(), kHonest, 20'000);
    auto reply = link->SubmitReport(round_id_, Outgoing(kHonest));
    if (!reply.value.ok()) {
      ++broken;
      EXPECT_TRUE(IsRetryable(reply.value.status())) << bytes << ": " << reply.value.status();
      proxy.CutNextAfter(TcpProxy::kAll);
      reply = link->SubmitReport(round_id_, Outgoing(kHonest));
    }
    ASSERT_TRUE(reply.value.ok()) << bytes << ": " << reply.value.status();
    EXPECT_EQ(reply.value->digest, digest);
  }
  EXPECT_GT(broken, kSanitized ? 3 : 15);
  EXPECT_EQ(Reports(), 1);
}

TEST_F(HostileNode, AConnectionThatWasForgottenIsGivenUpAndTheReportSentAgain) {
  TcpProxy proxy(aggregator_->port());
  const auto link = Link(proxy.address());
  ASSERT_TRUE(link->GetRounds(kHonest, "").value.ok());
  proxy.ForgetConnections();
  // Keepalive (here 0.3 s, else kKeepaliveMs) finds out: the call does not last until its deadline.
  const auto lost = link->SubmitReport(round_id_, Outgoing(kHonest));
  EXPECT_EQ(lost.value.status().code(), absl::StatusCode::kUnavailable) << lost.value.status();
  const auto again = link->SubmitReport(round_id_, Outgoing(kHonest));
  EXPECT_TRUE(again.value.ok()) << again.value.status();
  EXPECT_EQ(Reports(), 1);
}

TEST_F(HostileNode, ACallThatReachesItsDeadlineIsRepeatedOnANewConnection) {
  TcpProxy proxy(aggregator_->port());
  const KitConfig kit = KitOf(proxy.address());
  const auto credentials = *MakeClientCredentials({kit.certificate_path(), kit.key_path(), kit.ca_path()}, "demo");
  const auto connect = [&] { return MakeChannel(kit.aggregator, credentials); };
  GrpcLink link(connect(), kit, {.call_deadline = absl::Milliseconds(500)}, connect);
  while (!link.GetRounds(kHonest, "").value.ok()) {
  }
  proxy.ForgetConnections();
  const auto lost = link.GetRounds(kHonest, "");
  EXPECT_EQ(lost.value.status().code(), absl::StatusCode::kDeadlineExceeded) << lost.value.status();
  EXPECT_THAT(std::string(lost.value.status().message()), HasSubstr(proxy.address()));
  EXPECT_TRUE(Eventually([&] { return link.GetRounds(kHonest, "").value.ok(); })) << "on a new connection";
}

}  // namespace
}  // namespace blink
