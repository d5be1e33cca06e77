// TLS credentials and channels, for the server and for its clients. Plaintext exists only on loopback, with --insecure.
#ifndef BLINK_COMMON_RPC_CREDENTIALS_H_
#define BLINK_COMMON_RPC_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/expiry.h"
#include "common/pki/identity.h"

namespace blink {

// Paths of PEM files. When the files change, both sides use the new ones for new handshakes. Replace certificate and
// key together, by renaming.
struct TlsFiles {
  std::string certificate;  // chain
  std::string key;
  std::string ca;
  unsigned refresh_seconds = 10;  // how often the files are checked for a change
};

// Checks the files before anything is sent. Errors name the file:
//   NOT_FOUND            a file is missing
//   INVALID_ARGUMENT     a file is malformed
//   FAILED_PRECONDITION  the key does not fit the certificate, or a certificate is expired or not yet valid; the
//                        message has the dates and the remedy
absl::Status CheckTlsFiles(const TlsFiles& files);

// The sentences to log now about the certificate and the CA, when they expire soon or have expired. A file that cannot
// be read has none.
std::vector<std::string> RemindOfExpiry(const TlsFiles& files, ExpiryReminder& reminder, absl::Time now);

// Returns the errors of CheckTlsFiles, and INVALID_ARGUMENT for a malformed deployment.
//
// The client verifies the server against the CA, and that its certificate names blink://<deployment>/aggregator. It
// does not check the host name: an aggregator is known by its SAN, not by DNS. The server's side is server_tls.h.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeClientCredentials(const TlsFiles& files,
                                                                                const std::string& deployment);
// While a call is open and the connection is silent, a client sends a ping every kKeepaliveMs. It waits
// kKeepaliveTimeoutMs for the answer. So it gives up a cut connection within 80 s. A server must allow this, or it
// takes the pings for an attack: call AllowKeepalive on its builder.
inline constexpr int kKeepaliveMs = 60'000;
inline constexpr int kKeepaliveTimeoutMs = 20'000;

struct ChannelOptions {
  std::string deployment = {};  // asked for in the handshake (ServerName); empty: the address's host is
  std::string proxy = {};       // to go through (http_proxy.h), which then looks the host name up; empty: none
  int keepalive_ms = kKeepaliveMs;
  int keepalive_timeout_ms = kKeepaliveTimeoutMs;
};

// Makes a channel with keepalive, message limits and its own reconnect backoff. It ignores a proxy that the environment
// names.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           std::shared_ptr<grpc::ChannelCredentials> credentials,
                                           const ChannelOptions& options = {});

// The server name (SNI) that clients of a deployment ask for, whatever the address is. A balancer can tell by it which
// of several deployments is meant. Empty: the deployment has no such name (Identity::DnsName).
std::string ServerName(const std::string& deployment);

// FAILED_PRECONDITION: a proxy beside --insecure, which is for loopback alone. INVALID_ARGUMENT: as ParseHttpProxy.
// Takes the variables out of the environment that would lead around it. Call it before there are channels.
absl::Status PrepareProxy(const std::string& proxy, bool insecure);
void AllowKeepalive(grpc::ServerBuilder& builder);

// Returns OK for "127.0.0.1:port", "[::1]:port" and "localhost:port". Returns FAILED_PRECONDITION for other hosts, as
// --insecure is for loopback only, and INVALID_ARGUMENT when `address` is not HOST:PORT.
absl::Status RequireLoopback(const std::string& address);

// The identity of the caller, on the server. Returns UNAUTHENTICATED unless its certificate has exactly one URI SAN,
// and that is an identity.
absl::StatusOr<Identity> PeerIdentity(const grpc::ServerContextBase& context);

// Explains why no call gets through. gRPC reports whatever fails before or in the handshake as UNAVAILABLE, without the
// reason. This function looks for the reason in the local files: missing, expired, not yet valid, key mismatch, wrong
// CA. When they are sound, it makes one connection to `address`: refused, not a TLS port, a server of another authority
// or deployment, our certificate refused. It takes up to about five seconds. Returns an empty text when nothing
// explains it.
//
// With a `proxy` it asks that for the connection, and says why the proxy does not make it.
std::string DiagnoseHandshake(const TlsFiles& files, const std::string& address, const std::string& proxy = "");
// As DiagnoseHandshake, for --insecure: connection refused, a silent server, or a server that wants TLS.
std::string DiagnosePlaintext(const std::string& address);

}  // namespace blink

#endif  // BLINK_COMMON_RPC_CREDENTIALS_H_
