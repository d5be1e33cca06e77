// The listening sockets of an aggregator.
//
// gRPC 1.51 has its own listener, but that one ends for good, without a word, when accept() fails once because no
// descriptor is left. Anybody who opens enough connections, even without a certificate, could then cut the aggregator
// off until it is restarted. This acceptor waits and goes on. It keeps a reserve of descriptors for the store and the
// worker, and shares out the rest (connection_ledger.h).
//
// A connection from one of the `balancers` has to begin with a header of the PROXY protocol. It then counts as the
// caller's that the header names, in limits and in logs. Such a header from anywhere else is no TLS, and is refused.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_ACCEPTOR_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_ACCEPTOR_H_

#include <grpcpp/server_builder.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/transport/handshake_log.h"

namespace blink {

// The address of a balancer as the acceptor compares it. INVALID_ARGUMENT: it is no numeric address.
absl::StatusOr<std::string> HostOfBalancer(const std::string& text);

// Lets the process have as many descriptors as it may.
void RaiseDescriptorLimit();

class Acceptor {
 public:
  using Sink = grpc::experimental::ExternalConnectionAcceptor;

  // Binds HOST:PORT, at every address that the host has here, and listens. UNAVAILABLE: this machine has none of them,
  // or somebody else listens at one.
  // FAILED_PRECONDITION: the limit of open files is too low.
  // INVALID_ARGUMENT: a balancer is no numeric address.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(const std::string& address,
                                                          const std::vector<std::string>& balancers = {});
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  int port() const { return port_; }
  // Gives every connection to `sink`, whose server has started, until Stop. Calls `each_second` on the same thread.
  void Start(std::unique_ptr<Sink> sink, std::function<void()> each_second = nullptr);
  void Stop();  // closes the sockets
  ConnectionBooks& books() { return *books_; }

 private:
  Acceptor() = default;
  void Loop();
  bool AcceptSome(int listener);  // false: something is used up, wait

  // A connection of a balancer, whose header has not come yet.
  struct Announced {
    int listener, fd;
    PeerAddress balancer;
    size_t seen = 0;  // bytes of the header
    std::chrono::steady_clock::time_point end;
  };

  bool Take(int listener, int fd, const PeerAddress& from);  // false: refuse it
  void Announce(int listener, int fd, const PeerAddress& balancer);
  enum class Reading { kWaits, kTaken, kRefused };
  Reading ReadHeader(Announced& announced);
  void ReadHeaders();

  std::set<std::string> balancers_;
  std::vector<Announced> announced_;  // the oldest first

  std::shared_ptr<ConnectionBooks> books_;
  std::vector<int> listeners_;
  int port_ = 0;
  int wake_ = -1;  // an eventfd
  std::unique_ptr<Sink> sink_;
  std::function<void()> each_second_;
  std::thread thread_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_ACCEPTOR_H_
