// The gRPC server of an aggregator: its port, its credentials and its limits.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_SERVER_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_SERVER_H_

#include <grpcpp/server.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "aggregator_server/transport/acceptor.h"
#include "aggregator_server/transport/revocations.h"
#include "common/rpc/credentials.h"
#include "common/rpc/server_tls.h"

namespace blink {

struct ServerOptions {
  std::string listen = "127.0.0.1:0";  // port 0: chosen by the system
  std::optional<TlsFiles> tls;         // absent: plaintext, on loopback only
  std::string deployment;              // that the certificate must name
  std::vector<std::string> balancers;  // whose connections begin with a header of the PROXY protocol (acceptor.h)
  std::string health_socket;           // where health checks ask (health.h); empty: nowhere
  // Connections of certificates on this list are cut; absent: there is none.
  std::shared_ptr<const Revocations> revocations;
  // Whether the aggregator can do its work, asked every second; what grpc.health.v1 answers depends on it. Absent: it
  // always can.
  std::function<absl::Status()> can_serve;
  std::function<void()> each_second;  // absent: nothing
  bool reflection = false;            // tell peers the services and messages (grpc.reflection.v1alpha)
  int streams_per_connection_max = 1024;
  uint64_t memory_bytes_max = 512 << 20;  // of gRPC's buffers
};

class AggregatorServer {
 public:
  // `services` outlive the server. FAILED_PRECONDITION: plaintext, and not on loopback. UNAVAILABLE: the address cannot
  // be bound. Other errors are those of ServerTls::Load and Acceptor::Listen.
  static absl::StatusOr<std::unique_ptr<AggregatorServer>> Start(const ServerOptions& options,
                                                                 const std::vector<grpc::Service*>& services);
  ~AggregatorServer();

  int port() const { return acceptor_->port(); }
  ConnectionBooks& books() { return acceptor_->books(); }
  // Absent without TLS.
  const ServerTls* tls() const { return tls_.get(); }
  // Refuses new calls, gives those under way `grace`, then ends them.
  void Shutdown(absl::Duration grace);
  // Looks at the files of the certificate within a second, whether or not they have changed.
  void RereadCertificate() { reread_certificate_ = true; }

 private:
  AggregatorServer(std::unique_ptr<ServerTls> tls, std::unique_ptr<Acceptor> acceptor,
                   std::unique_ptr<grpc::Server> server)
      : tls_(std::move(tls)), acceptor_(std::move(acceptor)), server_(std::move(server)) {}
  void LookAtHealth();  // once a second

  std::unique_ptr<ServerTls> tls_;  // absent without TLS
  std::function<absl::Status()> can_serve_;
  bool is_serving_ = true;  // as health checks are told; the acceptor's thread
  std::atomic<bool> reread_certificate_{false};
  std::unique_ptr<Acceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_SERVER_H_
