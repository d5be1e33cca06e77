// An HttpServer with TLS, with streams of events, and with a handler that takes long.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "aggregator_server/http/http_server.h"
#include "common/pki/pki.h"
#include "tests/testing/aggregator_fixtures.h"

namespace blink {
namespace {

using ::testing::EndsWith;
using testing::Eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct KeyPair {
  std::string certificate, key;
};

KeyPair MakePair(const CertificateAuthority& authority, const CertificateOptions& options) {
  const std::string key = *GenerateKey();
  return {*SignRequest(authority, *MakeRequest(key, "test"), options), key};
}

// A client that believes every server, and reads and writes one connection.
class TlsPeer {
 public:
  TlsPeer(int port, const KeyPair* pair, int newest = TLS1_3_VERSION) : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_max_proto_version(context_, newest);
    if (pair != nullptr) {
      BIO* const certificate = BIO_new_mem_buf(pair->certificate.data(), -1);
      X509* const x509 = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
      BIO* const key = BIO_new_mem_buf(pair->key.data(), -1);
      EVP_PKEY* const pkey = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
      SSL_CTX_use_certificate(context_, x509);
      SSL_CTX_use_PrivateKey(context_, pkey);
      X509_free(x509);
      EVP_PKEY_free(pkey);
      BIO_free(certificate);
      BIO_free(key);
    }
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    const timeval patience{30, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, fd_);
    connected_ = SSL_connect(ssl_) == 1;
  }
  ~TlsPeer() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
    ::close(fd_);
  }
  bool connected() const { return connected_; }
  void Send(const std::string& text) { SSL_write(ssl_, text.data(), static_cast<int>(text.size())); }
  // What comes until `end` is in it, or the server closes.
  std::string ReadTo(const std::string& end) {
    std::string text;
    char buffer[4096];
    while (end.empty() || text.find(end) == std::string::npos) {
      const int got = SSL_read(ssl_, buffer, sizeof(buffer));
      if (got <= 0) break;
      text.append(buffer, static_cast<size_t>(got));
    }
    return text;
  }
  std::string Ask(const std::string& path) {
    if (!connected_) return "";
    Send(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n"));
    return ReadTo("");
  }

 private:
  SSL_CTX* const context_;
  SSL* ssl_ = nullptr;
  int fd_ = -1;
  bool connected_ = false;
};

// Tells each number that it is given, the latest only.
class Numbers final : public HttpStream {
 public:
  void Begin(std::function<void()> wake, std::function<void()> end) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    wake_ = std::move(wake);
    end_ = std::move(end);
  }
  std::string Take() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++taken_;
    return std::exchange(text_, "");
  }
  void Tell(const std::string& text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    text_ = text;
    if (wake_) wake_();
  }
  void End() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (end_) end_();
  }
  bool begun() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return wake_ != nullptr;
  }
  int taken() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return taken_;
  }

 private:
  std::mutex mutex_;
  std::function<void()> wake_, end_;
  std::string text_;
  int taken_ = 0;
};

class HttpTlsTest : public ::testing::Test {
 protected:
  void Start(HttpLimits limits = {}, bool slow_handler = false) {
    auto server = HttpServer::Listen("127.0.0.1:0", {.limits = limits,
                                                     .tls =
                                                         [this] {
                                                           const std::lock_guard<std::mutex> lock(mutex_);
                                                           return texts_;
                                                         },
                                                     .slow_handler = slow_handler});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->Start([this](const HttpRequest& request) {
      if (request.path == "/numbers") {
        const std::lock_guard<std::mutex> lock(mutex_);
        streams_.push_back(std::make_shared<Numbers>());
        return HttpResponse{.type = "text/event-stream", .stream = streams_.back()};
      }
      if (request.path == "/wait") {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [this] { return go_on_; });
      }
      return HttpResponse{.body = request.certificate};
    });
  }
  void TearDown() override {
    GoOn();
    server_ = nullptr;
  }
  void GoOn() {
    const std::lock_guard<std::mutex> lock(mutex_);
    go_on_ = true;
    wake_.notify_all();
  }
  TlsPeer Peer(const KeyPair* pair, int newest = TLS1_3_VERSION) { return {server_->port(), pair, newest}; }
  std::unique_ptr<TlsPeer> Follow() {
    auto peer = std::make_unique<TlsPeer>(server_->port(), &client_);
    peer->Send("GET /numbers HTTP/1.1\r\nHost: x\r\n\r\n");
    return peer;
  }
  std::shared_ptr<Numbers> Stream(size_t k) {
    const auto is_there = [&] {
      const std::lock_guard<std::mutex> lock(mutex_);
      return streams_.size() > k && streams_[k]->begun();
    };
    EXPECT_TRUE(Eventually(is_there));
    const std::lock_guard<std::mutex> lock(mutex_);
    return streams_[k];
  }
  std::shared_ptr<const TlsTexts> Texts() {
    const KeyPair pair = MakePair(authority_, {.uri_san = "blink://demo/aggregator", .server = true});
    return std::make_shared<const TlsTexts>(TlsTexts{pair.certificate, pair.key, authority_.certificate});
  }

  const CertificateAuthority authority_ = CreateAuthority("the authority", absl::Hours(24)).value();
  const KeyPair client_ = MakePair(authority_, {.uri_san = "blink://demo/operator/ann"});
  std::mutex mutex_;
  std::condition_variable wake_;
  bool go_on_ = false;
  std::shared_ptr<const TlsTexts> texts_ = Texts();
  std::vector<std::shared_ptr<Numbers>> streams_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpTlsTest, TellsTheHandlerWhoseCertificateItIs) {
  Start();
  const std::string answer = Peer(&client_).Ask("/");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, EndsWith(client_.certificate));
}

