#include "aggregator_server/transport/listen.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/address.h"
#include "common/base/status_macros.h"

namespace blink {
namespace {

constexpr int kChosenPortsMax = 20;

int GetPort(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof(bound);
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                                           : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

// A listening socket, or -1 with errno.
int ListenAt(const sockaddr_storage& at, int port, int backlog) {
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
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(fd, backlog) == 0) return fd;
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
int ListenAtAll(const std::vector<sockaddr_storage>& addresses, int port, int backlog, std::vector<int>& listeners) {
  int absent = EADDRNOTAVAIL;
  for (const sockaddr_storage& address : addresses) {
    const int fd = ListenAt(address, port, backlog);
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

absl::StatusOr<Listeners> ListenOn(const std::string& address, int backlog) {
  BLINK_ASSIGN_OR_RETURN(const Address parsed, ParseAddress(address, AddressUse::kListen));
  Listeners listeners;
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
      error = ListenAtAll(*addresses, parsed.port, backlog, listeners.fds);
      if (error != EADDRINUSE) break;
    }
    if (!IsAbsentHere(error)) break;
  }
  if (error != 0) {
    const char* const why = error == EACCES                      ? "ports below 1024 are for root: take another one"
                            : error == EMFILE || error == ENFILE ? "raise the limit of open files (ulimit -n)"
                                                                 : "the port is taken, or the address is not this "
                                                                   "machine's";
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": ", std::strerror(error), ": ", why));
  }
  listeners.port = GetPort(listeners.fds.front());
  return listeners;
}

}  // namespace blink
