// A real server in process, with real certificates, and everybody who must not get in.
#include "common/rpc/credentials.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "blink/v1/node.grpc.pb.h"
#include "common/base/durable_file.h"
#include "common/pki/pki.h"
#include "common/rpc/retry_trailer.h"
#include "common/rpc/server_tls.h"
#include "common/rpc/status.h"
#include "tests/testing/log_capture.h"
#include "tests/testing/server_credentials.h"

namespace blink {
namespace {

using ::testing::HasSubstr;

constexpr char kAggregator[] = "blink://demo/aggregator";
constexpr char kNode[] = "blink://demo/node/3";

// Answers with the identity of the caller, in the place of a round id.
class WhoAmI final : public v1::NodeService::Service {
 public:
  grpc::Status GetRounds(grpc::ServerContext* context, const v1::GetRoundsRequest*,
                         v1::GetRoundsResponse* response) override {
    const absl::StatusOr<Identity> peer = PeerIdentity(*context);
    if (!peer.ok()) {
      SetTrailingWindow(*context, {absl::Seconds(3), absl::Seconds(9)});
      return ToGrpcStatus(peer.status());
    }
    response->add_rounds()->set_round_id(peer->ToUri());
    return grpc::Status::OK;
  }
};

class Credentials : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/credentials-", ::getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    ours_ = CreateAuthority("ours", absl::Hours(24)).value();
    theirs_ = CreateAuthority("theirs", absl::Hours(24)).value();
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Shutdown();
    std::filesystem::remove_all(folder_);
  }

  TlsFiles Files(const std::string& name, const CertificateAuthority& trusted, const std::string& key,
                 const std::string& certificate) {
    const TlsFiles files = {absl::StrCat(folder_, "/", name, ".crt"), absl::StrCat(folder_, "/", name, ".key"),
                            absl::StrCat(folder_, "/", name, ".ca")};
    EXPECT_TRUE(WriteFileAtomically(files.certificate, certificate).ok());
    EXPECT_TRUE(WriteFileAtomically(files.key, key).ok());
    EXPECT_TRUE(WriteFileAtomically(files.ca, trusted.certificate).ok());
    return files;
  }
  TlsFiles Issue(const std::string& name, const CertificateAuthority& issuer, const CertificateAuthority& trusted,
                 const CertificateOptions& options) {
    const std::string key = GenerateKey().value();
    return Files(name, trusted, key, SignRequest(issuer, MakeRequest(key, name).value(), options).value());
  }
  TlsFiles Node() { return Issue("node", ours_, ours_, {.uri_san = kNode}); }

