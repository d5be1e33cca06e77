// A TLS handshake between two ends in memory: whether a certificate can be served at all. OpenSSL and gRPC refuse keys
// that are too short, curves that TLS does not have, and weak signatures, but say so only when somebody connects.
#ifndef BLINK_COMMON_RPC_REHEARSAL_H_
#define BLINK_COMMON_RPC_REHEARSAL_H_

#include <string>

#include "absl/status/status.h"

namespace blink {

// FAILED_PRECONDITION, with OpenSSL's reason, unless a server with `chain` (PEM: its certificate, then authorities) and
// `key`, set up as gRPC's, comes to terms with a client that trusts `ca`. Dates and names are not looked at: see
// CheckServerCertificate.
absl::Status RehearseHandshake(const std::string& chain, const std::string& key, const std::string& ca);

}  // namespace blink

#endif  // BLINK_COMMON_RPC_REHEARSAL_H_
