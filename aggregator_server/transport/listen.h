// Listening sockets at an address that somebody typed.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_LISTEN_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_LISTEN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace blink {

struct Listeners {
  std::vector<int> fds;  // non-blocking; the caller closes them
  int port = 0;
};

// Binds HOST:PORT, at every address that the host has here, and listens. Without HOST: at every interface. Port 0: the
// system chooses one. INVALID_ARGUMENT: `address` is none. UNAVAILABLE: this machine has none of its addresses, or
// somebody else listens at one.
absl::StatusOr<Listeners> ListenOn(const std::string& address, int backlog);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_LISTEN_H_
