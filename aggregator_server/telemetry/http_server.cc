#include "aggregator_server/telemetry/http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <list>
#include <utility>

#include "absl/strings/match.h"
#include "aggregator_server/transport/listen.h"
#include "common/base/address.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

constexpr int kBacklog = 128;
constexpr auto kWaitForDescriptors = std::chrono::milliseconds(100);
constexpr size_t kDiscardedBytesMax = 256 << 10;

const char* Explain(http::status code) {
  switch (code) {
    case http::status::method_not_allowed:
      return "only GET and HEAD are answered here\n";
    case http::status::request_timeout:
      return "the request did not arrive in time\n";
    case http::status::request_header_fields_too_large:
      return "the request is too long\n";
    case http::status::http_version_not_supported:
      return "only HTTP/1.0 and HTTP/1.1 are spoken here\n";
    default:
      return "this is not an HTTP request\n";
  }
}

// The peer is gone; any other error is of what it sent.
bool HasEnded(const error_code& error) {
  static const auto& of_requests = http::make_error_code(http::error::bad_version).category();
  return error.category() != of_requests || error == http::error::end_of_stream ||
         error == http::error::partial_message;
}

http::status CodeOf(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return http::status::request_header_fields_too_large;
  }
  return error == http::error::bad_version ? http::status::http_version_not_supported : http::status::bad_request;
}

std::chrono::milliseconds In(absl::Duration duration) { return absl::ToChronoMilliseconds(duration); }

}  // namespace

// Of one connection. Each step waits for the one before, and the timer ends whichever step is waited for. It lives
// until no step is left.
class HttpServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Tcp::socket socket, const HttpLimits& limits, const Handler& handler, std::function<void()> ended)
      : socket_(std::move(socket)),
        timer_(socket_.get_executor()),
        limits_(limits),
        handler_(handler),
        ended_(std::move(ended)),
        buffer_(limits.request_bytes_max + 1) {
    parser_.header_limit(static_cast<uint32_t>(limits.request_bytes_max));
  }
  ~Connection() { ended_(); }

  void Begin() {
    timer_.expires_after(In(limits_.time_max));
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->TimeOut();
    });
    http::async_read_header(socket_, buffer_, parser_,
                            [self = shared_from_this()](const error_code& error, size_t) { self->Answer(error); });
  }

  void Close() {
    error_code ignored;
    timer_.cancel();
    socket_.close(ignored);
  }

 private:
  void TimeOut() {
    error_code ignored;
    if (reading_ && parser_.got_some()) {
      is_late_ = true;
      socket_.cancel(ignored);  // Answer tells the peer
    } else {
      Close();
    }
  }

  void Answer(const error_code& error) {
    reading_ = false;
    if (is_late_) return Refuse(http::status::request_timeout);
    if (error && HasEnded(error)) return Close();
    if (error) return Refuse(CodeOf(error));
    const auto& request = parser_.get();
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      return Refuse(http::status::method_not_allowed);
    }
    const std::string target(request.target());
    if (!absl::StartsWith(target, "/")) return Refuse(http::status::bad_request);
    HttpResponse answer = handler_(target.substr(0, target.find('?')));
    Write(http::status(answer.code), answer.type, std::move(answer.body));
  }

  // What the peer still sends is read and dropped: its system might otherwise take the answer away from it.
  void Refuse(http::status code) {
    lingers_ = true;
    Write(code, HttpResponse().type, Explain(code));
  }

  void Write(http::status code, const std::string& type, std::string body) {
    response_.result(code);
    response_.set(http::field::content_type, type);
    response_.set(http::field::content_length, std::to_string(body.size()));
    if (code == http::status::method_not_allowed) response_.set(http::field::allow, "GET, HEAD");
    response_.set(http::field::cache_control, "no-store");
    response_.set("X-Content-Type-Options", "nosniff");
    response_.set(http::field::connection, "close");
    if (parser_.get().method() != http::verb::head) response_.body() = std::move(body);
    if (lingers_) RestartTimer(limits_.linger_max);
    http::async_write(socket_, response_, [self = shared_from_this()](const error_code& error, size_t) {
      error_code failed = error;
      if (!failed) self->socket_.shutdown(Tcp::socket::shutdown_send, failed);
      failed || !self->lingers_ ? self->Close() : self->Discard();
    });
  }

  void RestartTimer(absl::Duration duration) {
    timer_.expires_after(In(duration));
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->Close();
    });
  }

  void Discard() {
    socket_.async_read_some(asio::buffer(discarded_), [self = shared_from_this()](const error_code& error, size_t got) {
      self->discarded_bytes_ += got;
      error || self->discarded_bytes_ > kDiscardedBytesMax ? self->Close() : self->Discard();
    });
  }

  Tcp::socket socket_;
  asio::steady_timer timer_;
  const HttpLimits& limits_;
  const Handler& handler_;
  const std::function<void()> ended_;
  boost::beast::flat_buffer buffer_;
  http::request_parser<http::empty_body> parser_;
  http::response<http::string_body> response_;
  bool reading_ = true, is_late_ = false, lingers_ = false;
  char discarded_[4096];
  size_t discarded_bytes_ = 0;
};

