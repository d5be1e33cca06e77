// Says in the aggregator's log whose TLS handshake failed, and why.
//
// gRPC 1.51 says neither: a peer whose certificate has expired sees UNAVAILABLE, and the server's log does not name it.
// This class only observes and never decides. It uses OpenSSL's hooks: data is attached to every SSL object when it is
// made, and read again when it is freed. In between, OpenSSL reports records, alerts and verdicts on certificates. gRPC
// makes the SSL object on the thread that hands it the connection; that is how the peer's address gets here.
//
//   HandshakeLog::Install();                             // before the first connection; once for the process
//   const HandshakeLog::Connection from(address, size);  // by the acceptor, around HandleNewConnection
//   ...
//   [warning] TLS handshake with 192.0.2.7:40112 failed: its certificate (blink://demo/node/3) expired on ...
//
// At most kPerSecondMax lines a second are written; the next line counts those that were left out. A peer that says
// nothing at all (a port scan, a health check) is logged at debug level only.
//
// It also counts the unfinished handshakes of each address, so that the acceptor can bound them.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_HANDSHAKE_LOG_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_HANDSHAKE_LOG_H_

#include <sys/socket.h>

#include <string>

namespace blink {

class HandshakeLog {
 public:
  static constexpr int kPerSecondMax = 5;

  // Also turns what gRPC prints by itself into lines of our log: handshakes at debug level, errors as warnings.
  static void Install();

  // While one lives, the SSL objects that this thread makes belong to a connection from this address.
  class Connection {
   public:
    Connection(const sockaddr_storage& address, socklen_t size);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    const std::string& peer() const { return peer_; }
    // Handshakes of the same host (IPv6: of the same /64) that are under way.
    int unfinished() const;

   private:
    std::string peer_;  // host:port
    std::string host_;
  };
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_HANDSHAKE_LOG_H_
