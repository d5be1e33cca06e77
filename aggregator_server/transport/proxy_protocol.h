// The header of the PROXY protocol, versions 1 and 2. With it a balancer that passes TLS through says who called it:
// https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_PROXY_PROTOCOL_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_PROXY_PROTOCOL_H_

#include <sys/socket.h>

#include <cstddef>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace blink {

inline constexpr size_t kProxyHeaderBytesMax = 536;  // version 2 with 520 bytes of addresses and additions

struct CallerAddress {
  sockaddr_storage address{};
  socklen_t size = 0;
};

struct ProxyHeader {
  size_t bytes = 0;                     // that it takes
  std::optional<CallerAddress> caller;  // absent: the balancer itself calls (LOCAL, UNKNOWN), as for its health checks
};

// Reads the header at the beginning of what a connection sent. nullopt: more bytes are needed. INVALID_ARGUMENT: it
// begins with no header, or one that is malformed, of another family than IPv4 or IPv6, or longer than
// kProxyHeaderBytesMax.
absl::StatusOr<std::optional<ProxyHeader>> ReadProxyHeader(absl::string_view bytes);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_PROXY_PROTOCOL_H_
