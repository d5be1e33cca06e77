// The listening sockets of an aggregator.
//
// gRPC 1.51 has its own listener, but that one ends for good, without a word, when accept() fails once because no
// descriptor is left. Anybody who opens enough connections, even without a certificate, could then cut the aggregator
// off until it is restarted. This acceptor waits and goes on. It keeps a reserve of descriptors for the store and the
// worker. The unfinished handshakes of one address get at most a quarter of the rest, so that a peer that connects and
// says nothing does not keep others out.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_ACCEPTOR_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_ACCEPTOR_H_

#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

namespace blink {

// Lets the process have as many descriptors as it may.
void RaiseDescriptorLimit();

class Acceptor {
 public:
  using Sink = grpc::experimental::ExternalConnectionAcceptor;

  // Binds HOST:PORT, at every address that the host has, and listens. UNAVAILABLE: none of them can be had.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(const std::string& address);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  int port() const { return port_; }
  // Gives every connection to `sink`, whose server has started, until Stop.
  void Start(std::unique_ptr<Sink> sink);
  void Stop();  // closes the sockets

 private:
  Acceptor() = default;
  void Loop();
  bool AcceptSome(int listener);  // false: something is used up, wait

  std::vector<int> listeners_;
  int port_ = 0;
  int wake_ = -1;  // an eventfd
  std::unique_ptr<Sink> sink_;
  std::thread thread_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_ACCEPTOR_H_