  void Serve(const TlsFiles& files) {
    grpc::ServerBuilder builder;
    AllowKeepalive(builder);
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", testing::MakeServerCredentials(files).value(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  void ServeAggregator() { Serve(Issue("server", ours_, ours_, {.uri_san = kAggregator, .server = true})); }

  absl::StatusOr<std::string> Ask(std::shared_ptr<grpc::ChannelCredentials> credentials) {
    auto stub = v1::NodeService::NewStub(MakeChannel(address_, std::move(credentials)));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::GetRoundsResponse response;
    const grpc::Status status = stub->GetRounds(&context, v1::GetRoundsRequest(), &response);
    window_ = ReadTrailingWindow(context);
    if (!status.ok()) return FromGrpcStatus(status);
    return response.rounds(0).round_id();
  }
  absl::StatusOr<std::string> AskWith(const TlsFiles& files, const std::string& deployment = "demo") {
    const auto credentials = MakeClientCredentials(files, deployment);
    if (!credentials.ok()) return credentials.status();
    return Ask(*credentials);
  }
  void ExpectUnavailable(const TlsFiles& files, const std::string& diagnosis) {
    EXPECT_EQ(AskWith(files).status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(DiagnoseHandshake(files, address_), HasSubstr(diagnosis));
  }

  std::string folder_, address_;
  CertificateAuthority ours_, theirs_;
  WhoAmI service_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<RetryWindow> window_;
};

// A certificate with several URIs, as only another program could make it.
std::string WithTwoUris(const CertificateAuthority& authority, const std::string& certificate) {
  auto bio = [](const std::string& text) { return BIO_new_mem_buf(text.data(), static_cast<int>(text.size())); };
  BIO* in = bio(certificate);
  X509* x509 = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
  BIO_free(in);
  in = bio(authority.key);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(in, nullptr, nullptr, nullptr);
  BIO_free(in);
  X509_EXTENSION_free(X509_delete_ext(x509, X509_get_ext_by_NID(x509, NID_subject_alt_name, -1)));
  X509_EXTENSION* names =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "URI:blink://demo/node/3,URI:blink://demo/node/4");
  X509_add_ext(x509, names, -1);
  X509_EXTENSION_free(names);
  X509_sign(x509, key, EVP_sha256());
  BIO* out = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(out, x509);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  const std::string pem(data, size);
  BIO_free(out);
  X509_free(x509);
  EVP_PKEY_free(key);
  return pem;
}

TEST_F(Credentials, TheServerLearnsTheIdentityFromTheCertificate) {
  ServeAggregator();
  const absl::StatusOr<std::string> answer = AskWith(Node());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(*answer, kNode);
  EXPECT_EQ(DiagnoseHandshake(Node(), address_), "");
}

TEST_F(Credentials, AProxyInTheEnvironmentChangesNothing) {
  ServeAggregator();
  for (const char* name : {"http_proxy", "https_proxy", "grpc_proxy"}) ::setenv(name, "http://127.0.0.1:1", 1);
  const absl::StatusOr<std::string> answer = AskWith(Node());
  for (const char* name : {"http_proxy", "https_proxy", "grpc_proxy"}) ::unsetenv(name);
  EXPECT_TRUE(answer.ok()) << answer.status();
}

TEST_F(Credentials, AClientOfAnotherAuthorityIsRefused) {
  ServeAggregator();
  ExpectUnavailable(Issue("foreign", theirs_, ours_, {.uri_san = kNode}), "was not issued by the authority");
}

TEST_F(Credentials, AClientWhoTrustsAnotherAuthorityRefusesTheServer) {
  ServeAggregator();
  ExpectUnavailable(Issue("foreign", theirs_, theirs_, {.uri_san = kNode}), "does not verify against our CA");
}

TEST_F(Credentials, AServerOfAnotherDeploymentIsRefused) {
  Serve(Issue("server", ours_, ours_, {.uri_san = "blink://other/aggregator", .server = true}));
  ExpectUnavailable(Node(), "is blink://other/aggregator, not blink://demo/aggregator");
}

TEST_F(Credentials, ANodesCertificateDoesNotMakeAServer) {
  Serve(Issue("server", ours_, ours_, {.uri_san = kNode, .server = true}));
  ExpectUnavailable(Node(), "is blink://demo/node/3, not blink://demo/aggregator");
}

TEST_F(Credentials, ACertificateForClientsDoesNotMakeAServerEvenWithTheRightName) {
  Serve(Issue("server", ours_, ours_, {.uri_san = kAggregator, .server = false}));
  ExpectUnavailable(Node(), "does not verify against our CA");
}

TEST_F(Credentials, AClientWithTwoNamesIsNobody) {
  ServeAggregator();
  TlsFiles files = Node();
  const std::string certificate = WithTwoUris(ours_, ReadFile(files.certificate, 1 << 20).value());
  ASSERT_TRUE(WriteFileAtomically(files.certificate, certificate).ok());
  const absl::Status status = AskWith(files).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("exactly one URI"));
  ASSERT_TRUE(window_.has_value());  // refusals carry their retry window
  EXPECT_EQ(window_->min, absl::Seconds(3));
  EXPECT_EQ(window_->max, absl::Seconds(9));
}

