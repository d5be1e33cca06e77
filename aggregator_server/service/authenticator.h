// Who calls: the client certificate says it, never a field of the message. With --insecure (loopback only) the claim is the identity.
#ifndef BLINK_AGGREGATOR_SERVER_SERVICE_AUTHENTICATOR_H_
#define BLINK_AGGREGATOR_SERVER_SERVICE_AUTHENTICATOR_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/rpc/identity.h"

namespace blink {

class Authenticator {
 public:
  Authenticator(std::string deployment, bool insecure) : deployment_(std::move(deployment)), insecure_(insecure) {}

  // The identity behind a call that claims to speak for nodes [first, last] of `deployment`. Whether it may is Ingest's to say.
  // UNAUTHENTICATED: the certificate has not exactly one blink:// name.
  absl::StatusOr<Identity> Node(const grpc::ServerContextBase& context, const std::string& deployment, uint64_t first,
                                uint64_t last) const;

  // NOT_FOUND: another deployment is meant. PERMISSION_DENIED: the peer is not an operator of this deployment.
  absl::Status RequireOperator(const grpc::ServerContextBase& context, const std::string& deployment) const;

  bool insecure() const { return insecure_; }

 private:
  const std::string deployment_;
  const bool insecure_;
};

// Logs a refusal, at most a few a second, so that a misled fleet does not fill the disk.
void LogRefusal(const grpc::ServerContextBase& context, const absl::Status& status);

}  // namespace blink

#endif  // BLINK_AGGREGATOR_SERVER_SERVICE_AUTHENTICATOR_H_
