// Which server certificate a client of a deployment accepts. Nodes and operators ask it about the server that they
// meet, and the aggregator about its own files before it serves: all give the same reason.
#ifndef BLINK_COMMON_PKI_SERVER_CERTIFICATE_H_
#define BLINK_COMMON_PKI_SERVER_CERTIFICATE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace blink {

// FAILED_PRECONDITION unless the URIs are blink://<deployment>/aggregator and nothing else.
absl::Status CheckServerNames(const std::vector<std::string>& uris, const std::string& deployment);

// FAILED_PRECONDITION unless `chain` (PEM: the certificate, then authorities between it and `ca`) leads to an authority
// in `ca`, is for servers, valid at `now`, and names the aggregator of `deployment`. INVALID_ARGUMENT: not PEM.
absl::Status CheckServerCertificate(const std::string& chain, const std::string& ca, const std::string& deployment,
                                    absl::Time now);

}  // namespace blink

#endif  // BLINK_COMMON_PKI_SERVER_CERTIFICATE_H_