TEST_F(Credentials, AnExpiredCertificateIsRefusedBeforeAnythingIsSent) {
  const TlsFiles files =
      Issue("expired", ours_, ours_,
            {.uri_san = kNode, .valid_for = absl::Hours(1), .valid_from = absl::Now() - absl::Hours(48)});
  const absl::Status status = MakeClientCredentials(files, "demo").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("expired on"));
  EXPECT_THAT(DiagnoseHandshake(files, "127.0.0.1:1"), HasSubstr("expired on"));
  EXPECT_EQ(testing::MakeServerCredentials(files).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(Credentials, ACertificateOfTomorrowIsRefusedWithBothDates) {
  const TlsFiles files = Issue("early", ours_, ours_, {.uri_san = kNode, .valid_from = absl::Now() + absl::Hours(24)});
  EXPECT_THAT(std::string(MakeClientCredentials(files, "demo").status().message()), HasSubstr("set the clock"));
}

TEST_F(Credentials, TheServerItselfRefusesAnExpiredClient) {
  ServeAggregator();
  const TlsFiles files =
      Issue("expired", ours_, ours_,
            {.uri_san = kNode, .valid_for = absl::Hours(1), .valid_from = absl::Now() - absl::Hours(48)});
  // A client that does not check itself: gRPC's own credentials.
  const grpc::SslCredentialsOptions plain = {ReadFile(files.ca, 1 << 20).value(), ReadFile(files.key, 1 << 20).value(),
                                             ReadFile(files.certificate, 1 << 20).value()};
  EXPECT_EQ(Ask(grpc::SslCredentials(plain)).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Credentials, AClientWithoutACertificateIsRefused) {
  ServeAggregator();
  EXPECT_EQ(Ask(grpc::SslCredentials({.pem_root_certs = ours_.certificate})).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(Credentials, APlaintextClientIsRefused) {
  ServeAggregator();
  EXPECT_EQ(Ask(grpc::InsecureChannelCredentials()).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(Credentials, APlaintextServerIsDiagnosed) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
  ExpectUnavailable(Node(), "does not speak TLS");
  // On plaintext nobody has an identity.
  EXPECT_EQ(Ask(grpc::InsecureChannelCredentials()).status().code(), absl::StatusCode::kUnauthenticated);
}

// A socket that has a port of this machine, and the address of it.
int BindSocket(std::string& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&place), sizeof(place)), 0);
  socklen_t size = sizeof(place);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&place), &size);
  address = absl::StrCat("127.0.0.1:", ntohs(place.sin_port));
  return fd;
}

TEST_F(Credentials, NobodyListeningIsDiagnosed) {
  // A socket that is bound but does not listen keeps the port, and refuses.
  const int fd = BindSocket(address_);
  ExpectUnavailable(Node(), "nothing listens at");
  ::close(fd);
}

TEST_F(Credentials, APeerThatHangsUpInMidHandshakeIsDiagnosedAndEndsNobody) {
  std::string address;
  const int listener = BindSocket(address);
  ASSERT_EQ(::listen(listener, 8), 0);
  std::thread rude([&] {
    const int peer = ::accept(listener, nullptr, nullptr);
    const linger reset = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    ::close(peer);
  });
  DiagnoseHandshake(Node(), address);  // whatever it says, we are still here
  rude.join();
  ::close(listener);
}

TEST_F(Credentials, AServerThatSendsAByteNowAndThenIsGivenUp) {
  std::string address;
  const int listener = BindSocket(address);
  ASSERT_EQ(::listen(listener, 8), 0);
  std::thread slow([&] {
    const int peer = ::accept(listener, nullptr, nullptr);
    ::send(peer, "\x16\x03\x03\x3f\xff", 5, MSG_NOSIGNAL);  // a long record, of which little comes
    for (int i = 0; i < 200 && ::send(peer, "\x02", 1, MSG_NOSIGNAL) == 1; ++i) absl::SleepFor(absl::Milliseconds(100));
    ::close(peer);
  });
  const absl::Time began = absl::Now();
  EXPECT_THAT(DiagnoseHandshake(Node(), address), HasSubstr("says nothing"));
  EXPECT_LT(absl::Now() - began, absl::Seconds(15));
  slow.join();
  ::close(listener);
}

TEST_F(Credentials, AnAggregatorsCertificateThatNoNodeAcceptsIsRefusedByTheFileAndTheNodesReason) {
  const auto refusal = [&](const TlsFiles& files) { return ServerTls::Check(files, "demo"); };
  const TlsFiles nodes = Issue("server", ours_, ours_, {.uri_san = kNode, .server = true});
  EXPECT_EQ(refusal(nodes).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refusal(nodes).message()), HasSubstr(nodes.certificate));
  EXPECT_THAT(std::string(refusal(nodes).message()), HasSubstr("is blink://demo/node/3, not blink://demo/aggregator"));
  EXPECT_THAT(std::string(refusal(Issue("client", ours_, ours_, {.uri_san = kAggregator})).message()),
              HasSubstr("it is not one for servers"));
  EXPECT_THAT(
      std::string(refusal(Issue("foreign", theirs_, ours_, {.uri_san = kAggregator, .server = true})).message()),
      HasSubstr("does not verify against our CA"));
  EXPECT_THAT(std::string(refusal(Issue("old", ours_, ours_,
                                        {.uri_san = kAggregator,
                                         .server = true,
                                         .valid_for = absl::Hours(1),
                                         .valid_from = absl::Now() - absl::Hours(2)}))
                              .message()),
              HasSubstr("expired on"));
  EXPECT_TRUE(refusal(Issue("good", ours_, ours_, {.uri_san = kAggregator, .server = true})).ok());
}

