// Which cause DiagnoseHandshake and DiagnosePlaintext name. The peers are sockets that say what a test tells them to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/base/durable_file.h"
#include "common/pki/pki.h"
#include "common/rpc/credentials.h"

namespace blink {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Listens on a port of this machine, and plays `play` to the first who connects.
class Peer {
 public:
  explicit Peer(std::function<void(int)> play) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&place), sizeof(place)), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof(place);
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size);
    address_ = absl::StrCat("127.0.0.1:", ntohs(place.sin_port));
    thread_ = std::thread([this, play = std::move(play)] {
      const int fd = ::accept(listener_, nullptr, nullptr);
      play(fd);
      ::close(fd);
    });
  }
  ~Peer() {
    thread_.join();
    ::close(listener_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  const std::string& address() const { return address_; }

 private:
  int listener_ = -1;
  std::string address_;
  std::thread thread_;
};

// Reads what the client says first, so that closing does not reset the connection.
void Listen(int fd) {
  char hello[4096];
  EXPECT_GT(::recv(fd, hello, sizeof(hello), 0), 0);
}

void WaitUntilTheClientLeaves(int fd) {
  char rest[4096];
  while (::recv(fd, rest, sizeof(rest), 0) > 0) {
  }
}

void Answer(int fd, const std::string& bytes) {
  Listen(fd);
  ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::shutdown(fd, SHUT_WR);
  WaitUntilTheClientLeaves(fd);
}

// A record that ends a handshake: RFC 8446, section 6.
std::string FatalAlert(uint8_t description) {
  std::string record("\x15\x03\x03\x00\x02\x02", 6);
  record.push_back(static_cast<char>(description));
  return record;
}

class DiagnosisTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/diagnosis-", ::getpid(), "-",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    authority_ = CreateAuthority("ours", absl::Hours(24)).value();
    node_ = Issue("node", {.uri_san = "blink://demo/node/3"});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TlsFiles Issue(const std::string& name, const CertificateOptions& options) {
    const TlsFiles files = {absl::StrCat(folder_, "/", name, ".crt"), absl::StrCat(folder_, "/", name, ".key"),
                            absl::StrCat(folder_, "/", name, ".ca")};
    const std::string key = GenerateKey().value();
    EXPECT_TRUE(WriteFileAtomically(files.key, key).ok());
    EXPECT_TRUE(
        WriteFileAtomically(files.certificate, SignRequest(authority_, MakeRequest(key, name).value(), options).value())
            .ok());
    EXPECT_TRUE(WriteFileAtomically(files.ca, authority_.certificate).ok());
    return files;
  }
  // What the node says of a server that answers its first words with `bytes`.
  std::string DiagnoseAnswer(const std::string& bytes) {
    const Peer peer([&](int fd) { Answer(fd, bytes); });
    return DiagnoseHandshake(node_, peer.address());
  }
  static std::string DiagnosePlainAnswer(const std::string& bytes) {
    const Peer peer([&](int fd) { Answer(fd, bytes); });
    return DiagnosePlaintext(peer.address());
  }

  std::string folder_;
  CertificateAuthority authority_;
  TlsFiles node_;
};

