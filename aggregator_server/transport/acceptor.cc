#include "aggregator_server/transport/acceptor.h"

#include <arpa/inet.h>
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

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "aggregator_server/transport/caller_names.h"
#include "aggregator_server/transport/listen.h"
#include "aggregator_server/transport/proxy_protocol.h"
#include "common/base/logging.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr int kBacklog = 4096;
constexpr int kAcceptedAtOnceMax = 64;
constexpr int kWaitMs = 100;
constexpr int kLookEveryMs = 1000;
constexpr auto kHeaderTime = std::chrono::seconds(5);
constexpr size_t kAnnouncedMax = 256;

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

// As gRPC writes the address "host:port" of a peer.
std::string GrpcName(const std::string& peer) {
  if (!absl::StartsWith(peer, "[")) return absl::StrCat("ipv4:", peer);
  return absl::StrCat("ipv6:", absl::StrReplaceAll(peer, {{"[", "%5B"}, {"]", "%5D"}}));
}

// "192.0.2.7" of "192.0.2.7:40112", "2001:db8::7" of "[2001:db8::7]:40112".
std::string HostAlone(const PeerAddress& address) {
  const std::string host = address.peer.substr(0, address.peer.rfind(':'));
  return absl::StartsWith(host, "[") ? host.substr(1, host.size() - 2) : host;
}

}  // namespace

absl::StatusOr<std::string> HostOfBalancer(const std::string& text) {
  in6_addr six{};
  in_addr four{};
  char shown[INET6_ADDRSTRLEN] = {};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return text;
  if (::inet_pton(AF_INET6, text.c_str(), &six) == 1 && ::inet_ntop(AF_INET6, &six, shown, sizeof(shown)) != nullptr) {
    return std::string(shown);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(text), "' is no address: write 192.0.2.7 or 2001:db8::7"));
}

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Listen(const std::string& address,
                                                           const std::vector<std::string>& balancers) {
  std::set<std::string> hosts;
  for (const std::string& balancer : balancers) {
    BLINK_ASSIGN_OR_RETURN(const std::string host, HostOfBalancer(balancer));
    hosts.insert(host);
  }
  BLINK_ASSIGN_OR_RETURN(const ConnectionLimits limits, ConnectionLimits::ForDescriptors(ReadDescriptorLimit()));
  BLINK_ASSIGN_OR_RETURN(Listeners listeners, ListenOn(address, kBacklog));
  std::unique_ptr<Acceptor> acceptor(new Acceptor);
  acceptor->books_ = std::make_shared<ConnectionBooks>(limits, [](int fd) { ::shutdown(fd, SHUT_RDWR); });
  acceptor->listeners_ = std::move(listeners.fds);
  acceptor->port_ = listeners.port;
  acceptor->balancers_ = std::move(hosts);
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
  for (const Announced& announced : std::exchange(announced_, {})) ::close(announced.fd);
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
    const PeerAddress from = PeerAddress::Of(address, size);
    if (balancers_.count(HostAlone(from)) > 0) {
      Announce(listener, fd, from);
    } else if (!Take(listener, fd, from)) {
      ::close(fd);
    }
  }
  return true;
}

void Acceptor::Announce(int listener, int fd, const PeerAddress& balancer) {
  if (announced_.size() >= kAnnouncedMax) {
    ::close(announced_.front().fd);
    announced_.erase(announced_.begin());
    books_->failures.Count("sent no PROXY header, to make room", balancer.host);
  }
  announced_.push_back({listener, fd, balancer, 0, std::chrono::steady_clock::now() + kHeaderTime});
}

Acceptor::Reading Acceptor::ReadHeader(Announced& announced) {
  const auto refuse = [&](absl::string_view why) {
    books_->failures.Report("no PROXY header", announced.balancer.host, announced.balancer.host,
                            absl::StrCat("refused a connection of the balancer ", announced.balancer.peer, ": ", why,
                                         "; does it send the PROXY protocol?"));
    return Reading::kRefused;
  };
  char bytes[kProxyHeaderBytesMax];
  const ssize_t got = ::recv(announced.fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Reading::kWaits;
  if (got <= 0 || static_cast<size_t>(got) <= announced.seen) return Reading::kRefused;  // it hung up
  const absl::StatusOr<std::optional<ProxyHeader>> header = ReadProxyHeader(absl::string_view(bytes, got));
  if (!header.ok()) return refuse(header.status().message());
  if (!header->has_value()) {
    announced.seen = got;
    const int more = static_cast<int>(got) + 1;  // poll is quiet until then
    ::setsockopt(announced.fd, SOL_SOCKET, SO_RCVLOWAT, &more, sizeof(more));
    return Reading::kWaits;
  }
  const ProxyHeader& read = **header;
  if (::recv(announced.fd, bytes, read.bytes, MSG_DONTWAIT) != static_cast<ssize_t>(read.bytes)) {
    return refuse("it cannot be read");
  }
  const int any = 1;
  ::setsockopt(announced.fd, SOL_SOCKET, SO_RCVLOWAT, &any, sizeof(any));
  PeerAddress from = announced.balancer;
  if (read.caller.has_value()) {
    from = PeerAddress::Of(read.caller->address, read.caller->size);
    from.connection = GrpcName(announced.balancer.peer);
    Callers().Set(from.connection, GrpcName(from.peer));
  }
  if (Take(announced.listener, announced.fd, from)) return Reading::kTaken;
  if (!from.connection.empty()) Callers().Forget(from.connection);
  return Reading::kRefused;
}

void Acceptor::ReadHeaders() {
  const auto now = std::chrono::steady_clock::now();
  std::vector<Announced> waiting;
  for (Announced& announced : std::exchange(announced_, {})) {
    const Reading reading = ReadHeader(announced);
    const bool is_late = reading == Reading::kWaits && now >= announced.end;
    if (is_late) books_->failures.Count("sent no PROXY header in time", announced.balancer.host);
    if (is_late || reading == Reading::kRefused) ::close(announced.fd);
    if (!is_late && reading == Reading::kWaits) waiting.push_back(announced);
  }
  announced_ = std::move(waiting);
}

bool Acceptor::Take(int listener, int fd, const PeerAddress& from) {
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
  auto looked = std::chrono::steady_clock::now();
  while (true) {
    std::vector<pollfd> waited = {{wake_, POLLIN, 0}};
    for (const int fd : listeners_) waited.push_back({fd, POLLIN, 0});
    for (const Announced& announced : announced_) waited.push_back({announced.fd, POLLIN, 0});
    const int ready = ::poll(waited.data(), waited.size(), kLookEveryMs);
    if (ready < 0 && errno != EINTR) {
      LogSometimes(absl::StrCat("cannot wait for connections, trying again: ", std::strerror(errno)));
    }
    if (const auto now = std::chrono::steady_clock::now(); now - looked >= std::chrono::milliseconds(kLookEveryMs)) {
      looked = now;
      books_->Look();
      if (each_second_) each_second_();
    }
    if (waited[0].revents != 0) return;
    ReadHeaders();
    if (ready <= 0) continue;
    bool well = true;
    for (size_t i = 1; i <= listeners_.size(); ++i) {
      if (waited[i].revents != 0) well = AcceptSome(waited[i].fd) && well;
    }
    if (!well && ::poll(waited.data(), 1, kWaitMs) > 0) return;
  }
}

}  // namespace blink