TEST_F(HttpTlsTest, RefusesAPeerWithoutACertificate) {
  Start();
  EXPECT_THAT(Peer(nullptr).Ask("/"), IsEmpty());
}

TEST_F(HttpTlsTest, RefusesTheCertificateOfAnotherAuthority) {
  Start();
  const CertificateAuthority other = *CreateAuthority("another", absl::Hours(24));
  const KeyPair pair = MakePair(other, {.uri_san = "blink://demo/operator/ann"});
  EXPECT_THAT(Peer(&pair).Ask("/"), IsEmpty());
}

TEST_F(HttpTlsTest, RefusesAnExpiredCertificate) {
  Start();
  const KeyPair pair = MakePair(authority_, {.uri_san = "blink://demo/operator/ann",
                                             .valid_for = absl::Hours(1),
                                             .valid_from = absl::Now() - absl::Hours(2)});
  EXPECT_THAT(Peer(&pair).Ask("/"), IsEmpty());
}

TEST_F(HttpTlsTest, RefusesTheCertificateOfAServer) {
  Start();
  const KeyPair pair = MakePair(authority_, {.uri_san = "blink://demo/aggregator", .server = true});
  EXPECT_THAT(Peer(&pair).Ask("/"), IsEmpty());
}

TEST_F(HttpTlsTest, RefusesOlderTls) {
  Start();
  EXPECT_FALSE(Peer(&client_, TLS1_2_VERSION).connected());
}

TEST_F(HttpTlsTest, ClosesAConnectionThatSpeaksNoTls) {
  Start();
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(server_->port()));
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string text;
  char buffer[256];
  for (ssize_t got = 0; (got = ::recv(fd, buffer, sizeof(buffer), 0)) > 0;) text.append(buffer, got);
  ::close(fd);
  EXPECT_EQ(text.find("HTTP"), std::string::npos);
}

TEST_F(HttpTlsTest, RefusesOtherMethodsAndLongHeaders) {
  Start();
  TlsPeer post = Peer(&client_);
  post.Send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_THAT(post.ReadTo(""), StartsWith("HTTP/1.1 405 "));
  TlsPeer lengthy = Peer(&client_);
  lengthy.Send(absl::StrCat("GET / HTTP/1.1\r\nHost: x\r\nX: ", std::string(9000, 'x'), "\r\n\r\n"));
  EXPECT_THAT(lengthy.ReadTo(""), StartsWith("HTTP/1.1 431 "));
  TlsPeer twice = Peer(&client_);
  twice.Send("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n");
  EXPECT_THAT(twice.ReadTo(""), StartsWith("HTTP/1.1 400 "));
}

TEST_F(HttpTlsTest, TakesAnotherCertificateForNewConnections) {
  Start();
  EXPECT_THAT(Peer(&client_).Ask("/"), HasSubstr("200 OK"));
  const auto before = texts_;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    texts_ = Texts();
  }
  EXPECT_THAT(Peer(&client_).Ask("/"), HasSubstr("200 OK"));
  const CertificateAuthority other = *CreateAuthority("another", absl::Hours(24));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    texts_ = std::make_shared<const TlsTexts>(TlsTexts{before->certificate, before->key, other.certificate});
  }
  EXPECT_THAT(Peer(&client_).Ask("/"), IsEmpty()) << "its authority is not believed any more";
}

TEST_F(HttpTlsTest, AStreamTellsWhatChanges) {
  Start();
  const auto peer = Follow();
  EXPECT_THAT(peer->ReadTo("\r\n\r\n"), HasSubstr("text/event-stream"));
  for (const char* text : {"data: 1\n\n", "data: 2\n\n"}) {
    Stream(0)->Tell(text);
    EXPECT_EQ(peer->ReadTo("\n\n"), text);
  }
}