TEST_F(Credentials, AServerTakesOtherFilesWhileItServesAndKeepsWhatItHasWhenTheyAreBad) {
  const TlsFiles files = Issue("server", ours_, ours_, {.uri_san = kAggregator, .server = true});
  const std::unique_ptr<ServerTls> tls = *ServerTls::Load(files, "demo");
  grpc::ServerBuilder builder;
  AllowKeepalive(builder);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", tls->credentials(), &port);
  builder.RegisterService(&service_);
  server_ = builder.BuildAndStart();
  address_ = absl::StrCat("127.0.0.1:", port);
  const TlsFiles node = Node(), next_node = Issue("next", theirs_, theirs_, {.uri_san = kNode});
  ASSERT_TRUE(AskWith(node).ok());
  ASSERT_FALSE(AskWith(next_node).ok());
  LogCapture log;
  tls->Look(false);
  EXPECT_EQ(log.Take().find("certificate is"), std::string::npos) << "nothing has changed";

  Issue("server", ours_, ours_, {.uri_san = kNode, .server = true});  // into the same files
  tls->Look(false);
  tls->Look(false);
  const std::string refused = log.Take();
  EXPECT_THAT(refused, HasSubstr("the certificate is not replaced"));
  EXPECT_THAT(refused, HasSubstr("is blink://demo/node/3, not blink://demo/aggregator"));
  EXPECT_EQ(refused.find("is not replaced"), refused.rfind("is not replaced")) << "once";
  absl::SleepFor(absl::Milliseconds(1500));
  EXPECT_TRUE(AskWith(node).ok());

  Issue("server", theirs_, theirs_, {.uri_san = kAggregator, .server = true});
  tls->Look(false);
  EXPECT_THAT(log.Take(), HasSubstr("is in use for new connections"));
  bool taken = false;
  for (int i = 0; i < 100 && !taken; ++i) {
    absl::SleepFor(absl::Milliseconds(100));
    taken = AskWith(next_node).ok();
  }
  EXPECT_TRUE(taken);
  EXPECT_FALSE(AskWith(node).ok());
  server_->Shutdown();
  server_ = nullptr;
}

TEST_F(Credentials, AnUnknownHostNameIsDiagnosed) {
  EXPECT_THAT(DiagnoseHandshake(Node(), "no-such-host.invalid:7443"), HasSubstr("is not known here"));
  EXPECT_THAT(DiagnoseHandshake(Node(), "nonsense"), HasSubstr("is not HOST:PORT"));
}

TEST_F(Credentials, FilesThatDoNotFitAreNamed) {
  TlsFiles files = Node();
  const TlsFiles other = Issue("other", ours_, ours_, {.uri_san = kNode});
  const absl::Status mismatch = CheckTlsFiles({files.certificate, other.key, files.ca});
  EXPECT_EQ(mismatch.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(mismatch.message()), HasSubstr(other.key));
  EXPECT_EQ(CheckTlsFiles({folder_ + "/none", files.key, files.ca}).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(files.ca, "garbage").ok());
  const absl::Status garbage = CheckTlsFiles(files);
  EXPECT_EQ(garbage.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(garbage.message()), HasSubstr(files.ca));
}

TEST_F(Credentials, ADeploymentThatCannotBeNamedIsRefused) {
  EXPECT_EQ(MakeClientCredentials(Node(), "De mo").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ServerNameOfClients, IsOfTheDeploymentWhereItCanBeADnsName) {
  EXPECT_EQ(ServerName("demo"), "demo.blink.internal");
  for (const std::string& none : {std::string(), std::string("demo-"), std::string("-demo"), std::string(64, 'd')}) {
    EXPECT_EQ(ServerName(none), "") << none;
  }
}

TEST(RequireLoopback, AllowsLoopbackOnly) {
  for (const char* address : {"127.0.0.1:7443", "[::1]:7443", "localhost:0", "[0:0::1]:7443", "127.8.0.1:7443"})
    EXPECT_TRUE(RequireLoopback(address).ok());
  for (const char* address : {"0.0.0.0:7443", "10.0.0.1:7443", "[::]:7443", "example.org:7443",
                              "127.0.0.1.example.org:1", "localhost.example.org:1", ":7443"}) {
    EXPECT_EQ(RequireLoopback(address).code(), absl::StatusCode::kFailedPrecondition) << address;
  }
  for (const char* address :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "::1:7443", "127.0.0:1", "unix:/run/blink"}) {
    EXPECT_EQ(RequireLoopback(address).code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

}  // namespace
}  // namespace blink
