// Watches every TLS handshake: says in the log whose failed and why, and tells the ledger of connections.
//
// gRPC 1.51 says neither: a peer whose certificate has expired sees UNAVAILABLE, and the server's log does not name it.
// The hooks are OpenSSL's: data is attached to every SSL object when it is made, and read again when it is freed. In
// between, OpenSSL reports records, alerts and verdicts on certificates. gRPC makes the SSL object on the thread that
// hands it the connection; that is how the peer's address gets here. The SSL object lives as long as the connection.
//
//   HandshakeLog::Install();                                   // before the first connection; once for the process
//   const HandshakeLog::Connection scope(books, address, id);  // by the acceptor, around HandleNewConnection
//   ...
//   [warning] TLS handshake with 192.0.2.7:40112 failed: its certificate (blink://demo/node/3) expired on ...
//
// FailureLog decides which failures are written and which are counted.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_HANDSHAKE_LOG_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_HANDSHAKE_LOG_H_

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "aggregator_server/transport/connection_ledger.h"
#include "aggregator_server/transport/failure_log.h"
#include "aggregator_server/transport/revocations.h"

namespace blink {

struct PeerAddress {
  static PeerAddress Of(const sockaddr_storage& address, socklen_t size);
  std::string peer;  // host:port
  std::string host;  // IPv6: the /64, as 2001:db8::/64
  // Behind a balancer, which these are of: its connection in CallerNames. Otherwise empty.
  std::string connection;
};

// What one acceptor keeps of its connections. They may outlive it.
struct ConnectionBooks {
  ConnectionBooks(const ConnectionLimits& limits, ConnectionLedger::Cut cut) : ledger(limits, std::move(cut)) {}
  // Once a second, on one thread: disowns the connections of certificates that a new list revokes, and writes the log.
  void Look();
  absl::Status CheckSerial(const std::string& serial) const;

  ConnectionLedger ledger;
  FailureLog failures;
  // Absent: no certificate is revoked. Set before the first connection.
  std::shared_ptr<const Revocations> revocations;

 private:
  std::shared_ptr<const RevocationList> seen_;
};

class HandshakeLog {
 public:
  // Also turns what gRPC prints by itself into lines of our log: handshakes at debug level, errors as warnings.
  static void Install();

  // While one lives, the SSL objects that this thread makes belong to the connection `id` of the ledger.
  class Connection {
   public:
    Connection(std::shared_ptr<ConnectionBooks> books, const PeerAddress& address, uint64_t id);
    ~Connection();  // without TLS nobody would tell the ledger when it ends: it is not counted then
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
  };
};

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_HANDSHAKE_LOG_H_
