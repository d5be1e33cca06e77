#include "aggregator_server/transport/acceptor.h"

#include <netdb.h>
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
#include "common/base/address.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr int kBacklog = 4096;
constexpr int kAcceptedAtOnceMax = 64;
constexpr int kWaitMs = 100;
constexpr int kLookEveryMs = 1000;
constexpr int kChosenPortsMax = 20;

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

int GetPort(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

// A listening socket, or -1 with errno.
int ListenAt(const sockaddr_storage& at, int port) {
  sockaddr_storage address = at;
  const int fd = ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1, off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (address.ss_family == AF_INET6) {
    auto* const six = reinterpret_cast<sockaddr_in6*>(&address);
    const bool any = IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);  // then IPv4 as well
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, any ? &off : &on, sizeof(on));
    six->sin6_port = htons(static_cast<uint16_t>(port));
  } else {
    reinterpret_cast<sockaddr_in*>(&address)->sin_port = htons(static_cast<uint16_t>(port));
  }
  const socklen_t size = address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(fd, kBacklog) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

// An address that this machine does not have, such as one of IPv6 where that is switched off.
bool IsAbsentHere(int error) { return error == EADDRNOTAVAIL || error == EAFNOSUPPORT; }

// The addresses of `host`, each once.
absl::StatusOr<std::vector<sockaddr_storage>> Resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int resolved = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (resolved != 0) return absl::UnavailableError(::gai_strerror(resolved));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> guard(found, ::freeaddrinfo);
  std::vector<sockaddr_storage> addresses;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    sockaddr_storage address{};
    std::memcpy(&address, at->ai_addr, at->ai_addrlen);
    const auto is_same = [&](const sockaddr_storage& other) {
      return std::memcmp(&address, &other, sizeof(address)) == 0;
    };
    if (std::none_of(addresses.begin(), addresses.end(), is_same)) addresses.push_back(address);
  }
  return addresses;
}

void CloseAll(std::vector<int>& fds) {
  for (const int fd : std::exchange(fds, {})) ::close(fd);
}

// Listens at each of the addresses that this machine has, all at one port. Returns 0, or errno: one of them is taken,
// or the machine has none. Peers would reach another program at an address that is left out.
int ListenAtAll(const std::vector<sockaddr_storage>& addresses, int port, std::vector<int>& listeners) {
  int absent = EADDRNOTAVAIL;
  for (const sockaddr_storage& address : addresses) {
    const int fd = ListenAt(address, port);
    if (fd < 0 && !IsAbsentHere(errno)) {
      const int error = errno;
      CloseAll(listeners);
      return error;
    }
    if (fd < 0) {
      absent = errno;
      continue;
    }
    listeners.push_back(fd);
    if (port == 0) port = GetPort(fd);
  }
  return listeners.empty() ? absent : 0;
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
  BLINK_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address, AddressUse::kListen));
  std::unique_ptr<Acceptor> acceptor(new Acceptor);
  acceptor->books_ = std::make_shared<ConnectionBooks>(limits, [](int fd) { ::shutdown(fd, SHUT_RDWR); });
  int error = 0;
  // Every interface: one socket of IPv6 takes IPv4 as well.
  const std::vector<std::string> hosts =
      parsed.host.empty() ? std::vector<std::string>{"::", "0.0.0.0"} : std::vector<std::string>{parsed.host};
  for (const std::string& host : hosts) {
    const absl::StatusOr<std::vector<sockaddr_storage>> addresses = Resolve(host);
    if (!addresses.ok()) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", addresses.status().message()));
    }
    // A port that the system chose for the first address may be taken at the next.
    for (int attempt = 0; attempt < (parsed.port == 0 ? kChosenPortsMax : 1); ++attempt) {
      error = ListenAtAll(*addresses, parsed.port, acceptor->listeners_);
      if (error != EADDRINUSE) break;
    }
    if (!IsAbsentHere(error)) break;
  }
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", std::strerror(error),
                                               ": the port is taken, or the address is not this machine's"));
  }
  acceptor->port_ = GetPort(acceptor->listeners_.front());
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
  CloseAll(listeners_);
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
