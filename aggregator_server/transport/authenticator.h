// Who calls. The client certificate says it, never a field of the message. The guard says at every call whether the
// certificate is still good. With --insecure (loopback only) the claim of the message is the identity.
#ifndef BLINK_AGGREGATOR_SERVER_TRANSPORT_AUTHENTICATOR_H_
#define BLINK_AGGREGATOR_SERVER_TRANSPORT_AUTHENTICATOR_H_

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "aggregator_server/transport/certificate_guard.h"
#include "common/pki/identity.h"

namespace blink {

class Authenticator {
 public:
  // `guard` outlives this.
  Authenticator(std::string deployment, bool insecure, CertificateGuard& guard)
      : deployment_(std::move(deployment)), insecure_(insecure), guard_(guard) {}

  // The identity behind a call that claims to speak for nodes [first, last] of `deployment`. Ingest decides whether it
  // may. UNAUTHENTICATED: the certificate has not exactly one blink:// name, is revoked, or has expired meanwhile.
  absl::StatusOr<Identity> IdentifyNode(const grpc::ServerContextBase& context, const std::string& deployment,
                                        uint64_t first, uint64_t last) const;

  // As above; NOT_FOUND: another deployment is meant. PERMISSION_DENIED: the peer is not an operator of this
  // deployment, or its role is below `needed`. With --insecure everybody is the operator "anybody".
  absl::StatusOr<Identity> RequireOperator(const grpc::ServerContextBase& context, const std::string& deployment,
                                           Role needed) const;
  // Whom the certificate names, as a path, for records: "operator/ann"; "?" where it names nobody.
  std::string Describe(const grpc::ServerContextBase& context) const;

  // The operator of this deployment whom `certificate` names, for connections without gRPC. Errors as of
  // RequireOperator. With --insecure everybody is one.
  absl::StatusOr<Identity> IdentifyOperator(const std::string& certificate) const;

  // A stream begins: UNAUTHENTICATED as above. `cut` is called when the certificate becomes bad before CloseStream; see
  // CertificateGuard.
  absl::StatusOr<uint64_t> OpenStream(const grpc::ServerContextBase& context, CertificateGuard::Cut cut) const;
  void CloseStream(uint64_t id) const { guard_.CloseStream(id); }

  // The same of a connection without gRPC; `who` is for the log.
  absl::StatusOr<uint64_t> OpenStream(const std::string& certificate, const std::string& who,
                                      CertificateGuard::Cut cut) const;

  bool insecure() const { return insecure_; }
  // Streams that run now, those that are being refused included.
  std::atomic<int64_t>& streams() const { return streams_; }

 private:
  const std::string deployment_;
  const bool insecure_;
  CertificateGuard& guard_;
  mutable std::atomic<int64_t> streams_{0};
};

// Logs a refusal (refusal_log.h).
void LogRefusal(const grpc::ServerContextBase& context, const absl::Status& status);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_TRANSPORT_AUTHENTICATOR_H_
