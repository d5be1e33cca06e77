// DiagnoseHandshake of credentials.h, for those who also want to see whom they met.
#ifndef BLINK_COMMON_RPC_DIAGNOSIS_H_
#define BLINK_COMMON_RPC_DIAGNOSIS_H_

#include <string>

#include "absl/status/status.h"
#include "common/rpc/credentials.h"

namespace blink {

// As DiagnoseHandshake. `chain` receives the server's certificates, PEM, where the handshake came so far.
std::string DiagnoseHandshakeSeeing(const TlsFiles& files, const std::string& address, const std::string& proxy,
                                    std::string* chain);

// FAILED_PRECONDITION naming the files: the authority in files.ca did not issue the certificate. Other errors are of
// the files.
absl::Status CheckIssuedByAuthority(const TlsFiles& files);

}  // namespace blink

#endif  // BLINK_COMMON_RPC_DIAGNOSIS_H_