// What the thread has.
struct HttpServer::State {
  explicit State(const HttpLimits& limits) : limits(limits) {}

  void Accept(Tcp::acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](const error_code& error, Tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (!error) Add(std::move(socket));
      if (error != asio::error::no_descriptors) return Accept(acceptor);
      wait.expires_after(kWaitForDescriptors);
      wait.async_wait([this, &acceptor](const error_code& aborted) {
        if (!aborted) Accept(acceptor);
      });
    });
  }

  void Add(Tcp::socket socket) {
    if (connections.size() >= limits.connections_max) {  // the oldest goes
      if (const auto oldest = connections.front().lock()) oldest->Close();
      connections.pop_front();
    }
    const auto place = connections.emplace(connections.end());
    const auto connection = std::make_shared<Connection>(std::move(socket), limits, handler, [this] {
      std::erase_if(connections, [](const std::weak_ptr<Connection>& one) { return one.expired(); });
    });
    *place = connection;
    connection->Begin();
  }

  const HttpLimits limits;
  Handler handler;
  std::list<std::weak_ptr<Connection>> connections;  // the oldest first; connections that end with `context` use it
  asio::io_context context{1};
  std::list<Tcp::acceptor> acceptors;
  asio::steady_timer wait{context};
};

HttpServer::HttpServer(std::unique_ptr<State> state, int port) : state_(std::move(state)), port_(port) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(const std::string& address, const HttpLimits& limits) {
  BLINK_ASSIGN_OR_RETURN(Address parsed, ParseAddress(address, AddressUse::kListen));
  if (parsed.host.empty()) parsed.host = "127.0.0.1";
  auto state = std::make_unique<State>(limits);
  BLINK_ASSIGN_OR_RETURN(const Listeners listeners, ListenOn(parsed.ToString(), kBacklog));
  for (const int fd : listeners.fds) {
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
    state->acceptors.emplace_back(state->context, bound.ss_family == AF_INET6 ? Tcp::v6() : Tcp::v4(), fd);
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state), listeners.port));
}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Start(Handler handler) {
  state_->handler = std::move(handler);
  for (Tcp::acceptor& acceptor : state_->acceptors) state_->Accept(acceptor);
  thread_ = std::thread([state = state_.get()] { state->context.run(); });
}

void HttpServer::Stop() {
  state_->context.stop();
  if (thread_.joinable()) thread_.join();
  error_code ignored;
  for (Tcp::acceptor& acceptor : state_->acceptors) acceptor.close(ignored);
  for (const std::weak_ptr<Connection>& one : state_->connections) {
    if (const auto connection = one.lock()) connection->Close();
  }
}

}  // namespace blink
