#include "aggregator_server/http/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/aggregator_fixtures.h"
#include "tests/testing/log_capture.h"

namespace blink {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// One connection of a peer that may do anything.
class Peer {
 public:
  explicit Peer(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Peer() {
    if (fd_ >= 0) ::close(fd_);
  }
  Peer(Peer&& other) noexcept : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}

  bool connected() const { return connected_; }
  bool Send(const std::string& bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t now = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return false;
      sent += now;
    }
    return true;
  }
  // All that comes until the server closes; "(reset)" at its end when it did so without a goodbye.
  std::string ReadToEnd() {
    std::string text;
    char buffer[4096];
    while (true) {
      pollfd waited{fd_, POLLIN, 0};
      if (::poll(&waited, 1, 30'000) <= 0) return text + "(nothing for 30 s)";
      const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
      if (got < 0) return text + "(reset)";
      if (got == 0) return text;
      text.append(buffer, got);
    }
  }
  std::string Ask(const std::string& request) {
    Send(request);
    return ReadToEnd();
  }

 private:
  int fd_;
  bool connected_ = false;
};

size_t CountDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(const HttpLimits& limits = {}) {
    auto server = HttpServer::Listen("127.0.0.1:0", limits);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->Start([this](const HttpRequest& request) {
      const std::string& path = request.path;
      if (path == "/long") return HttpResponse{.body = std::string(64 << 20, 'x')};
      if (path == "/busy") return HttpResponse{.code = 503, .body = "busy\n"};
      if (path != "/page") return HttpResponse{.code = 404, .body = "no such page\n"};
      return HttpResponse{.type = "text/x-page", .body = absl::StrCat("page ", ++pages_, "\n")};
    });
  }
  std::string Ask(const std::string& request) { return Peer(server_->port()).Ask(request); }
  std::string AskFor(const std::string& path) {
    return Ask(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n"));
  }

  std::unique_ptr<HttpServer> server_;
  int pages_ = 0;  // the server's thread
};

TEST_F(HttpServerTest, AnswersAndCloses) {
  Start();
  EXPECT_EQ(AskFor("/page"),
            "HTTP/1.1 200 OK\r\nContent-Type: text/x-page\r\nContent-Length: 7\r\nCache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\npage 1\n");
  EXPECT_THAT(AskFor("/page?x=1&y"), EndsWith("page 2\n")) << "a query changes nothing";
  EXPECT_THAT(Ask("GET /page HTTP/1.0\r\n\r\n"), EndsWith("page 3\n"));
}

TEST_F(HttpServerTest, PassesOnTheCodesOfTheHandler) {
  Start();
  EXPECT_THAT(AskFor("/busy"), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(AskFor("/other"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  Start();
  const std::string answer = Ask("HEAD /page HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_THAT(answer, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, ReadsARequestThatComesByteByByte) {
  Start();
  Peer peer(server_->port());
  for (const char c : std::string("GET /page HTTP/1.1\r\n\r\n")) {
    ASSERT_TRUE(peer.Send(std::string(1, c)));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(peer.ReadToEnd(), EndsWith("page 1\n"));
}

TEST_F(HttpServerTest, RefusesOtherMethods) {
  Start();
  for (const char* const method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "PRI"}) {
    const std::string answer = Ask(absl::StrCat(method, " /page HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n")) << method;
    EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n")) << method;
  }
}

TEST_F(HttpServerTest, RefusesWhatIsNoRequest) {
  Start();
  for (const std::string& request :
       {std::string("\r\n\r\n"), std::string("hello\r\n\r\n"), std::string("GET /page\r\n\r\n"),
        std::string("GET  /page HTTP/1.1\r\n\r\n"), std::string("GET page HTTP/1.1\r\n\r\n"),
        std::string("GET http://x/page HTTP/1.1\r\n\r\n"), std::string("GET /pa\0ge HTTP/1.1\r\n\r\n", 24),
        std::string("GET /pa\x01ge HTTP/1.1\r\n\r\n"), std::string("\x16\x03\x01\x02\x00 /x HTTP/1.1\r\n\r\n", 21)}) {
    EXPECT_THAT(Ask(request), StartsWith("HTTP/1.1 400 Bad Request\r\n")) << request;
  }
  EXPECT_EQ(pages_, 0);
}

TEST_F(HttpServerTest, RefusesOtherVersions) {
  Start();
  for (const char* const version : {"FTP/1.1", "HTTP/2.0", "HTTP/0.9", "HTTP/1.11", "HTTP/"}) {
    EXPECT_THAT(Ask(absl::StrCat("GET /page ", version, "\r\n\r\n")), StartsWith("HTTP/1.1 505 ")) << version;
  }
}

TEST_F(HttpServerTest, RefusesARequestThatIsTooLongAndStillTellsWhy) {
  Start();
  for (const std::string& request : {"GET /" + std::string(100'000, 'a'),
                                     "GET /page HTTP/1.1\r\nCookie: " + std::string(100'000, 'a') + "\r\n\r\n"}) {
    const std::string answer = Ask(request);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 431 ")) << "the peer gets its answer although it was still sending";
    EXPECT_THAT(answer, Not(HasSubstr("(reset)")));
  }
  EXPECT_THAT(AskFor("/page"), EndsWith("page 1\n"));
}

TEST_F(HttpServerTest, RefusesARequestThatTakesTooLong) {
  Start({.time_max = absl::Milliseconds(300), .linger_max = absl::Milliseconds(100)});
  Peer half(server_->port()), silent(server_->port());
  ASSERT_TRUE(half.Send("GET /page HT"));
  EXPECT_THAT(half.ReadToEnd(), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_THAT(silent.ReadToEnd(), IsEmpty());
}

TEST_F(HttpServerTest, ClosesAConnectionWhosePeerKeepsSendingAByteNowAndThen) {
  Start({.time_max = absl::Milliseconds(500), .linger_max = absl::Milliseconds(100)});
  Peer peer(server_->port());
  const auto began = std::chrono::steady_clock::now();
  while (peer.Send("a") && std::chrono::steady_clock::now() - began < std::chrono::seconds(30)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

TEST_F(HttpServerTest, ClosesAConnectionWhosePeerDoesNotReadItsAnswer) {
  Start({.time_max = absl::Milliseconds(500)});
  const size_t before = CountDescriptors();
  Peer peer(server_->port());
  ASSERT_TRUE(peer.Send("GET /long HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(testing::Eventually([&] { return CountDescriptors() == before + 2; }));
  EXPECT_THAT(AskFor("/page"), EndsWith("page 1\n"));
  EXPECT_TRUE(testing::Eventually([&] { return CountDescriptors() == before + 1; })) << "only the peer's own is left";
}

TEST_F(HttpServerTest, AnswersBesidePeersThatAreSlow) {
  Start();
  std::vector<Peer> slow;
  for (int i = 0; i < 200; ++i) {
    slow.emplace_back(server_->port());
    ASSERT_TRUE(slow.back().connected());
    slow.back().Send(i % 2 == 0 ? "GET /page HT" : "");
  }
  const size_t descriptors = CountDescriptors();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_THAT(AskFor("/page"), EndsWith(absl::StrCat("page ", i + 1, "\n")));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2)) << "nobody waited for the slow ones";
  EXPECT_LE(descriptors, 200 + HttpLimits().connections_max + 50) << "the oldest were closed";
}

TEST_F(HttpServerTest, KeepsNoDescriptorAndLogsNothing) {
  Start();
  AskFor("/page");
  const LogCapture log;
  const size_t before = CountDescriptors();
  for (int i = 0; i < 500; ++i) {
    AskFor("/page");
    Ask("POST / HTTP/1.1\r\n\r\n");
    Peer gone(server_->port());
  }
  EXPECT_TRUE(testing::Eventually([&] { return CountDescriptors() == before; }));
  EXPECT_EQ(log.text(), "");
}

TEST_F(HttpServerTest, StopsWhilePeersAreConnected) {
  Start();
  Peer silent(server_->port()), half(server_->port());
  half.Send("GET /pa");
  server_->Stop();
  EXPECT_THAT(silent.ReadToEnd(), Not(HasSubstr("30 s")));
  EXPECT_FALSE(Peer(server_->port()).connected());
}

TEST(HttpServerListen, StaysOnThisMachineWithoutAHost) {
  const auto server = HttpServer::Listen(":0");
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE(Peer((*server)->port()).connected());
  EXPECT_FALSE(HttpServer::Listen(absl::StrCat("127.0.0.1:", (*server)->port())).ok()) << "it has that very address";
  EXPECT_TRUE(HttpServer::Listen(absl::StrCat("127.0.0.2:", (*server)->port())).ok()) << "and no other";
}

TEST(HttpServerListen, RefusesAPortThatIsTaken) {
  const auto first = HttpServer::Listen("127.0.0.1:0");
  ASSERT_TRUE(first.ok());
  const std::string address = absl::StrCat("127.0.0.1:", (*first)->port());
  const absl::Status second = HttpServer::Listen(address).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.message()), HasSubstr(address));
  EXPECT_THAT(std::string(second.message()), HasSubstr("the port is taken"));
}

TEST(HttpServerListen, RefusesWhatIsNoAddress) {
  for (const char* const address : {"", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999", "::1:80"}) {
    EXPECT_EQ(HttpServer::Listen(address).status().code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

}  // namespace
}  // namespace blink
