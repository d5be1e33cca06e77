// The listening sockets of an aggregator.
//
// gRPC 1.51 has its own listener, but that one ends for good, without a word, when accept() fails once because no
// descriptor is left. Anybody who opens enough connections, even without a certificate, could then cut the aggregator
// off until it is restarted. This acceptor waits and goes on. It keeps a reserve of descriptors for the store and the
// worker, and shares out the rest (connection_ledger.h).
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_ACCEPTOR_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_ACCEPTOR_H_

#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "aggregator_server/transport/handshake_log.h"

namespace blink {

// Lets the process have as many descriptors as it may.
void RaiseDescriptorLimit();

class Acceptor {
 public:
  using Sink = grpc::experimental::ExternalConnectionAcceptor;

  // Binds HOST:PORT, at every address that the host has here, and listens. UNAVAILABLE: this machine has none of them,
  // or somebody else listens at one.
  // FAILED_PRECONDITION: the limit of open files is too low.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(const std::string& address);
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

  bool Take(int listener, int fd, const sockaddr_storage& address, socklen_t size);  // false: refuse it

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