TEST_F(HttpTlsTest, AStreamIsAskedNoMoreOftenThanItsGap) {
  Start({.stream_gap = absl::Milliseconds(200)});
  const auto peer = Follow();
  peer->ReadTo("\r\n\r\n");
  const auto begun = std::chrono::steady_clock::now();
  for (int k = 0; k < 50; ++k) {
    Stream(0)->Tell(absl::StrCat("data: ", k, "\n\n"));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(peer->ReadTo("data: 49\n\n"), EndsWith("data: 49\n\n"));
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  EXPECT_LE(Stream(0)->taken(), seconds / 0.2 + 3);
}

TEST_F(HttpTlsTest, AnIdleStreamShowsThatItLives) {
  Start({.stream_idle_max = absl::Milliseconds(100)});
  const auto peer = Follow();
  peer->ReadTo("\r\n\r\n");
  EXPECT_EQ(peer->ReadTo("\n\n"), ":\n\n");
}

TEST_F(HttpTlsTest, AStreamEndsWhenItIsTold) {
  Start();
  const auto peer = Follow();
  peer->ReadTo("\r\n\r\n");
  Stream(0)->End();
  EXPECT_EQ(peer->ReadTo(""), "");
}

TEST_F(HttpTlsTest, AStreamEndsAfterItsTime) {
  Start({.stream_gap = absl::Milliseconds(10),
         .stream_idle_max = absl::Milliseconds(50),
         .stream_time_max = absl::Milliseconds(200)});
  const auto peer = Follow();
  EXPECT_THAT(peer->ReadTo(""), EndsWith(":\n\n"));
}

TEST_F(HttpTlsTest, AStreamGoesAwayWithItsPeer) {
  Start();
  auto peer = Follow();
  std::weak_ptr<Numbers> stream = Stream(0);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.clear();
  }
  EXPECT_FALSE(stream.expired());
  peer = nullptr;
  EXPECT_TRUE(Eventually([&] { return stream.expired(); }));
}

TEST_F(HttpTlsTest, APeerThatDoesNotReadLosesItsStreamAndHoldsUpNobody) {
  Start({.stream_gap = absl::Milliseconds(1), .stream_write_max = absl::Milliseconds(500)});
  const auto deaf = Follow();
  const auto stream = Stream(0);
  const std::string large = absl::StrCat("data: ", std::string(8 << 20, 'x'), "\n\n");
  stream->Tell(large);
  EXPECT_THAT(Peer(&client_).Ask("/"), HasSubstr("200 OK"));
  EXPECT_TRUE(Eventually([&] {
    stream->Tell(large);
    const std::lock_guard<std::mutex> lock(mutex_);
    return streams_[0].use_count() <= 2;  // here and in streams_
  }));
}

TEST_F(HttpTlsTest, RefusesMoreStreamsThanItsLimitAndStillAnswers) {
  Start({.streams_max = 2});
  const auto one = Follow(), two = Follow();
  Stream(1);
  EXPECT_THAT(Follow()->ReadTo(""), StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(Peer(&client_).Ask("/"), HasSubstr("200 OK"));
}

TEST_F(HttpTlsTest, StreamsAreNotClosedForOthers) {
  Start({.connections_max = 2});
  const auto peer = Follow();
  peer->ReadTo("\r\n\r\n");
  for (int k = 0; k < 5; ++k) EXPECT_THAT(Peer(&client_).Ask("/"), HasSubstr("200 OK"));
  Stream(0)->Tell("data: 1\n\n");
  EXPECT_EQ(peer->ReadTo("\n\n"), "data: 1\n\n");
}

TEST_F(HttpTlsTest, ASlowHandlerHoldsUpNoStream) {
  Start({}, /*slow_handler=*/true);
  const auto peer = Follow();
  peer->ReadTo("\r\n\r\n");
  TlsPeer waiting = Peer(&client_);
  waiting.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  Stream(0)->Tell("data: 1\n\n");
  EXPECT_EQ(peer->ReadTo("\n\n"), "data: 1\n\n");
  GoOn();
  EXPECT_THAT(waiting.ReadTo(""), HasSubstr("200 OK"));
}

TEST_F(HttpTlsTest, StopsWhileAHandlerWorksAndStreamsAreOpen) {
  Start({}, /*slow_handler=*/true);
  const auto peer = Follow();
  Stream(0);
  TlsPeer waiting = Peer(&client_);
  waiting.Send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  std::thread later([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    GoOn();
  });
  server_->Stop();
  later.join();
}

}  // namespace
}  // namespace blink
