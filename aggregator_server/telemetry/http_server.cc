#include "aggregator_server/telemetry/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "aggregator_server/transport/listen.h"
#include "common/base/address.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr int kBacklog = 128;
constexpr int kAcceptedAtOnceMax = 16;
constexpr auto kWaitForDescriptors = std::chrono::milliseconds(100);
constexpr size_t kDiscardedBytesMax = 256 << 10;

const char* ReasonOf(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

std::string ToBytes(const HttpResponse& response, bool with_body) {
  return absl::StrCat("HTTP/1.1 ", response.code, " ", ReasonOf(response.code), "\r\nContent-Type: ", response.type,
                      "\r\nContent-Length: ", response.body.size(), response.code == 405 ? "\r\nAllow: GET, HEAD" : "",
                      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
                      with_body ? absl::string_view(response.body) : absl::string_view());
}

struct Request {
  std::string path;
  bool with_body = true;  // of the answer; not for HEAD
};

// Of the request line and the headers, with the empty line at their end. An error is a refusal, as `code`.
struct Parsed {
  int code = 200;
  Request request;
};

Parsed Parse(absl::string_view head) {
  const absl::string_view line = absl::StripTrailingAsciiWhitespace(head.substr(0, head.find('\n')));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  const bool printable = std::all_of(line.begin(), line.end(), [](unsigned char c) { return absl::ascii_isprint(c); });
  if (words.size() != 3 || !printable || words[0].empty() || !absl::StartsWith(words[2], "HTTP/")) return {.code = 400};
  if (words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0") return {.code = 505};
  if (words[0] != "GET" && words[0] != "HEAD") return {.code = 405};
  if (!absl::StartsWith(words[1], "/")) return {.code = 400};
  return {.request = {std::string(words[1].substr(0, words[1].find('?'))), words[0] != "HEAD"}};
}

const char* Explain(int code) {
  switch (code) {
    case 405:
      return "only GET and HEAD are answered here\n";
    case 408:
      return "the request did not arrive in time\n";
    case 431:
      return "the request is too long\n";
    case 505:
      return "only HTTP/1.0 and HTTP/1.1 are spoken here\n";
    default:
      return "this is not an HTTP request\n";
  }
}

}  // namespace

class HttpServer::Connection {
 public:
  Connection(int fd, const HttpLimits& limits, Clock::time_point now)
      : fd_(fd), limits_(limits), deadline_(now + absl::ToChronoMilliseconds(limits.time_max)) {}
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }
  short events() const { return state_ == State::kWriting ? POLLOUT : POLLIN; }
  Clock::time_point deadline() const { return deadline_; }
  bool is_over() const { return state_ == State::kOver; }

  // The socket can be read or written.
  void Go(const Handler& handler) {
    if (state_ == State::kReading) Read(handler);
    if (state_ == State::kWriting) Write();
    if (state_ == State::kLingering) Discard();
  }
  // The deadline has passed.
  void TimeOut() {
    const bool is_late = state_ == State::kReading && !bytes_.empty();
    state_ = State::kOver;
    if (is_late) Refuse(408);
    if (state_ == State::kWriting) Write();
  }

 private:
  enum class State { kReading, kWriting, kLingering, kOver };

  void Read(const Handler& handler) {
    char buffer[4096];
    while (state_ == State::kReading) {
      const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (got <= 0) {
        state_ = State::kOver;
        return;
      }
      bytes_.append(buffer, got);
      const bool is_complete = absl::StrContains(bytes_, "\r\n\r\n") || absl::StrContains(bytes_, "\n\n");
      if (bytes_.size() > limits_.request_bytes_max) {
        Refuse(431);
      } else if (is_complete) {
        Answer(handler);
      }
    }
  }

  void Answer(const Handler& handler) {
    const Parsed parsed = Parse(bytes_);
    if (parsed.code != 200) return Refuse(parsed.code);
    bytes_ = ToBytes(handler(parsed.request.path), parsed.request.with_body);
    state_ = State::kWriting;
  }

  // What the peer still sends is read and dropped: its system might otherwise take the answer away from it.
  void Refuse(int code) {
    bytes_ = ToBytes({.code = code, .body = Explain(code)}, /*with_body=*/true);
    lingers_ = true;
    deadline_ = std::max(deadline_, Clock::now() + absl::ToChronoMilliseconds(limits_.linger_max));
    state_ = State::kWriting;
  }

  void Write() {
    while (sent_ < bytes_.size()) {
      const ssize_t sent = ::send(fd_, bytes_.data() + sent_, bytes_.size() - sent_, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (sent < 0) {
        state_ = State::kOver;
        return;
      }
      sent_ += sent;
    }
    state_ = State::kOver;
    if (!lingers_ || ::shutdown(fd_, SHUT_WR) != 0) return;
    state_ = State::kLingering;
    deadline_ = Clock::now() + absl::ToChronoMilliseconds(limits_.linger_max);
  }

  void Discard() {
    char buffer[4096];
    while (discarded_ < kDiscardedBytesMax) {
      const ssize_t got = ::recv(fd_, buffer, sizeof(buffer), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (got <= 0) break;
      discarded_ += got;
    }
    state_ = State::kOver;
  }

  const int fd_;
  const HttpLimits& limits_;
  Clock::time_point deadline_;
  State state_ = State::kReading;
  std::string bytes_;  // of the request, then of the answer
  size_t sent_ = 0, discarded_ = 0;
  bool lingers_ = false;
};

HttpServer::HttpServer(const HttpLimits& limits) : limits_(limits) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(const std::string& address, const HttpLimits& limits) {
  BLINK_ASSIGN_OR_RETURN(Address parsed, ParseAddress(address, AddressUse::kListen));
  if (parsed.host.empty()) parsed.host = "127.0.0.1";
  std::unique_ptr<HttpServer> server(new HttpServer(limits));
  BLINK_ASSIGN_OR_RETURN(Listeners listeners, ListenOn(parsed.ToString(), kBacklog));
  server->listeners_ = std::move(listeners.fds);
  server->port_ = listeners.port;
  server->wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (server->wake_ < 0) return absl::ResourceExhaustedError("no descriptor is left to listen with");
  return server;
}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Start(Handler handler) {
  handler_ = std::move(handler);
  thread_ = std::thread([this] { Loop(); });
}

void HttpServer::Stop() {
  if (thread_.joinable()) {
    ::eventfd_write(wake_, 1);
    thread_.join();
  }
  connections_.clear();
  for (const int fd : std::exchange(listeners_, {})) ::close(fd);
  if (wake_ >= 0) ::close(std::exchange(wake_, -1));
}

int HttpServer::WaitMs() const {
  const Clock::time_point now = Clock::now();
  Clock::time_point first = accept_not_before_ > now ? accept_not_before_ : Clock::time_point::max();
  for (const Connection& connection : connections_) first = std::min(first, connection.deadline());
  if (first == Clock::time_point::max()) return -1;
  if (first <= now) return 0;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(first - now).count());
}

bool HttpServer::AcceptSome(int listener) {
  for (int i = 0; i < kAcceptedAtOnceMax; ++i) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (fd < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (connections_.size() >= limits_.connections_max) connections_.pop_front();
    connections_.emplace_back(fd, limits_, Clock::now());
  }
  return true;
}

void HttpServer::Loop() {
  std::vector<pollfd> waited;
  while (true) {
    waited = {{wake_, POLLIN, 0}};
    const bool accepts = Clock::now() >= accept_not_before_;
    for (const int fd : listeners_) waited.push_back({accepts ? fd : -1, POLLIN, 0});
    for (const Connection& connection : connections_) waited.push_back({connection.fd(), connection.events(), 0});
    ::poll(waited.data(), waited.size(), WaitMs());
    if (waited[0].revents != 0) return;
    auto ready = waited.begin() + 1 + static_cast<ptrdiff_t>(listeners_.size());
    for (auto connection = connections_.begin(); connection != connections_.end(); ++ready) {
      if (ready->revents != 0) connection->Go(handler_);
      if (!connection->is_over() && Clock::now() >= connection->deadline()) connection->TimeOut();
      connection = connection->is_over() ? connections_.erase(connection) : std::next(connection);
    }
    for (size_t i = 0; i < listeners_.size(); ++i) {
      if (waited[1 + i].revents != 0 && !AcceptSome(listeners_[i])) {
        accept_not_before_ = Clock::now() + kWaitForDescriptors;
      }
    }
  }
}

}  // namespace blink
