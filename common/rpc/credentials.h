// TLS for both sides. Plaintext exists only for loopback, behind --insecure.
#ifndef BLINK_COMMON_RPC_CREDENTIALS_H_
#define BLINK_COMMON_RPC_CREDENTIALS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/pki/identity.h"

namespace blink {

// PEM files. Both sides rotate for new handshakes when the files change: replace certificate and key together, by
// renaming.
struct TlsFiles {
  std::string certificate;  // chain
  std::string key;
  std::string ca;
  unsigned refresh_seconds = 10;  // how often the files are looked at; new handshakes use what is new
};

// What MakeServerCredentials and MakeClientCredentials check before anything is sent: see there.
absl::Status CheckTlsFiles(const TlsFiles& files);

// Server: requires and verifies a client certificate. Client: verifies the server against the CA and that its
// certificate names blink://<deployment>/aggregator (the host name is not checked: an aggregator is known by its SAN,
// not by DNS). NOT_FOUND / INVALID_ARGUMENT naming the file; a key that does not fit its certificate, an expired or not
// yet valid certificate are FAILED_PRECONDITION with the dates and the remedy.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(const TlsFiles& files);
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> MakeClientCredentials(const TlsFiles& files,
                                                                                const std::string& deployment);
// How often a client asks whether a silent connection is alive while a call is open, and how long it waits for the
// answer: a connection that was cut without a word is given up within 80 s. A server must allow it, or it takes the
// pings for an attack: call AllowKeepalive on its builder.
inline constexpr int kKeepaliveMs = 60'000;
inline constexpr int kKeepaliveTimeoutMs = 20'000;

// Keepalive, message limits, no proxy from the environment, own reconnect backoff.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           std::shared_ptr<grpc::ChannelCredentials> credentials,
                                           int keepalive_ms = kKeepaliveMs,
                                           int keepalive_timeout_ms = kKeepaliveTimeoutMs);
void AllowKeepalive(grpc::ServerBuilder& builder);

// "127.0.0.1:port", "[::1]:port" or "localhost:port". FAILED_PRECONDITION otherwise: --insecure is for loopback only.
absl::Status RequireLoopback(const std::string& address);

// The identity of the peer of a server call: exactly one URI SAN is required (UNAUTHENTICATED otherwise).
absl::StatusOr<Identity> PeerIdentity(const grpc::ServerContextBase& context);

// gRPC reports whatever fails before or in the handshake as UNAVAILABLE. This says why, as far as it can be told: from
// the local files (missing, expired, not yet valid, key mismatch, wrong CA), and, when they are sound, from one
// connection to `address` (refused, not a TLS port, a server of another authority or deployment, our certificate
// refused). Takes up to about five seconds. Empty when nothing explains it.
std::string DiagnoseHandshake(const TlsFiles& files, const std::string& address);
// The same for --insecure: refused, silent, or a server that wants TLS.
std::string DiagnosePlaintext(const std::string& address);

}  // namespace blink

#endif  // BLINK_COMMON_RPC_CREDENTIALS_H_