TEST_F(DiagnosisTest, SaysWhyAProxyDoesNotConnect) {
  const auto ask = [&](const std::string& answer) {
    const Peer proxy([&](int fd) { Answer(fd, answer); });
    return DiagnoseHandshake(node_, "aggregator.invalid:7443", proxy.address());
  };
  EXPECT_THAT(ask("HTTP/1.1 403 Forbidden\r\n\r\n"),
              HasSubstr("does not connect to aggregator.invalid:7443: HTTP/1.1 403 Forbidden"));
  EXPECT_THAT(ask("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n"),
              HasSubstr("it wants http://USER:PASSWORD@HOST:PORT"));
  EXPECT_THAT(ask("SSH-2.0-server\r\n\r\n"), HasSubstr("is it a proxy for HTTP CONNECT?"));
  EXPECT_THAT(ask(""), HasSubstr("says nothing"));
  EXPECT_THAT(ask("HTTP/1.1 500 \x1b[2J" + std::string(20'000, 'x')), Not(HasSubstr("\x1b")));
  EXPECT_THAT(DiagnoseHandshake(node_, "aggregator.invalid:7443", "http://127.0.0.1:1"),
              HasSubstr("the proxy at 127.0.0.1:1 is not reached: nothing listens"));
  EXPECT_THAT(DiagnoseHandshake(node_, "aggregator.invalid:7443", "https://127.0.0.1:1"), HasSubstr("http://"));
}

TEST_F(DiagnosisTest, BehindAProxyItSpeaksToTheAggregatorAsBefore) {
  const Peer proxy([&](int fd) {
    Listen(fd);
    const std::string connected = "HTTP/1.1 200 Connection established\r\n\r\n";
    ::send(fd, connected.data(), connected.size(), MSG_NOSIGNAL);
    Answer(fd, FatalAlert(48));
  });
  EXPECT_THAT(DiagnoseHandshake(node_, "aggregator.invalid:7443", proxy.address()),
              HasSubstr("the server at aggregator.invalid:7443 does not know the authority"));
}

TEST_F(DiagnosisTest, NamesTheCauseOfEveryAlertAboutOurCertificate) {
  EXPECT_THAT(DiagnoseAnswer(FatalAlert(48)), HasSubstr("does not know the authority that signed our certificate"));
  EXPECT_THAT(DiagnoseAnswer(FatalAlert(45)), HasSubstr("holds our certificate for expired: do the clocks agree?"));
  for (const uint8_t alert : {42, 43, 44, 46, 51}) {
    EXPECT_THAT(DiagnoseAnswer(FatalAlert(alert)),
                AllOf(HasSubstr("refuses our certificate ("), HasSubstr("Its log names the cause")))
        << int{alert};
  }
}

TEST_F(DiagnosisTest, TellsAnOldTlsAndAnotherProgramApart) {
  EXPECT_THAT(DiagnoseAnswer(FatalAlert(70)), HasSubstr("speaks a TLS that is too old: 1.2 is the least"));
  EXPECT_THAT(DiagnoseAnswer("HTTP/1.1 400 Bad Request\r\n\r\n"), HasSubstr("does not speak TLS"));
  const std::string failure = DiagnoseAnswer(FatalAlert(40));  // handshake_failure
  EXPECT_THAT(failure, AllOf(HasSubstr("the TLS handshake with "), HasSubstr("handshake failure")));
}

TEST_F(DiagnosisTest, APeerThatHangsUpInTheHandshakeIsNamed) {
  // The header of a record that does not come.
  EXPECT_THAT(DiagnoseAnswer(std::string("\x16\x03\x03\x00\x50", 5)),
              HasSubstr("hangs up in the handshake: is it an aggregator"));
}

// As a balancer does that has nobody to hand the connection to.
TEST_F(DiagnosisTest, APeerThatClosesEveryConnectionIsNamedWithWhatToLookAt) {
  const auto is_told = [](const std::string& address) {
    return AllOf(HasSubstr(absl::StrCat("the server at ", address, " accepts connections and closes them")),
                 HasSubstr("a balancer does so whose aggregators are all down"), HasSubstr("--check-health"));
  };
  const Peer quiet([](int fd) {
    Listen(fd);
    ::shutdown(fd, SHUT_WR);
    WaitUntilTheClientLeaves(fd);
  });
  EXPECT_THAT(DiagnoseHandshake(node_, quiet.address()), is_told(quiet.address()));
  const Peer at_once([](int) {});
  EXPECT_THAT(DiagnoseHandshake(node_, at_once.address()), is_told(at_once.address()));
  const Peer plain([](int) {});
  EXPECT_THAT(DiagnosePlaintext(plain.address()), AllOf(is_told(plain.address()), HasSubstr("it wants TLS")));
  const Peer rude([](int fd) {
    Listen(fd);
    const linger reset = {.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  });
  EXPECT_THAT(DiagnoseHandshake(node_, rude.address()), is_told(rude.address()));
}

TEST_F(DiagnosisTest, AServerThatHangsUpAfterItSawOurCertificateIsTold) {
  const TlsFiles server = Issue("server", {.uri_san = "blink://demo/aggregator", .server = true});
  const Peer peer([&](int fd) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    SSL_CTX_use_certificate_chain_file(context.get(), server.certificate.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), server.key.c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_set_num_tickets(context.get(), 0);  // the client takes nothing for an answer
    const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(context.get()), SSL_free);
    SSL_set_fd(ssl.get(), fd);
    EXPECT_EQ(SSL_accept(ssl.get()), 1);
    ::shutdown(fd, SHUT_WR);
    WaitUntilTheClientLeaves(fd);
  });
  EXPECT_THAT(DiagnoseHandshake(node_, peer.address()), HasSubstr("hangs up as soon as it has seen our certificate"));
}

TEST_F(DiagnosisTest, AServerThatSaysNothingIsWaitedForShortly) {
  const Peer silent(WaitUntilTheClientLeaves), silent_without_tls(WaitUntilTheClientLeaves);
  std::string with_tls;
  std::thread other([&] { with_tls = DiagnoseHandshake(node_, silent.address()); });
  EXPECT_THAT(DiagnosePlaintext(silent_without_tls.address()), HasSubstr("accepts connections and then says nothing"));
  other.join();
  EXPECT_THAT(with_tls, HasSubstr("accepts connections and then says nothing for 2 s: is it overloaded"));
}

TEST_F(DiagnosisTest, APlaintextServerIsKnownByItsFirstFrame) {
  const std::string settings("\0\0\0\4\0\0\0\0\0", 9), ping("\0\0\0\6\0\0\0\0\0", 9);
  EXPECT_EQ(DiagnosePlainAnswer(settings), "");
  for (const std::string& other : {ping, settings.substr(0, 8), FatalAlert(80)}) {
    EXPECT_THAT(DiagnosePlainAnswer(other), HasSubstr("does not take plaintext: it wants TLS"));
  }
}

}  // namespace
}  // namespace blink
