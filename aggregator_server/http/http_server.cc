#include "aggregator_server/http/http_server.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cerrno>
#include <list>
#include <optional>
#include <utility>

#include "aggregator_server/http/http_connection.h"
#include "aggregator_server/http/tls_contexts.h"
#include "aggregator_server/transport/listen.h"
#include "common/base/address.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

constexpr int kBacklog = 128;
constexpr int kNice = 10;
constexpr auto kWaitForDescriptors = std::chrono::milliseconds(100);

// Of the calling thread alone.
void LeaveTheProcessorToOthers() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice); }

}  // namespace

// What the thread has.
struct HttpServer::State {
  explicit State(Options given) : options(std::move(given)), contexts(options.tls) {
    shared.limits = options.limits;
    shared.ended = [this] {
      const auto expired = [](const std::weak_ptr<HttpConnection>& one) { return one.expired(); };
      std::erase_if(connections, expired);
      std::erase_if(streams, expired);
    };
    shared.begin_stream = [this](HttpConnection& connection) { return MoveToStreams(connection); };
    shared.answer = [this](HttpRequest request, std::function<void(HttpResponse)> done) {
      Answer(std::move(request), std::move(done));
    };
  }

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
    std::shared_ptr<asio::ssl::context> tls;
    if (options.tls) {
      absl::StatusOr<std::shared_ptr<asio::ssl::context>> context = contexts.Get();
      if (!context.ok()) {
        spdlog::error("a connection is refused: {}", std::string(context.status().message()));
        return;
      }
      tls = *std::move(context);
    }
    if (connections.size() >= options.limits.connections_max) EndOne();
    const auto place = connections.emplace(connections.end());
    const auto connection = MakeHttpConnection(std::move(socket), std::move(tls), shared);
    *place = connection;
    connection->Begin();
  }

  // The oldest, and rather one that has not proved yet whose it is.
  void EndOne() {
    auto one = std::find_if(connections.begin(), connections.end(), [](const std::weak_ptr<HttpConnection>& candidate) {
      const auto connection = candidate.lock();
      return connection == nullptr || connection->in_handshake();
    });
    if (one == connections.end()) one = connections.begin();
    const auto connection = one->lock();
    connections.erase(one);
    if (connection != nullptr) connection->Close();
  }

  bool MoveToStreams(HttpConnection& connection) {
    if (streams.size() >= options.limits.streams_max) return false;
    const auto one = std::find_if(connections.begin(), connections.end(),
                                  [&](const auto& candidate) { return candidate.lock().get() == &connection; });
    if (one == connections.end()) return false;  // it has just been ended
    streams.splice(streams.end(), connections, one);
    return true;
  }

  void Answer(HttpRequest request, std::function<void(HttpResponse)> done) {
    if (!pool.has_value()) return done(handler(request));
    if (waiting >= options.limits.connections_max) {
      return done({.code = 503, .body = "too many requests at once: try again\n"});
    }
    ++waiting;
    asio::post(*pool, [this, request = std::move(request), done = std::move(done)]() mutable {
      // `done` keeps the connection, so it goes back to the thread of the connections whatever comes.
      asio::post(context, [this, answer = handler(request), done = std::move(done)]() mutable {
        --waiting;
        done(std::move(answer));
      });
    });
  }

  const Options options;
  TlsContexts contexts;
  Handler handler;
  HttpConnection::Shared shared;
  // The oldest first. Connections that end with `context` use both.
  std::list<std::weak_ptr<HttpConnection>> connections, streams;
  size_t waiting = 0;  // requests that the handler has, or will have
  asio::io_context context{1};
  std::list<Tcp::acceptor> acceptors;
  asio::steady_timer wait{context};
  std::optional<asio::thread_pool> pool;  // of slow handlers; its end drops what it has not begun
};

HttpServer::HttpServer(std::unique_ptr<State> state, int port) : state_(std::move(state)), port_(port) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(const std::string& address, const HttpLimits& limits) {
  return Listen(address, Options{.limits = limits});
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Listen(const std::string& address, Options options) {
  BLINK_ASSIGN_OR_RETURN(Address parsed, ParseAddress(address, AddressUse::kListen));
  if (parsed.host.empty()) parsed.host = "127.0.0.1";
  auto state = std::make_unique<State>(std::move(options));
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
  const bool slow = state_->options.slow_handler;
  if (slow) {
    state_->pool.emplace(1);
    asio::post(*state_->pool, LeaveTheProcessorToOthers);
  }
  thread_ = std::thread([state = state_.get(), slow] {
    if (slow) LeaveTheProcessorToOthers();
    state->context.run();
  });
}

void HttpServer::Stop() {
  if (state_->pool.has_value()) state_->pool->stop();
  state_->context.stop();
  if (thread_.joinable()) thread_.join();
  if (state_->pool.has_value()) state_->pool->join();
  error_code ignored;
  for (Tcp::acceptor& acceptor : state_->acceptors) acceptor.close(ignored);
  for (auto* const list : {&state_->connections, &state_->streams}) {
    const auto copy = *list;
    for (const std::weak_ptr<HttpConnection>& one : copy) {
      if (const auto connection = one.lock()) connection->Close();
    }
  }
  state_->pool.reset();
}

}  // namespace blink
