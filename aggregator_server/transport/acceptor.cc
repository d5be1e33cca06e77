#include "aggregator_server/transport/acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "aggregator_server/transport/listen.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr int kBacklog = 4096;
constexpr int kAcceptedAtOnceMax = 64;
constexpr int kWaitMs = 100;
constexpr int kLookEveryMs = 1000;

void LogSometimes(const std::string& what) {
  thread_local absl::Time next = absl::InfinitePast();
  if (absl::Now() < next) return;
  next = absl::Now() + absl::Seconds(10);
  spdlog::warn("{}", what);
}

int64_t ReadDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

// The first descriptor that no connection gets. The system hands out the lowest free one, so it tells how many are
// open. Half of the reserve is free then, whatever the files and the connections without TLS have taken.
int DescriptorEnd(const ConnectionLimits& limits) {
  const int reserve = limits.descriptors - limits.open - limits.leaving;
  return limits.descriptors - reserve / 2;
}

}  // namespace

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Listen(const std::string& address) {
  BLINK_ASSIGN_OR_RETURN(const ConnectionLimits limits, ConnectionLimits::ForDescriptors(ReadDescriptorLimit()));
  BLINK_ASSIGN_OR_RETURN(Listeners listeners, ListenOn(address, kBacklog));
  std::unique_ptr<Acceptor> acceptor(new Acceptor);
  acceptor->books_ = std::make_shared<ConnectionBooks>(limits, [](int fd) { ::shutdown(fd, SHUT_RDWR); });
  acceptor->listeners_ = std::move(listeners.fds);
  acceptor->port_ = listeners.port;
  acceptor->wake_ = ::eventfd(0, EFD_CLOEXEC);
  if (acceptor->wake_ < 0) return absl::ResourceExhaustedError("no descriptor is left to listen with");
  return acceptor;
}

Acceptor::~Acceptor() { Stop(); }

void Acceptor::Start(std::unique_ptr<Sink> sink, std::function<void()> each_second) {
  each_second_ = std::move(each_second);
  spdlog::info("{}", books_->ledger.limits().ToText());
  sink_ = std::move(sink);
  thread_ = std::thread([this] { Loop(); });
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    ::eventfd_write(wake_, 1);
    thread_.join();
  }
  for (const int fd : std::exchange(listeners_, {})) ::close(fd);
  if (wake_ >= 0) ::close(std::exchange(wake_, -1));
  if (books_ != nullptr) books_->failures.Summarize();
}

bool Acceptor::AcceptSome(int listener) {
  for (int i = 0; i < kAcceptedAtOnceMax; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    const int fd = ::accept4(listener, reinterpret_cast<sockaddr*>(&address), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      LogSometimes(absl::StrCat("cannot accept a connection, trying again: ", std::strerror(errno)));
      return false;
    }
    if (!Take(listener, fd, address, size)) ::close(fd);
  }
  return true;
}

bool Acceptor::Take(int listener, int fd, const sockaddr_storage& address, socklen_t size) {
  const PeerAddress from = PeerAddress::Of(address, size);
  sockaddr_storage peer{};
  if (socklen_t peer_size = sizeof(peer); ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) {
    books_->failures.Count("hung up before the handshake", from.host);  // gRPC would log an error for each
    return false;
  }
  const absl::StatusOr<uint64_t> id = fd < DescriptorEnd(books_->ledger.limits())
                                          ? books_->ledger.Arrive(from.host, fd)
                                          : absl::ResourceExhaustedError("too many files and connections are open");
  if (!id.ok()) {
    books_->failures.Report(
        "too many connections", from.host, from.host,
        absl::StrCat("too many connections: refused one from ", from.peer, ": ", id.status().message()));
    return false;
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  Sink::NewConnectionParameters connection;
  connection.listener_fd = listener;
  connection.fd = fd;
  const HandshakeLog::Connection scope(books_, from, *id);
  sink_->HandleNewConnection(&connection);
  return true;
}

void Acceptor::Loop() {
  std::vector<pollfd> waited = {{wake_, POLLIN, 0}};
  for (const int fd : listeners_) waited.push_back({fd, POLLIN, 0});
  auto looked = std::chrono::steady_clock::now();
  while (true) {
    const int ready = ::poll(waited.data(), waited.size(), kLookEveryMs);
    if (ready < 0 && errno != EINTR) {
      LogSometimes(absl::StrCat("cannot wait for connections, trying again: ", std::strerror(errno)));
    }
    if (const auto now = std::chrono::steady_clock::now(); now - looked >= std::chrono::milliseconds(kLookEveryMs)) {
      looked = now;
      books_->Look();
      if (each_second_) each_second_();
    }
    if (ready <= 0) continue;
    if (waited[0].revents != 0) return;
    bool well = true;
    for (size_t i = 1; i < waited.size(); ++i) {
      if (waited[i].revents != 0) well = AcceptSome(waited[i].fd) && well;
    }
    if (!well && ::poll(waited.data(), 1, kWaitMs) > 0) return;
  }
}

}  // namespace blink
